//! The books: for each balance, what acknowledged transactions did to it and what unanswered ones may have done.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::simplebank::plan::{Account, Transaction};

/// Customers a ledger is kept for; 48 bytes each.
const CUSTOMERS_MAX: u64 = 50_000_000;
const SCHEMA: u32 = 1;

/// Books of a bank; many clients write into them at once.
#[derive(Debug)]
pub struct Ledger {
    head: Head,
    entries: Box<[Entry]>,
}

/// What bank the books are of; the first line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    schema: u32,
    keyspace: String,
    customers: u64,
    initial_balance: i64,
}

#[derive(Debug, Default)]
struct Entry {
    checking: Cell,
    savings: Cell,
}

/// *Shape*: `unknown_down` is at most 0, `unknown_up` at least 0.
#[derive(Debug, Default)]
struct Cell {
    acknowledged: AtomicI64,
    unknown_down: AtomicI64,
    unknown_up: AtomicI64,
}

impl Cell {
    fn numbers(&self) -> [i64; 3] {
        [&self.acknowledged, &self.unknown_down, &self.unknown_up].map(|number| number.load(Ordering::Relaxed))
    }

    fn add(&self, [acknowledged, down, up]: [i64; 3]) {
        self.acknowledged.fetch_add(acknowledged, Ordering::Relaxed);
        self.unknown_down.fetch_add(down, Ordering::Relaxed);
        self.unknown_up.fetch_add(up, Ordering::Relaxed);
    }
}

impl Ledger {
    /// Empty books of a freshly loaded bank.
    ///
    /// *Errors*: [`Error::Usage`] beyond 50,000,000 customers.
    pub fn new(keyspace: &str, customers: u64, initial_balance: i64) -> Result<Self, Error> {
        if customers > CUSTOMERS_MAX {
            return Err(Error::Usage(format!("--customers is {customers}; the books hold at most {CUSTOMERS_MAX}")));
        }
        let head = Head { schema: SCHEMA, keyspace: keyspace.to_owned(), customers, initial_balance };
        Ok(Self { head, entries: (0..customers).map(|_| Entry::default()).collect() })
    }

    /// Number of customers.
    pub fn customers(&self) -> u64 {
        self.head.customers
    }

    /// Whether the books are of this bank.
    pub fn is_of(&self, keyspace: &str, customers: u64, initial_balance: i64) -> bool {
        let Head { schema: _, keyspace: own, customers: count, initial_balance: initial } = &self.head;
        own == keyspace && *count == customers && *initial == initial_balance
    }

    /// Balances a row may have, as far as the books tell; `None` for a customer they do not know.
    pub fn bounds(&self, id: u64, account: Account) -> Option<RangeInclusive<i64>> {
        let [acknowledged, down, up] = self.cell(id, account)?.numbers();
        let settled = self.head.initial_balance + acknowledged;
        Some(settled + down..=settled + up)
    }

    /// Whether some transaction ended without an answer.
    pub fn has_unknown(&self) -> bool {
        self.entries.iter().any(|entry| {
            [&entry.checking, &entry.savings].iter().any(|cell| {
                let [_, down, up] = cell.numbers();
                down != 0 || up != 0
            })
        })
    }

    /// Whether checking and savings of each customer still add up to what they were.
    pub(crate) fn keeps_customers_even(&self) -> bool {
        self.entries.iter().all(|entry| {
            let ([checking, down, up], [savings, savings_down, savings_up]) =
                (entry.checking.numbers(), entry.savings.numbers());
            checking + savings == 0 && down + savings_up == 0 && up + savings_down == 0
        })
    }

    /// Whether the checking accounts of customers 2i and 2i+1 still add up to what they were.
    pub(crate) fn keeps_pairs_even(&self) -> bool {
        self.entries.chunks_exact(2).all(|pair| {
            let ([first, first_down, first_up], [second, second_down, second_up]) =
                (pair[0].checking.numbers(), pair[1].checking.numbers());
            first + second == 0 && first_down + second_up == 0 && first_up + second_down == 0
        })
    }

    pub(crate) fn acknowledge(&self, transaction: &Transaction) {
        for (id, account, amount) in transaction.deltas() {
            self.add(id, account, [amount, 0, 0]);
        }
    }

    pub(crate) fn doubt(&self, transaction: &Transaction) {
        for (id, account, amount) in transaction.deltas() {
            self.add(id, account, [0, amount.min(0), amount.max(0)]);
        }
    }

    fn add(&self, id: u64, account: Account, numbers: [i64; 3]) {
        if let Some(cell) = self.cell(id, account) {
            cell.add(numbers);
        }
    }

    fn cell(&self, id: u64, account: Account) -> Option<&Cell> {
        let entry = self.entries.get(usize::try_from(id).ok()?)?;
        Some(match account {
            Account::Checking => &entry.checking,
            Account::Savings => &entry.savings,
        })
    }

