//! The bounds of the client port.

use std::time::Duration;

/// Bounds of one client port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortConfig {
    /// Requests in flight over all connections; one more is answered Overloaded.
    pub in_flight_max: usize,
    /// Requests in flight of one connection; beyond it the socket is not read, or answered Overloaded if STARTUP asked for that.
    pub connection_in_flight_max: usize,
    /// Connections; one more is closed at once.
    pub connections_max: usize,
    /// *Units*: bytes of body of a request; a larger one is answered Invalid.
    pub envelope_max_bytes: usize,
    /// *Units*: bytes of body of a request before the handshake is done; a larger one closes the connection.
    pub greeting_max_bytes: usize,
    /// *Units*: bytes of requests that have not arrived in full, over all connections; beyond it the one that adds to them is closed.
    pub input_max_bytes: usize,
    /// Time from connecting to STARTUP.
    pub login_timeout: Duration,
    /// *Units*: bytes of answers waiting for a client; beyond it no more of its requests are read.
    pub output_pause_bytes: usize,
    /// *Units*: bytes of answers waiting for a client; beyond it the connection is closed.
    pub output_max_bytes: usize,
    /// Prepared statements kept.
    pub prepared_max: usize,
    /// *Units*: bytes of text of the prepared statements kept.
    pub prepared_max_bytes: usize,
    /// How long a schema statement waits for the live nodes to have the new schema.
    pub schema_agreement_timeout: Duration,
}

impl Default for PortConfig {
    fn default() -> Self {
        Self {
            in_flight_max: 16_384,
            connection_in_flight_max: 2_048,
            connections_max: 4_096,
            envelope_max_bytes: 16 << 20,
            greeting_max_bytes: 64 << 10,
            input_max_bytes: 512 << 20,
            login_timeout: Duration::from_secs(10),
            output_pause_bytes: 1 << 20,
            output_max_bytes: 256 << 20,
            prepared_max: 10_000,
            prepared_max_bytes: 16 << 20,
            schema_agreement_timeout: Duration::from_secs(10),
        }
    }
}
