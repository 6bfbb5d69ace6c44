//! Who speaks, and proof of it: identities, link keys and the tag of every peer frame.
//!
//! Pure: no sockets, no clock, no threads; time and randomness are passed in by the caller.
//!
//! * [`identity`]: the admin-signed record that binds a node id to its keys.
//! * [`keys`]: the secret keys of this node and the [`KeyRing`] that turns them into link keys.
//! * [`frame`]: sealing and opening one peer frame; [`Opener::open`] checks everything before it hands out a byte.
//! * [`verified`]: [`Verified`], the proof in the type system that a value came through `open`.
//! * [`keygen`]: key and identity files as text, written and parsed.
//!
//! What the tags give: an outsider who injects, alters, replays or moves frames is refused, and member A cannot speak
//! for member B. They do not make a lying member honest.

mod cluster;
mod error;
pub mod frame;
pub mod hkdf;
pub mod identity;
pub mod keygen;
pub mod keys;
mod sign;
#[cfg(test)]
mod test_rng;
pub mod verified;

pub use cluster::{ClusterDigest, ClusterId};
pub use error::Error;
pub use frame::{Opener, Payload, Refused, Sealer};
pub use identity::{AdminPublic, AdminSecret, Identity, IdentityRecord, Role};
pub use keys::{KeyRing, NodeSecrets, Party, Session, Suite};
pub use p256::elliptic_curve::rand_core;
pub use sign::{SIGNATURE_LEN, SignatureBytes};
pub use verified::Verified;
