//! The bounds of the client port.

use std::time::Duration;

/// Bounds of one client port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortConfig {
    /// Requests in flight over all connections; one more is answered Overloaded.
    pub in_flight_max: usize,
    /// Requests in flight of one connection; beyond it the socket is not read, or answered Overloaded if STARTUP asked for that.
    pub connection_in_flight_max: usize,
    /// Connections; one more is closed at once. Fewer if the process may not open as many files.
    pub connections_max: usize,
    /// Connections from one address; one more is closed at once.
    pub connections_per_address_max: usize,
    /// Keys of one transaction; one with more is answered Invalid.
    pub txn_keys_max: usize,
    /// *Units*: bytes of one transaction, its values included; a larger one is answered Invalid.
    pub txn_max_bytes: usize,
    /// *Units*: bytes of the rows one read returns; a larger result is answered Invalid.
    pub result_max_bytes: usize,
    /// *Units*: bytes of body of a request; a larger one is answered Invalid.
    pub envelope_max_bytes: usize,
    /// *Units*: bytes of body of a request before the handshake is done; a larger one closes the connection.
    pub greeting_max_bytes: usize,
    /// *Units*: bytes of requests that have not arrived in full, over all connections; beyond it the one that adds to them is closed.
    pub input_max_bytes: usize,
    /// Time from connecting to STARTUP.
    pub login_timeout: Duration,
    /// Time from the first bytes of a request to its last; the connection of a slower one is closed.
    pub request_timeout: Duration,
    /// How long a client may take none of the answers that wait for it; then its connection is closed.
    pub write_timeout: Duration,
    /// *Units*: bytes of answers waiting for a client; beyond it no more of its requests are read.
    pub output_pause_bytes: usize,
    /// *Units*: bytes of answers waiting for a client; beyond it the connection is closed.
    pub output_max_bytes: usize,
    /// *Units*: bytes of answers waiting, over all connections; beyond it the connection that adds to them is closed.
    pub output_total_max_bytes: usize,
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
            connections_per_address_max: 2_048,
            txn_keys_max: 1_024,
            txn_max_bytes: 2 << 20,
            result_max_bytes: 16 << 20,
            envelope_max_bytes: 16 << 20,
            greeting_max_bytes: 64 << 10,
            input_max_bytes: 512 << 20,
            login_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            output_pause_bytes: 1 << 20,
            output_max_bytes: 256 << 20,
            output_total_max_bytes: 1 << 30,
            prepared_max: 10_000,
            prepared_max_bytes: 16 << 20,
            schema_agreement_timeout: Duration::from_secs(10),
        }
    }
}
