use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// A silent peer is probed after this long, so that a host that vanished is noticed on an idle link.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Sets what every peer connection needs: no delay of small frames, probes of a silent peer.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}
