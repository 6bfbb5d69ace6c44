//! F8: operations on a table against a model of it in a map.
//!
//! *Shape* of an input: operations of four bytes: what, which row, which other row, an amount.

use super::Dice;
use crate::{Outcome, Target};
use cql_txn::{Outcome as Answer, Prepared, Schema, Value};
use std::collections::BTreeMap;
use std::sync::OnceLock;

#[path = "../../../cql_txn/tests/world/mod.rs"]
mod world;

use world::World;

/// See the module.
pub const TARGET: Target = Target { name: "operations", run, seeds, dictionary: DICTIONARY, input_max: 400 };

const DICTIONARY: &[&[u8]] = &[b"\0\x01\x02\x05", b"\x04\x01\x02\x05", b"\x05\x01\x02\x05", b"\x07\x01\x02\x01"];

const INSERT: &str = "INSERT INTO accounts (id, kind, balance) VALUES (?, ?, ?)";
const SET: &str = "UPDATE accounts SET balance = ? WHERE id = ? AND kind = ?";
const ADD: &str = "BEGIN TRANSACTION UPDATE accounts SET balance += ? WHERE id = ? AND kind = ?; COMMIT TRANSACTION";
const DELETE: &str = "DELETE FROM accounts WHERE id = ? AND kind = ?";
const DELETE_PARTITION: &str = "DELETE FROM accounts WHERE id = ?";
const GET: &str = "SELECT balance FROM accounts WHERE id = ? AND kind = ?";
const PARTITION: &str = "SELECT kind, balance FROM accounts WHERE id = ?";
const TRANSFER: &str = "BEGIN TRANSACTION \
    LET a = (SELECT balance FROM accounts WHERE id = ? AND kind = ?); \
    LET b = (SELECT balance FROM accounts WHERE id = ? AND kind = ?); \
    SELECT a.balance, b.balance; \
    IF a.balance >= ? AND b IS NOT NULL THEN \
    UPDATE accounts SET balance -= ? WHERE id = ? AND kind = ?; \
    UPDATE accounts SET balance += ? WHERE id = ? AND kind = ?; \
    END IF COMMIT TRANSACTION";
const TEXTS: [&str; 8] = [INSERT, SET, ADD, DELETE, DELETE_PARTITION, GET, PARTITION, TRANSFER];

/// The schema of the table, for others too.
pub(crate) fn schema() -> Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| World::new().schema()).clone()
}

fn statements() -> &'static [Prepared] {
    static STATEMENTS: OnceLock<Vec<Prepared>> = OnceLock::new();
    let prepare = |text: &str| World::new().prepare(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    STATEMENTS.get_or_init(|| TEXTS.map(prepare).into())
}

