//! A proxy between two nodes that alters one byte of the stream.

mod support;

use support::rings::Cast;
use support::{Port, brisk, connect, endpoint, on_one_thread, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

/// Bytes the dialler sends before its first frame of messages: greeting and proof.
const HANDSHAKE: usize = 49 + 54 + 16;

/// Passes connections on to `target`; in the first one, byte `at` of the dialler's stream is altered.
async fn proxy(listener: TcpListener, target: String, at: usize) {
    let mut flip = Some(at);
    while let Ok((near, _)) = listener.accept().await {
        let far = TcpStream::connect(&target).await.unwrap();
        let (mut near_read, mut near_write) = near.into_split();
        let (mut far_read, mut far_write) = far.into_split();
        spawn_local(async move { tokio::io::copy(&mut far_read, &mut near_write).await });
        let flip = flip.take();
        spawn_local(async move {
            let (mut buffer, mut seen) = ([0; 4096], 0);
            while let Ok(count @ 1..) = near_read.read(&mut buffer).await {
                if let Some(byte) = flip.and_then(|at| at.checked_sub(seen)).and_then(|at| buffer[..count].get_mut(at))
                {
                    *byte ^= 0x10;
                }
                seen += count;
                if far_write.write_all(&buffer[..count]).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Sends through a proxy that alters byte `at` of the first frame; tells what was counted.
async fn refused_cause(at: usize) -> String {
    let cast = Cast::new(2);
    let port = Port::open(&endpoint(cast.ring(2), brisk()), "127.0.0.1:0").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let proxy = spawn_local(proxy(listener, port.address.clone(), HANDSHAKE + at));
    let link = connect(&endpoint(cast.ring(1), brisk()), 2, &address);
    until(|| link.connected_to().is_some()).await;
    link.send(b"transfer 10 to Anna").unwrap();
    until(|| link.counters().losses.get() == 1).await;
    assert_eq!(port.inbox.len(), 0, "nothing altered was delivered");
    until(|| link.connected_to().is_some()).await;
    link.send(b"transfer 20 to Anna").unwrap();
    port.inbox.wait_for(1).await;
    assert_eq!(port.inbox.take(), [(1, b"transfer 20 to Anna".to_vec())], "the link recovers with a new key");
    proxy.abort();
    let inbound = port.counters.peer(1).unwrap();
    assert_eq!(inbound.refused_total() + inbound.uncuttable.get(), 1, "counted once");
    let cause = inbound.refused().find(|(_, count)| *count > 0).map_or("uncuttable", |(cause, _)| cause);
    cause.to_owned()
}

#[test]
fn altered_bytes_are_refused_and_counted_by_cause() {
    let cases = [
        (0, "uncuttable"),
        (5, "version"),
        (8, "cluster"),
        (24, "wrong_sender"),
        (28, "wrong_receiver"),
        (33, "incarnation"),
        (40, "bad_tag"),
        (48, "bad_tag"),
        (50, "uncuttable"),
        (60, "bad_tag"),
        (80, "bad_tag"),
    ];
    on_one_thread(async move {
        for (at, cause) in cases {
            assert_eq!(refused_cause(at).await, cause, "byte {at} of the frame");
        }
    });
}
