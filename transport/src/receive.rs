use std::io;
use std::net::SocketAddr;

use auth::{Opener, Refused};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tracing::{info, warn};

use crate::counters::InboundCounters;
use crate::handshake::Accepted;
use crate::listener::{Inbound, Port};
use crate::registry::{Arrival, Place};
use crate::{Batch, BatchError, CutError, FrameCutter};

/// Why a proven connection ended.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("the peer closed it")]
    Closed,
    #[error("the peer closed it in the middle of a frame")]
    CutOff,
    #[error("the peer opened a newer connection")]
    Replaced,
    #[error("{0}")]
    Io(io::Error),
    #[error("{0}")]
    Cut(CutError),
    #[error("frame refused: {0}")]
    Refused(Refused),
    #[error("{0}")]
    Batch(BatchError),
    #[error("peer {0} is not counted: its key was taken out of the ring")]
    Unknown(u32),
}

/// Serves a connection whose peer has proved its key, until either end gives up.
///
/// After any refusal the connection is closed: the stream cannot be trusted further, and a new handshake gives a new key.
pub(crate) async fn receive<I: Inbound>(port: &Port<I>, stream: TcpStream, accepted: Accepted, address: SocketAddr) {
    let Accepted { opener, peer, wire } = accepted;
    let (mut place, arrival) = port.registry.enter(peer);
    let node = peer.node;
    if arrival == Arrival::Twin {
        warn!(node, %address, "node {node} connects in turn from two process lives: two processes use its keys");
    } else {
        info!(node, %address, wire, replaced = (arrival == Arrival::Replaced), "node {node} connected");
    }
    let end = match port.counters.peer(node) {
        Some(counters) => read_frames(port, counters, stream, opener, &mut place).await,
        None => End::Unknown(node),
    };
    port.registry.leave(&place);
    match end {
        End::Closed | End::Replaced => info!(node, %address, "connection of node {node} ended: {end}"),
        _ => warn!(node, %address, "connection of node {node} ended: {end}"),
    }
}

async fn read_frames<I: Inbound>(
    port: &Port<I>,
    counters: &InboundCounters,
    mut stream: TcpStream,
    mut opener: Opener,
    place: &mut Place,
) -> End {
    counters.connections.add(1);
    let mut cutter = FrameCutter::new(port.endpoint.settings.frame_max);
    loop {
        let read = tokio::select! {
            biased;
            _ = &mut place.replaced => {
                counters.replaced.add(1);
                return End::Replaced;
            }
            read = stream.read(cutter.space()) => read,
        };
        match read {
            Ok(0) if cutter.is_empty() => return End::Closed,
            Ok(0) => return End::CutOff,
            Ok(count) => cutter.filled(count),
            Err(error) => return End::Io(error),
        }
        opener.set_epoch_floor(port.endpoint.epoch_floor());
        if let Err(end) = take_frames(port, counters, &mut cutter, &mut opener) {
            return end;
        }
    }
}

/// Opens and delivers every whole frame that has arrived.
fn take_frames<I: Inbound>(
    port: &Port<I>,
    counters: &InboundCounters,
    cutter: &mut FrameCutter,
    opener: &mut Opener,
) -> Result<(), End> {
    let uncuttable = |error| {
        counters.uncuttable.add(1);
        End::Cut(error)
    };
    while let Some(frame) = cutter.next_frame().map_err(uncuttable)? {
        let payload = opener.open(frame).map_err(|refused| {
            counters.count_refused(&refused);
            End::Refused(refused)
        })?;
        let batch = payload.try_map(Batch::parse).map_err(|error| {
            counters.malformed.add(1);
            End::Batch(error)
        })?;
        counters.frames.add(1);
        counters.bytes.add(frame.len() as u64);
        counters.messages.add(batch.get().len() as u64);
        if !batch.get().is_empty() {
            port.inbound.deliver(batch.from(), batch);
        }
    }
    Ok(())
}
