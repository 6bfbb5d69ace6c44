//! What a judge answers when a history cannot be explained.

use std::fmt;

/// Why one operation must come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EdgeKind {
    /// Both appended to a key, one directly after the other.
    WriteWrite,
    /// The second read a list that ends with the append of the first.
    WriteRead,
    /// The first read a list to which the second made the next append.
    ReadWrite,
    /// The first was answered before the second was invoked.
    Realtime,
}

impl EdgeKind {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::WriteWrite => "ww",
            Self::WriteRead => "wr",
            Self::ReadWrite => "rw",
            Self::Realtime => "realtime",
        }
    }
}

/// Name of a cycle by its dependency edges, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CycleKind {
    /// Writes only.
    G0,
    /// Writes and reads of them.
    G1c,
    /// Exactly one anti-dependency.
    GSingle,
    /// Two or more anti-dependencies.
    G2,
}

/// Kind of an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// The history itself is broken: a fault of the harness, not of the store.
    Malformed,
    /// A read is no prefix of the final list.
    IncompatibleOrder,
    /// An append took effect twice.
    DuplicateWrite,
    /// An element that no operation of the history wrote.
    UnknownWriter,
    /// An element in a key to which its writer did not append.
    UnrequestedWrite,
    /// An element of an operation that was reported as not applied.
    AbortedRead,
    /// An acknowledged append is missing.
    LostWrite,
    /// An operation of unknown outcome took effect on some of its keys only.
    TornTransaction,
    /// An operation read a list and appended to a later one.
    LostUpdate,
    /// One key went backwards in real time.
    KeyOrder,
    /// Operations that each must precede the next, in a circle; `realtime` if the circle needs the clock.
    Cycle { kind: CycleKind, realtime: bool },
}

impl Class {
    /// Name for reports and counters, e.g. `G-single-realtime`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Malformed => "malformed history",
            Self::IncompatibleOrder => "incompatible order",
            Self::DuplicateWrite => "duplicate write",
            Self::UnknownWriter => "unknown writer",
            Self::UnrequestedWrite => "unrequested write",
            Self::AbortedRead => "aborted read",
            Self::LostWrite => "lost write",
            Self::TornTransaction => "torn transaction",
            Self::LostUpdate => "lost update",
            Self::KeyOrder => "key order",
            Self::Cycle { kind, realtime } => cycle_label(kind, realtime),
        }
    }
}

fn cycle_label(kind: CycleKind, realtime: bool) -> &'static str {
    match (kind, realtime) {
        (CycleKind::G0, false) => "G0",
        (CycleKind::G1c, false) => "G1c",
        (CycleKind::GSingle, false) => "G-single",
        (CycleKind::G2, false) => "G2",
        (CycleKind::G0, true) => "G0-realtime",
        (CycleKind::G1c, true) => "G1c-realtime",
        (CycleKind::GSingle, true) => "G-single-realtime",
        (CycleKind::G2, true) => "G2-realtime",
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// A history that no order explains.
///
/// *Shape*: `ops` are operation ids; for a cycle in its order, each preceding the next and the last the first, and
/// `edges[i]` leads from `ops[i]`. `edges` is empty for every other class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    pub class: Class,
    pub ops: Vec<u32>,
    pub edges: Vec<EdgeKind>,
    /// One sentence: what, where, which lists.
    pub text: String,
}

impl Anomaly {
    pub(crate) fn new(class: Class, ops: Vec<u32>, text: String) -> Self {
        Self { class, ops, edges: Vec::new(), text }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.text)
    }
}

impl std::error::Error for Anomaly {}