type Row = (i64, &'static str);
type Cells = Vec<Vec<Option<Vec<u8>>>>;

/// A row is there from its INSERT until it is deleted, or while it has a balance.
#[derive(Clone, Copy, Default)]
struct State {
    is_inserted: bool,
    balance: Option<i64>,
}

#[derive(Default)]
struct Model(BTreeMap<Row, State>);

impl Model {
    fn get(&self, row: Row) -> Option<State> {
        self.0.get(&row).copied().filter(|state| state.is_inserted || state.balance.is_some())
    }

    fn add(&mut self, row: Row, amount: i64) {
        if let Some(balance) = self.0.get_mut(&row).and_then(|state| state.balance.as_mut()) {
            *balance += amount;
        }
    }

    fn partition(&self, id: i64) -> Cells {
        let rows = self.0.keys().filter(|row| row.0 == id);
        rows.filter_map(|row| Some(vec![Some(row.1.into()), cell(self.get(*row)?.balance)])).collect()
    }
}

fn cell(value: Option<i64>) -> Option<Vec<u8>> {
    value.map(|value| value.to_be_bytes().to_vec())
}

fn row(byte: u8) -> Row {
    (i64::from(byte % 3), ["a", "b", ""][usize::from(byte / 3) % 3])
}

struct Both {
    world: World,
    model: Model,
    told: [usize; TEXTS.len()],
}

fn run(input: &[u8]) -> Outcome {
    let mut both = Both { world: World::new(), model: Model::default(), told: [0; TEXTS.len()] };
    let mut dice = Dice::new(input);
    while !dice.is_empty() {
        let which = usize::from(dice.byte()) % TEXTS.len();
        let (from, to, amount) = (row(dice.byte()), row(dice.byte()), i64::from(dice.byte() as i8));
        both.step(which, from, to, amount);
    }
    for id in 0..3 {
        both.step(6, (id, ""), (id, ""), 0);
    }
    let rows = both.model.0.len();
    let told: String = both.told.map(Outcome::letter).iter().collect();
    Outcome::of(&format!("{} {told}", Outcome::letter(rows)))
}

impl Both {
    fn step(&mut self, which: usize, from: Row, to: Row, amount: i64) {
        let values = values(which, from, to, amount);
        let bound: Vec<Value<'_>> =
            values.iter().map(|value| value.as_deref().map_or(Value::Null, Value::Bytes)).collect();
        let result = self.world.execute(&statements()[which], &bound);
        if TEXTS[which] == TRANSFER && from == to {
            // Two statements may not assign the same column of the same row.
            assert!(result.is_err(), "a transfer from {from:?} to itself gave {result:?}");
            return;
        }
        let answer = result.unwrap_or_else(|error| panic!("{}: {error}", TEXTS[which])).outcome;
        let expected = self.expect(which, from, to, amount);
        match (&answer, &expected) {
            (Answer::Void, None) => {}
            (Answer::Rows(rows), Some(expected)) => {
                assert_eq!(rows, expected, "{} at {from:?} {to:?} {amount}", TEXTS[which]);
            }
            _ => panic!("{} gave {answer:?}, expected {expected:?}", TEXTS[which]),
        }
        self.told[which] += 1;
    }

    fn expect(&mut self, which: usize, from: Row, to: Row, amount: i64) -> Option<Cells> {
        let model = &mut self.model;
        match TEXTS[which] {
            INSERT => {
                let balance = (amount != -1).then_some(amount);
                model.0.insert(from, State { is_inserted: true, balance });
            }
            SET => model.0.entry(from).or_default().balance = (amount != -1).then_some(amount),
            ADD => model.add(from, amount),
            DELETE => drop(model.0.remove(&from)),
            DELETE_PARTITION => model.0.retain(|row, _| row.0 != from.0),
            GET => return Some(model.get(from).iter().map(|state| vec![cell(state.balance)]).collect()),
            PARTITION => return Some(model.partition(from.0)),
            _ => {
                let [a, b] = [from, to].map(|row| model.get(row));
                let balances = [a, b].map(|state| cell(state.and_then(|state| state.balance)));
                if a.and_then(|state| state.balance).is_some_and(|balance| balance >= amount) && b.is_some() {
                    model.add(from, -amount);
                    model.add(to, amount);
                }
                return Some(vec![balances.to_vec()]);
            }
        }
        None
    }
}

/// The values of a statement in marker order; an amount of -1 stands for null where one may be.
fn values(which: usize, from: Row, to: Row, amount: i64) -> Vec<Option<Vec<u8>>> {
    let number = |value: i64| Some(value.to_be_bytes().to_vec());
    let word = |text: &str| Some(text.as_bytes().to_vec());
    let nullable = (amount != -1).then(|| amount.to_be_bytes().to_vec());
    match TEXTS[which] {
        INSERT => vec![number(from.0), word(from.1), nullable],
        SET => vec![nullable, number(from.0), word(from.1)],
        ADD => vec![number(amount), number(from.0), word(from.1)],
        DELETE | GET => vec![number(from.0), word(from.1)],
        DELETE_PARTITION | PARTITION => vec![number(from.0)],
        _ => [
            [number(from.0), word(from.1), number(to.0), word(to.1), number(amount)].to_vec(),
            [number(amount), number(from.0), word(from.1)].to_vec(),
            [number(amount), number(to.0), word(to.1)].to_vec(),
        ]
        .concat(),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let rows = [0u8, 1, 3, 4];
    let insert = rows.map(|row| [0, row, 0, 20]).concat();
    let change = rows.map(|row| [1, row, 0, 30, 2, row, 0, 5, 7, row, (row + 1) % 9, 10].to_vec()).concat();
    let remove = rows.map(|row| [3, row, 0, 0, 5, row, 0, 0, 6, row, 0, 0, 4, row, 0, 0].to_vec()).concat();
    vec![insert.clone(), [insert.clone(), change.clone()].concat(), [change, insert, remove].concat()]
}