    /// Writes the books to a file, replacing it as a whole.
    ///
    /// *Shape*: a line of JSON, a line per customer that was touched (id and six numbers), a line `end` and their count.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let beside = path.with_extension("partial");
        let written = self.write(&beside).and_then(|()| std::fs::rename(&beside, path));
        written.map_err(|error| Error::Ledger { path: path.to_owned(), reason: error.to_string() })
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut file = BufWriter::new(std::fs::File::create(path)?);
        writeln!(file, "{}", serde_json::to_string(&self.head)?)?;
        let mut count = 0u64;
        for (id, entry) in self.entries.iter().enumerate() {
            let ([a, b, c], [d, e, f]) = (entry.checking.numbers(), entry.savings.numbers());
            if [a, b, c, d, e, f] != [0; 6] {
                writeln!(file, "{id} {a} {b} {c} {d} {e} {f}")?;
                count += 1;
            }
        }
        writeln!(file, "end {count}")?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    }

    /// Reads books written by [`Ledger::save`].
    ///
    /// *Errors*: [`Error::Ledger`] naming the line that cannot be understood, or that the end is missing.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::Ledger { path: path.to_owned(), reason };
        let file = std::fs::File::open(path).map_err(|error| fail(error.to_string()))?;
        let mut lines = BufReader::new(file).lines();
        let first = lines.next().transpose().map_err(|error| fail(error.to_string()))?.unwrap_or_default();
        let head: Head = serde_json::from_str(&first).map_err(|error| fail(format!("line 1: {error}")))?;
        if head.schema != SCHEMA {
            return Err(fail(format!("schema {} is not {SCHEMA}", head.schema)));
        }
        let ledger = Self::new(&head.keyspace, head.customers, head.initial_balance)?;
        let mut seen = BTreeSet::new();
        for (at, line) in (2..).zip(lines) {
            let line = line.map_err(|error| fail(error.to_string()))?;
            if let Some(count) = line.strip_prefix("end ") {
                return match count.parse() == Ok(seen.len()) {
                    true => Ok(ledger),
                    false => Err(fail(format!("line {at}: {} customers read, but the end says {count}", seen.len()))),
                };
            }
            let id = ledger.read_line(&line).ok_or_else(|| fail(format!("line {at}: not understood: `{line}`")))?;
            if !seen.insert(id) {
                return Err(fail(format!("line {at}: customer {id} comes twice")));
            }
        }
        Err(fail("the end is missing; the file was cut".to_owned()))
    }

    fn read_line(&self, line: &str) -> Option<u64> {
        let (id, numbers) = line.split_once(' ')?;
        let numbers: Vec<i64> = numbers.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [a, b, c, d, e, f] = numbers[..].try_into().ok()?;
        let id = id.parse().ok()?;
        self.cell(id, Account::Checking)?.add([a, b, c]);
        self.cell(id, Account::Savings)?.add([d, e, f]);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::RunArgs;
    use crate::mix::{Kind, Mix};
    use crate::simplebank::plan::Plan;

    fn transaction(kind: Kind) -> Transaction {
        let mut args = RunArgs { mix: Mix::only(kind), ..RunArgs::default() };
        args.target.customers = 8;
        Plan::new(&args).expect("valid").transaction(0)
    }

    fn books() -> Ledger {
        Ledger::new("bank", 8, 1000).expect("small")
    }

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("ledger-{name}-{}", std::process::id()))
    }

    #[test]
    fn acknowledged_moves_the_bounds_and_unknown_widens_them() {
        let (ledger, transfer) = (books(), transaction(Kind::Transfer));
        let id = transfer.ids.as_slice()[0];
        ledger.acknowledge(&transfer);
        assert_eq!(ledger.bounds(id, Account::Savings), Some(1001..=1001));
        ledger.doubt(&transfer);
        assert_eq!(ledger.bounds(id, Account::Savings), Some(1001..=1002));
        assert_eq!(ledger.bounds(id, Account::Checking), Some(998..=999));
        assert!(ledger.has_unknown() && ledger.keeps_customers_even() && !ledger.keeps_pairs_even());
    }

    #[test]
    fn a_payment_makes_customers_uneven() {
        let ledger = books();
        ledger.acknowledge(&transaction(Kind::Payment));
        assert!(!ledger.keeps_customers_even() && !ledger.has_unknown());
    }

    #[test]
    fn books_survive_the_file() {
        let ledger = books();
        for kind in [Kind::Transfer, Kind::Payment, Kind::Payroll] {
            ledger.acknowledge(&transaction(kind));
            ledger.doubt(&transaction(kind));
        }
        let path = path("round-trip");
        ledger.save(&path).expect("written");
        let back = Ledger::load(&path).expect("read");
        assert!(back.is_of("bank", 8, 1000) && !back.is_of("bank", 9, 1000));
        for id in 0..8 {
            for account in [Account::Checking, Account::Savings] {
                assert_eq!(back.bounds(id, account), ledger.bounds(id, account));
            }
        }
        assert_eq!(back.bounds(8, Account::Checking), None);
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn a_cut_or_damaged_file_is_refused_with_the_line() {
        let path = path("damaged");
        let head = r#"{"schema":1,"keyspace":"bank","customers":4,"initial_balance":0}"#;
        let message = |rest: &str| {
            std::fs::write(&path, format!("{head}\n{rest}")).expect("written");
            Ledger::load(&path).expect_err("damaged").to_string()
        };
        assert!(message("0 1 0 0 -1 0 0\n").contains("the file was cut"));
        assert!(message("0 1 0 0 -1 0\nend 1\n").contains("line 2"));
        assert!(message("4 1 0 0 -1 0 0\nend 1\n").contains("line 2"));
        assert!(message("0 1 0 0 0 0 0\n0 1 0 0 0 0 0\nend 2\n").contains("comes twice"));
        assert!(message("end 1\n").contains("0 customers read"));
        std::fs::remove_file(&path).expect("removed");
    }
}
