//! `check`: reads every row when the bank is quiet and holds it against the invariants and the books.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::Session;
use tokio::time::sleep;

use crate::args::CheckArgs;
use crate::error::Error;
use crate::pool;
use crate::progress::Progress;
use crate::report::{CheckLine, CheckReport};
use crate::simplebank::ledger::Ledger;
use crate::simplebank::plan::Account;
use crate::simplebank::rows::{Customer, Reader};

/// Rows outside their bounds that a report names; the rest is counted.
const EXAMPLES_MAX: usize = 10;
const PAUSE_BETWEEN_PASSES: Duration = Duration::from_secs(2);

/// Verifies that no money was made or lost and, given the books, that every balance lies where acknowledged and unanswered
/// transactions allow.
///
/// A mismatch counts after the last pass only: a transaction whose client saw no answer may still be settled by recovery, and a
/// pass that reads one side before and the other after sees money in flight. A lost or doubled write stays so in each pass.
pub async fn check(
    args: &CheckArgs,
    ledger: Option<&Arc<Ledger>>,
    progress: &mut dyn Progress,
) -> Result<CheckReport, Error> {
    args.target.validate()?;
    if let Some(ledger) = ledger {
        args.target.match_ledger(ledger)?;
    }
    let session = args.target.connect(args.in_flight).await?;
    // Without doubt nothing is in flight, and the first mismatch is final. Without books there may be doubt.
    let passes = if ledger.is_some_and(|ledger| !ledger.has_unknown()) { 1 } else { args.passes };
    let mut pass = 1;
    loop {
        let found = read_all(&session, args, ledger, progress).await?;
        let report = found.report(args, ledger.is_some(), pass);
        if report.is_ok() || pass >= passes {
            return Ok(report);
        }
        pass += 1;
        sleep(PAUSE_BETWEEN_PASSES).await;
    }
}

async fn read_all(
    session: &Session,
    args: &CheckArgs,
    ledger: Option<&Arc<Ledger>>,
    progress: &mut dyn Progress,
) -> Result<Found, Error> {
    let reader = Arc::new(Reader::new(session, &args.target).await?);
    let found = Arc::new(Mutex::new(Found::default()));
    let (sums, books) = (found.clone(), ledger.cloned());
    let work = move |id| {
        let (reader, sums, books) = (reader.clone(), sums.clone(), books.clone());
        async move {
            let customer = reader.read(id).await?;
            sums.lock().unwrap_or_else(PoisonError::into_inner).add(id, &customer, books.as_deref());
            Ok(())
        }
    };
    pool::for_each("customers checked", args.target.customers, args.in_flight, work, progress).await?;
    let found = found.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(found.clone())
}

/// What one pass over all customers found.
#[derive(Debug, Clone, Default)]
struct Found {
    rows: u64,
    sum: i128,
    outside: [Outside; 2],
}

/// Balances outside their bounds.
#[derive(Debug, Clone, Default)]
struct Outside {
    count: u64,
    examples: Vec<String>,
}

impl Found {
    fn add(&mut self, id: u64, customer: &Customer, ledger: Option<&Ledger>) {
        self.rows += customer.row_count;
        for (at, account, balance) in
            [(0, Account::Checking, customer.checking), (1, Account::Savings, customer.savings)]
        {
            self.sum += i128::from(balance.unwrap_or(0));
            let Some(bounds) = ledger.and_then(|ledger| ledger.bounds(id, account)) else { continue };
            if !balance.is_some_and(|balance| bounds.contains(&balance)) {
                let outside = &mut self.outside[at];
                outside.count += 1;
                if outside.examples.len() < EXAMPLES_MAX {
                    let (low, high) = (bounds.start(), bounds.end());
                    outside.examples.push(format!("customer {id}: {balance:?} is not in {low}..={high}"));
                }
            }
        }
    }

    fn report(&self, args: &CheckArgs, has_books: bool, passes: u32) -> CheckReport {
        let customers = args.target.customers;
        let (rows, sum) =
            (u128::from(customers) * 2, i128::from(customers) * 2 * i128::from(args.target.initial_balance));
        let mut checks = vec![
            CheckLine::new(
                "rows_are_all_there",
                u128::from(self.rows) == rows,
                format!("{} rows, {rows} expected", self.rows),
            ),
            CheckLine::new("total_is_kept", self.sum == sum, format!("sum {}, {sum} expected", self.sum)),
        ];
        if has_books {
            checks.push(self.outside[1].line("savings_are_as_booked"));
            checks.push(self.outside[0].line("checking_is_as_booked"));
        }
        CheckReport {
            keyspace: args.target.keyspace.clone(),
            customers,
            rows: self.rows,
            sum: self.sum,
            passes,
            checks,
        }
    }
}

impl Outside {
    fn line(&self, name: &'static str) -> CheckLine {
        let detail = match self.count {
            0 => "every balance lies where acknowledged and unanswered transactions allow".to_owned(),
            count => format!("{count} balances outside; {}", self.examples.join("; ")),
        };
        CheckLine::new(name, self.count == 0, detail)
    }
}
