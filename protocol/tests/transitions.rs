//! Every move of a record's status, pinned as text. *Source*: [SPEC 2.1, last paragraph].
//!
//! `UPDATE=1 cargo test -p protocol --test transitions` writes the table anew; a person reviews the difference.

use protocol::{Ballot, Epoch, Hlc, NodeId, Status};
use std::fmt::Write as _;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/transitions.txt");

const HEADING: &str = "\
# May a record at the status of the row, accepted at some ballot, move to the status of the column?
# Yes at a lower ballot: l, at the same: e, at a higher: h. No: a dot in its place.
";

fn ballot(hlc: u64) -> Ballot {
    Ballot::new(Epoch(1), Hlc(hlc), NodeId(1))
}

fn cell(from: Status, to: Status) -> String {
    let asked = [(4, 'l'), (5, 'e'), (6, 'h')];
    asked.iter().map(|(at, yes)| if from.may_move_to(to, ballot(5), ballot(*at)) { *yes } else { '.' }).collect()
}

/// One row per status moved from, one column per status moved to, named by its number.
fn table() -> String {
    let mut text = String::from(HEADING);
    let _ = write!(text, "{:21}", "");
    for to in Status::ALL {
        let _ = write!(text, " {:>3}", u8::from(*to));
    }
    text.push('\n');
    for from in Status::ALL {
        let name = format!("{from:?}");
        let _ = write!(text, "{:>2} {name:18}", u8::from(*from));
        for to in Status::ALL {
            let _ = write!(text, " {}", cell(*from, *to));
        }
        text.push('\n');
    }
    text
}

#[test]
fn transitions_are_pinned() {
    let table = table();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(GOLDEN, &table).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(GOLDEN).expect("the golden file is there; UPDATE=1 writes it");
    assert_eq!(golden, table, "the table has changed; if that is meant, run with UPDATE=1 and review it");
}

#[test]
fn a_decided_time_is_never_undecided_again() {
    let decided = |status: &&Status| (Status::PreCommitted..=Status::Truncated).contains(*status);
    for from in Status::ALL.iter().filter(decided) {
        for to in Status::ALL.iter().filter(|to| !decided(to)) {
            assert_eq!(cell(*from, *to), "...", "{from:?} to {to:?}");
        }
    }
}
