//! The transition table of the protocol, row by row: a record is brought to a state, a request arrives, and the new state and the
//! answer are checked. *Source*: [SPEC 2.2 to 2.5, 7.2, 7.5]. Rows about truncation and PreCommit have no message that leads to them yet.

mod decisions;
mod evidence;
mod stage;
mod votes;
