//! The coordinator's decisions, one by one: replies are made by hand and what is sent is checked. *Source*: [SLIDES 5],
//! [SPEC 4.3 to 4.5, 4.8, 7.3].

mod answers;
mod paths;
mod recovery;
mod stage;
