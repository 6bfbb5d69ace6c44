//! The body of a transaction: everything that executing or recovering it needs, with tables and columns by number and type.
//!
//! ```text
//! body       tables | keys | reads | conditions | returning | writes       each a count and so many entries
//! table      number u32 | name | key columns u8 | clustering columns u8 | column*
//! column     number u16 | flags u8, 1 = descending, 2 = static | type | name
//! key        table | partition key                                         in the order of the transaction's keys
//! read       key | slice* | limit + 1 or 0 | backwards u8 | columns u16*, top bit = its write time
//! slice      0 | prefix of the clustering key, or 1 | start | 0 or end + 1
//! reference  read | column + 1, or 0 for the row | [part: 0 whole, 1 | element, 2 | field u16]
//! condition  reference | test u8 | [value]
//! returning  0, or 1 | first read | reads | limit + 1 or 0 | item*, or 2 | references, or 3 | read + 1 or 0 | columns u16*
//! item       kind u8 | column + 1, or 0 | part
//! write      key | kind u8 | [read of the rows to delete] | clustering | 0 or 1 and shown time i64 | assignment*
//! assignment column | op u8 | value | [read of the old value] | [part]
//! value      0 null, 1 | bytes, 2 | reference
//! ```

mod decode;
mod encode;

use crate::ast::{Comparison, Function};
use crate::value::Type;
use protocol::TableId;
use std::borrow::Cow;

/// A decoded body; indices within it have been checked.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) tables: Vec<PlanTable<'a>>,
    pub(crate) steps: Steps<'a>,
}

/// All of a plan but its tables, which are encoded once per prepared statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Steps<'a> {
    pub(crate) keys: Vec<PlanKey<'a>>,
    pub(crate) reads: Vec<Read<'a>>,
    pub(crate) conditions: Vec<(ColumnRef<'a>, Test<'a>)>,
    pub(crate) returning: Returning<'a>,
    pub(crate) writes: Vec<PlanWrite<'a>>,
}

/// A table and those of its columns that the plan names; the columns of its key come first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanTable<'a> {
    pub(crate) id: TableId,
    /// Keyspace and table, for warnings.
    pub(crate) name: Cow<'a, str>,
    pub(crate) partition_count: usize,
    pub(crate) clustering_count: usize,
    pub(crate) columns: Vec<PlanColumn<'a>>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanColumn<'a> {
    pub(crate) id: u16,
    pub(crate) ty: Type,
    pub(crate) descending: bool,
    pub(crate) is_static: bool,
    pub(crate) name: Cow<'a, str>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanKey<'a> {
    pub(crate) table: usize,
    pub(crate) partition: Cow<'a, [u8]>,
}

/// The rows of one key whose clustering keys lie in any of the slices.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) key: usize,
    /// In order, none within another.
    pub(crate) slices: Slices<'a>,
    pub(crate) limit: Option<u32>,
    /// From the last row to the first.
    pub(crate) backwards: bool,
    /// Values fetched, none of them part of the key; with [`WRITE_TIME`] the time of writing.
    pub(crate) columns: Columns<'a>,
}

pub(crate) type Slices<'a> = Vec<Slice<'a>>;

/// A run of clustering keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Slice<'a> {
    /// Those that begin with this.
    Prefix(Cow<'a, [u8]>),
    /// From the first on up to, and without, the second, or to the end.
    Between(Cow<'a, [u8]>, Option<Cow<'a, [u8]>>),
}

/// Bit of a fetched column that asks for the time of writing instead of the value.
pub(crate) const WRITE_TIME: u16 = 0x8000;

/// Indices of columns, two bytes each.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Columns<'a>(pub(crate) Cow<'a, [u8]>);

/// A column of the first row of a read, a part of one, or the row itself.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ColumnRef<'a> {
    pub(crate) read: usize,
    pub(crate) column: Option<usize>,
    pub(crate) part: Part<'a>,
}

/// A part of a collection or user type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Part<'a> {
    Whole,
    Element(Cow<'a, [u8]>),
    Field(u16),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Test<'a> {
    Null,
    NotNull,
    Compare(Comparison, Cow<'a, [u8]>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Returning<'a> {
    Nothing,
    /// The rows of so many reads, one after the other.
    Rows {
        first: usize,
        reads: usize,
        limit: Option<u32>,
        items: Vec<Item<'a>>,
    },
    References(Vec<ColumnRef<'a>>),
    /// Whether the conditions held; if not, and this read found a row, these columns of it.
    Applied {
        read: Option<usize>,
        columns: Columns<'a>,
    },
}

/// A column of a result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) function: Option<Function>,
    /// `None` counts rows.
    pub(crate) column: Option<usize>,
    pub(crate) part: Part<'a>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanWrite<'a> {
    pub(crate) key: usize,
    pub(crate) kind: WriteKind,
    pub(crate) clustering: Cow<'a, [u8]>,
    /// What `writetime()` will show.
    pub(crate) shown: Option<i64>,
    pub(crate) assignments: Vec<Assigned<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteKind {
    /// Assigns.
    Update,
    /// Assigns and makes the row exist.
    Insert,
    /// Deletes one row.
    DeleteRow,
    /// Deletes the partition.
    DeletePartition,
    /// Deletes the rows that this read has found.
    DeleteFound(usize),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assigned<'a> {
    pub(crate) column: usize,
    pub(crate) op: Op,
    pub(crate) value: Value<'a>,
    /// The read of the old value, for every [`Op`] but Set.
    pub(crate) read: Option<usize>,
    /// For [`Op::Put`].
    pub(crate) part: Part<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Op {
    Set = 0,
    /// Adds to the old value.
    Add = 1,
    /// Subtracts from it.
    Subtract = 2,
    /// Puts elements in front of it.
    Prepend = 3,
    /// Replaces or removes a part of it.
    Put = 4,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bytes(Cow<'a, [u8]>),
    Reference(ColumnRef<'a>),
}

impl Slice<'_> {
    pub(crate) fn start(&self) -> &[u8] {
        match self {
            Self::Prefix(start) | Self::Between(start, _) => start,
        }
    }

    /// Whether a clustering key not before the start lies within.
    pub(crate) fn reaches(&self, clustering: &[u8]) -> bool {
        match self {
            Self::Prefix(prefix) => clustering.starts_with(prefix),
            Self::Between(_, end) => end.as_ref().is_none_or(|end| clustering < &**end),
        }
    }
}

impl<'a> Columns<'a> {
    pub(crate) fn of(indices: &[u16]) -> Columns<'static> {
        Columns(Cow::Owned(indices.iter().flat_map(|index| index.to_be_bytes()).collect()))
    }

    /// With the bit [`WRITE_TIME`] where it is set.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.as_chunks().0.iter().map(|pair| usize::from(u16::from_be_bytes(*pair)))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len() / 2
    }

    pub(crate) fn borrowed(&'a self) -> Self {
        Columns(Cow::Borrowed(&self.0))
    }
}

/// Numbers on the wire: position here plus two.
const COMPARISONS: [Comparison; 6] =
    [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];

const FIRST_COMPARISON: u8 = 2;

/// Numbers on the wire: position here plus one.
const FUNCTIONS: [Function; 5] = Function::ALL;
