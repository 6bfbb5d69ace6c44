//! A bank behind the fake server: it understands the driver's statements by their words, and can be told to misbehave.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::fake::{Ask, Body, FakeServer, Reply};

type Accounts = HashMap<(i64, String), i64>;

/// What the bank does to a request, by its number among the transactions, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Normal,
    /// Refused by backlog control, nothing done.
    Rejected,
    /// Done, but answered as a timeout.
    DoneUnknown,
    /// Done, and the answer lost.
    DoneSilent,
    /// Not done, and answered as a timeout.
    NotDoneUnknown,
    /// Answered, but not done.
    LostApply,
    /// Done twice.
    DoubleApply,
    /// A read that misses the second half of the last write.
    DirtyRead,
    /// Refused as a statement.
    Invalid,
}

pub(crate) struct Bank {
    pub(crate) server: FakeServer,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    accounts: Accounts,
    /// Text of every transaction received, markers filled in.
    log: Vec<String>,
}

impl Bank {
    pub(crate) async fn start(fate: impl Fn(usize) -> Fate + Send + Sync + 'static) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        let server = FakeServer::start(move |ask| shared.lock().unwrap().answer(ask, &fate)).await;
        Self { server, state }
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    pub(crate) fn row_count(&self) -> usize {
        self.state.lock().unwrap().accounts.len()
    }

    pub(crate) fn remove_row(&self, id: i64, kind: &str) {
        self.state.lock().unwrap().accounts.remove(&(id, kind.to_owned()));
    }
}

fn bigint(value: Option<&Vec<u8>>) -> i64 {
    i64::from_be_bytes(value.expect("not null").as_slice().try_into().expect("eight bytes"))
}

impl State {
    fn answer(&mut self, ask: &Ask, fate: &impl Fn(usize) -> Fate) -> Reply {
        if ask.text.starts_with("CREATE") {
            return Reply::new(Body::SchemaChange(["CREATED", "KEYSPACE", "bank"].map(str::to_owned).into()));
        }
        if ask.text.starts_with("INSERT INTO bank.accounts (id, kind, balance)") {
            let kind = String::from_utf8(ask.values[1].clone().expect("not null")).expect("text");
            self.accounts.insert((bigint(ask.values[0].as_ref()), kind), bigint(ask.values[2].as_ref()));
            return Reply::void();
        }
        if ask.text.starts_with("SELECT kind, balance FROM bank.accounts") {
            return self.customer(bigint(ask.values[0].as_ref()));
        }
        self.transaction(ask, fate)
    }

    fn customer(&self, id: i64) -> Reply {
        let row = |kind: &str| {
            let balance = self.accounts.get(&(id, kind.to_owned()))?;
            Some(vec![Some(kind.as_bytes().to_vec()), Some(balance.to_be_bytes().to_vec())])
        };
        Reply::rows(&[("kind", 13), ("balance", 2)], ["CHECKING", "SAVINGS"].into_iter().filter_map(row).collect())
    }

    fn transaction(&mut self, ask: &Ask, fate: &impl Fn(usize) -> Fate) -> Reply {
        let mut values = ask.values.iter();
        let text: String =
            ask.text
                .split('?')
                .enumerate()
                .map(|(at, part)| {
                    if at == 0 { part.to_owned() } else { format!("{}{part}", bigint(values.next().unwrap().as_ref())) }
                })
                .collect();
        let number = self.log.len();
        self.log.push(text.clone());
        let body = text.strip_prefix("BEGIN TRANSACTION ").and_then(|rest| rest.strip_suffix("COMMIT TRANSACTION"));
        let steps: Vec<&str> = body.expect("a transaction").split("; ").filter(|step| !step.is_empty()).collect();
        let reply = match fate(number) {
            Fate::Normal => self.apply(&steps),
            Fate::Rejected => return Reply::error(0x1001, "backlog"),
            Fate::Invalid => return Reply::error(0x2200, "no such table"),
            Fate::DoneUnknown => {
                self.apply(&steps);
                timeout()
            }
            Fate::DoneSilent => {
                self.apply(&steps);
                return Reply::new(Body::Silence);
            }
            Fate::NotDoneUnknown => timeout(),
            Fate::LostApply => Reply::void(),
            Fate::DoubleApply => {
                self.apply(&steps);
                self.apply(&steps)
            }
            Fate::DirtyRead => self.read(&steps, 1),
        };
        let traced = ask.payload.iter().any(|(key, _)| key == "accord.trace");
        if traced { reply.with_payload("accord.path", "fast").with_payload("accord.txn_id", "[1,2,3]") } else { reply }
    }

    fn apply(&mut self, steps: &[&str]) -> Reply {
        if steps[0].starts_with("LET") {
            return self.read(steps, 0);
        }
        for step in steps {
            let words: Vec<&str> = step.split(' ').collect();
            assert_eq!(words[..4], ["UPDATE", "bank.accounts", "SET", "balance"], "{step}");
            let sign = if words[4] == "-=" { -1 } else { 1 };
            let amount: i64 = words[5].parse().expect("a number");
            // A missing row is left missing, as the language has it.
            if let Some(balance) = self.accounts.get_mut(&place(step)) {
                *balance += sign * amount;
            }
        }
        Reply::void()
    }

    fn read(&self, steps: &[&str], off: i64) -> Reply {
        let cell = |step: &&str| self.accounts.get(&place(step)).map(|balance| (balance - off).to_be_bytes().to_vec());
        let row: Vec<_> = steps.iter().filter(|step| step.starts_with("LET")).map(cell).collect();
        Reply::rows(&[("first.balance", 2), ("second.balance", 2)], vec![row])
    }
}

/// The row that `… WHERE id = 7 AND kind = 'SAVINGS'…` names.
fn place(step: &str) -> (i64, String) {
    let (_, place) = step.split_once("WHERE id = ").expect("a row");
    let (id, kind) = place.split_once(" AND kind = '").expect("a key");
    (id.parse().expect("a number"), kind.split('\'').next().expect("a name").to_owned())
}

fn timeout() -> Reply {
    let extra = [0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 3, b'C', b'A', b'S'].to_vec();
    Reply::new(Body::Error(0x1100, "outcome unknown".to_owned(), extra))
}
