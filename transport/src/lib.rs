//! Frames between nodes: one TCP connection per direction, everything queued goes out in one frame and one write.
//!
//! * [`Link`] is the sending end towards one peer, [`LinkTask`] keeps it connected.
//! * [`Listener`] takes connections, lets only configured peers that prove their key in, and hands each opened frame as
//!   one [`Batch`] to an [`Inbound`].
//! * [`Endpoint`] is what both share: the key ring, this process life's incarnation, limits.
//!
//! Plain tokio tasks and no actors: the binary ties them to whatever runs the node. Delivery is at most once and in order
//! within one connection; whatever is lost with a connection is counted and left to the protocol's own timers.

mod backoff;
mod batch;
mod counters;
mod endpoint;
mod error;
mod frame;
mod handshake;
mod hello;
mod link;
mod link_task;
mod listener;
mod queue;
mod receive;
mod registry;
mod settings;
mod socket;
#[cfg(test)]
#[path = "../tests/support/rings.rs"]
mod test_rings;

pub use batch::{Batch, BatchError, Messages};
pub use counters::{Counter, HandshakeCounters, InboundCounters, LinkCounters, ListenerCounters};
pub use endpoint::{Endpoint, Entropy};
pub use error::Error;
pub use frame::{CutError, FrameCutter};
pub use handshake::HandshakeFailure;
pub use link::{Link, SendError, link};
pub use link_task::LinkTask;
pub use listener::{Inbound, Listener};
pub use settings::Settings;
