//! SimpleBank: customers with a checking and a savings account, and money that only moves.

mod check;
mod client_loop;
mod customers;
mod init;
mod ledger;
mod live;
mod plan;
mod rows;
mod run;
mod statements;
mod target;

pub use check::check;
pub use init::init;
pub use ledger::Ledger;
pub use plan::Account;
pub use run::run;
