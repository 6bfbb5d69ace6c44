//! `init`: schema, rows, and a count that proves they are all there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use client::{Class, RequestOptions, Session, Statement, bigint, text};
use tokio::time::{Duration, sleep};

use crate::args::InitArgs;
use crate::error::Error;
use crate::pool;
use crate::progress::Progress;
use crate::report::InitReport;
use crate::simplebank::plan::Account;
use crate::simplebank::rows::Reader;
use crate::simplebank::statements;
use crate::simplebank::target::{Harmless, insist, may_help};

const INSERT_TRIES: u32 = 8;

/// Creates the bank if it is not there, gives every row its initial balance, and reads all of them back.
///
/// *Errors*: among others [`Error::MissingRow`] if a loaded row cannot be read.
pub async fn init(args: &InitArgs, progress: &mut dyn Progress) -> Result<InitReport, Error> {
    let target = &args.target;
    target.validate()?;
    let began = Instant::now();
    let session = target.connect(args.in_flight).await?;
    let keyspace = statements::create_keyspace(&target.keyspace, target.rf);
    insist(&session, Harmless::Query(&keyspace), "create keyspace").await?;
    let table = statements::create_table(&target.keyspace);
    insist(&session, Harmless::Query(&table), "create table").await?;

    let loader = Arc::new(Loader::new(&session, args).await?);
    let work = loader.clone();
    let insert = move |row| {
        let loader = work.clone();
        async move { loader.insert(row).await }
    };
    pool::for_each("rows loaded", target.customers * 2, args.in_flight, insert, progress).await?;
    let load_s = began.elapsed().as_secs_f64();

    let counted = count_rows(&session, args, progress).await?;
    Ok(InitReport {
        keyspace: target.keyspace.clone(),
        customers: target.customers,
        rows_counted: counted,
        unknown_inserts: loader.unknown.load(Ordering::Relaxed),
        load_s,
        total_s: began.elapsed().as_secs_f64(),
    })
}

struct Loader {
    session: Session,
    statement: Statement,
    initial_balance: i64,
    /// Inserts that ended without an answer; each was sent again, but the first may still arrive late.
    unknown: AtomicU64,
}

impl Loader {
    async fn new(session: &Session, args: &InitArgs) -> Result<Self, Error> {
        let text = statements::insert_row(&args.target.keyspace);
        let prepared = session.prepare(&text).await;
        let statement =
            prepared.map_err(|source| Error::Statement { what: "prepare the insert".to_owned(), source })?;
        let initial_balance = args.target.initial_balance;
        Ok(Self { session: session.clone(), statement, initial_balance, unknown: AtomicU64::new(0) })
    }

    /// Loads row `number`: checking and savings of customer 0, of customer 1, and so on.
    async fn insert(&self, number: u64) -> Result<(), Error> {
        let (id, account) = (number / 2, if number.is_multiple_of(2) { Account::Checking } else { Account::Savings });
        let values = [bigint(id as i64), text(account.name()), bigint(self.initial_balance)];
        let mut pause = Duration::from_millis(20);
        for attempt in 1.. {
            let outcome = self.session.execute(&self.statement, &values, &RequestOptions::default()).await;
            let Err(source) = outcome else { return Ok(()) };
            if source.class() == Class::Unknown {
                self.unknown.fetch_add(1, Ordering::Relaxed);
            }
            if attempt >= INSERT_TRIES || !may_help(&source) {
                return Err(Error::Statement {
                    what: format!("insert the {} row of customer {id}", account.name()),
                    source,
                });
            }
            sleep(pause).await;
            pause *= 2;
        }
        Ok(())
    }
}

async fn count_rows(session: &Session, args: &InitArgs, progress: &mut dyn Progress) -> Result<u64, Error> {
    let reader = Arc::new(Reader::new(session, &args.target).await?);
    let counted = Arc::new(AtomicU64::new(0));
    let (work, count) = (reader, counted.clone());
    let read = move |id| {
        let (reader, count) = (work.clone(), count.clone());
        async move {
            let customer = reader.read(id).await?;
            customer.both(id)?;
            count.fetch_add(2, Ordering::Relaxed);
            Ok(())
        }
    };
    pool::for_each("customers counted", args.target.customers, args.in_flight, read, progress).await?;
    Ok(counted.load(Ordering::Relaxed))
}
