//! Two nodes over real loopback sockets.

mod support;

use std::time::Duration;

use auth::Verified;
use support::rings::{CLUSTER, Cast};
use support::{Port, brisk, connect, endpoint, on_one_thread, until};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use transport::{Batch, Inbound, Listener, SendError, Settings, link};

#[test]
fn two_nodes_exchange_100_000_messages_in_order() {
    const COUNT: usize = 100_000;
    on_one_thread(async {
        let cast = Cast::new(2);
        let (one, two) = (endpoint(cast.ring(1), brisk()), endpoint(cast.ring(2), brisk()));
        let (port_one, port_two) = (Port::open(&one, "127.0.0.1:0").await, Port::open(&two, "127.0.0.1:0").await);
        let (to_two, to_one) = (connect(&one, 2, &port_two.address), connect(&two, 1, &port_one.address));
        for number in 0..COUNT {
            for link in [&to_two, &to_one] {
                let message = number.to_be_bytes();
                while link.try_send(&message) == Err(SendError::Full) {
                    tokio::task::yield_now().await;
                }
            }
            if number % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        for (port, link, sender) in [(&port_two, &to_two, 1), (&port_one, &to_one, 2)] {
            port.inbox.wait_for(COUNT).await;
            let messages = port.inbox.take();
            assert!(messages.into_iter().eq((0..COUNT).map(|number| (sender, number.to_be_bytes().to_vec()))));
            let inbound = port.counters.peer(sender).unwrap();
            assert_eq!(inbound.messages.get(), COUNT as u64);
            assert_eq!(inbound.refused_total(), 0);
            until(|| link.counters().messages.get() == COUNT as u64).await;
            assert_eq!(link.counters().bytes.get(), inbound.bytes.get());
            assert_eq!(link.counters().frames.get(), inbound.frames.get());
            assert!(inbound.frames.get() < COUNT as u64 / 10, "{} frames: not coalesced", inbound.frames.get());
        }
    });
}

#[test]
fn everything_of_one_turn_is_one_frame() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let port = Port::open(&endpoint(cast.ring(2), brisk()), "127.0.0.1:0").await;
        let link = connect(&endpoint(cast.ring(1), brisk()), 2, &port.address);
        until(|| link.connected_to() == Some(102)).await;
        for number in 0..50u8 {
            link.send(&[number]).unwrap();
        }
        port.inbox.wait_for(50).await;
        assert_eq!(port.counters.peer(1).unwrap().frames.get(), 1);
    });
}

#[test]
fn peer_with_a_wrong_key_is_refused_and_counted() {
    on_one_thread(async {
        let mut cast = Cast::new(2);
        let impostor = cast.member(1);
        let port = Port::open(&endpoint(cast.ring(2), brisk()), "127.0.0.1:0").await;
        let link = connect(&endpoint(cast.ring_of(&impostor, CLUSTER), brisk()), 2, &port.address);
        link.send(b"let me in").unwrap();
        until(|| port.counters.handshake_failures.of("wrong_key") > 1).await;
        assert!(link.counters().handshake_failures.of("wrong_key") > 0);
        assert!(link.failure().unwrap().contains("does not hold the key"), "{:?}", link.failure());
        assert_eq!(link.connected_to(), None);
        assert_eq!(link.counters().dropped_messages.get(), 1);
        assert_eq!(port.inbox.len(), 0);
    });
}

#[test]
fn link_comes_back_after_the_listener_restarts() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let two = endpoint(cast.ring(2), brisk());
        let port = Port::open(&two, "127.0.0.1:0").await;
        let address = port.address.clone();
        let link = connect(&endpoint(cast.ring(1), brisk()), 2, &address);
        link.send(b"before").unwrap();
        port.inbox.wait_for(1).await;
        port.close().await;
        until(|| link.connected_to().is_none()).await;
        link.send(b"lost").unwrap();
        until(|| link.counters().dropped_messages.get() == 1).await;

        let port = Port::open(&two, &address).await;
        until(|| link.connected_to().is_some()).await;
        link.send(b"after").unwrap();
        port.inbox.wait_for(1).await;
        assert_eq!(port.inbox.take(), [(1, b"after".to_vec())]);
        assert_eq!((link.counters().connects.get(), link.counters().losses.get()), (2, 1));
    });
}

#[test]
fn queue_to_a_peer_that_does_not_read_is_bounded() {
    on_one_thread(async {
        let settings = Settings { queue_max: 100_000, frame_max: 200_000, ..brisk() };
        let cast = Cast::new(2);
        // Takes the connection and never says a word, so everything sent has to wait.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let link = connect(&endpoint(cast.ring(1), settings), 2, &silent.local_addr().unwrap().to_string());
        let (_held, _) = silent.accept().await.unwrap();
        let mut taken = 0;
        while link.try_send(&[0; 996]).is_ok() {
            taken += 1;
        }
        assert_eq!((taken, link.queued_bytes()), (100, 100_000));
        let mut begun = 0;
        while link.send(&[0; 996]).is_ok() {
            begun += 1;
        }
        assert_eq!(begun, 99);
        assert!(link.queued_bytes() <= 200_000);
        assert_eq!((link.counters().refused_new.get(), link.counters().refused_full.get()), (1, 1));
    });
}

#[test]
fn strangers_beyond_the_limit_are_turned_away() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let settings = Settings { unauthenticated_max: 2, ..brisk() };
        let port = Port::open(&endpoint(cast.ring(2), settings), "127.0.0.1:0").await;
        let _first = TcpStream::connect(&port.address).await.unwrap();
        let _second = TcpStream::connect(&port.address).await.unwrap();
        let mut third = TcpStream::connect(&port.address).await.unwrap();
        assert_eq!(third.read(&mut [0; 1]).await.unwrap(), 0);
        assert_eq!((port.counters.accepted.get(), port.counters.turned_away.get()), (3, 1));
    });
}

#[test]
fn silent_stranger_is_closed_after_the_time_limit() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let settings = Settings { handshake_timeout: Duration::from_millis(20), ..brisk() };
        let port = Port::open(&endpoint(cast.ring(2), settings), "127.0.0.1:0").await;
        let mut silent = TcpStream::connect(&port.address).await.unwrap();
        assert_eq!(silent.read(&mut [0; 1]).await.unwrap(), 0);
        assert_eq!(port.counters.handshake_failures.of("timeout"), 1);
    });
}

#[test]
fn newer_connection_of_a_peer_replaces_the_older() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let port = Port::open(&endpoint(cast.ring(2), brisk()), "127.0.0.1:0").await;
        // Long pauses, so that the older link does not come back within the test.
        let pause = Duration::from_secs(100);
        let one = endpoint(cast.ring(1), Settings { backoff: pause..=pause, ..Settings::default() });
        let old = connect(&one, 2, &port.address);
        old.send(b"old").unwrap();
        port.inbox.wait_for(1).await;
        let new = connect(&one, 2, &port.address);
        until(|| port.counters.peer(1).unwrap().replaced.get() == 1).await;
        until(|| old.counters().losses.get() == 1).await;
        new.send(b"new").unwrap();
        port.inbox.wait_for(2).await;
        assert_eq!(port.inbox.take(), [(1, b"old".to_vec()), (1, b"new".to_vec())]);
    });
}

#[test]
fn closing_a_link_writes_what_is_queued() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let port = Port::open(&endpoint(cast.ring(2), brisk()), "127.0.0.1:0").await;
        let link = connect(&endpoint(cast.ring(1), brisk()), 2, &port.address);
        until(|| link.connected_to().is_some()).await;
        link.send(b"last words").unwrap();
        link.close();
        assert_eq!(link.send(b"too late"), Err(SendError::Closed));
        port.inbox.wait_for(1).await;
        assert_eq!(port.inbox.take(), [(1, b"last words".to_vec())]);
    });
}

#[test]
fn frames_of_an_epoch_below_the_floor_are_refused() {
    on_one_thread(async {
        let cast = Cast::new(2);
        let (one, two) = (endpoint(cast.ring(1), brisk()), endpoint(cast.ring(2), brisk()));
        let port = Port::open(&two, "127.0.0.1:0").await;
        let link = connect(&one, 2, &port.address);
        until(|| link.connected_to().is_some()).await;
        two.set_epoch_floor(7);
        link.send(b"stale").unwrap();
        until(|| link.counters().losses.get() > 0).await;
        one.set_epoch(7);
        until(|| link.connected_to().is_some()).await;
        link.send(b"fresh").unwrap();
        port.inbox.wait_for(1).await;
        assert_eq!(port.inbox.take(), [(1, b"fresh".to_vec())]);
        assert!(port.counters.peer(1).unwrap().refused().any(|(cause, count)| cause == "epoch" && count > 0));
    });
}

#[test]
fn panic_of_the_receiver_is_not_swallowed() {
    struct Faulty;
    impl Inbound for Faulty {
        fn deliver(&self, _: u32, _: Verified<Batch<'_>>) {
            panic!("a bug in the node");
        }
    }
    on_one_thread(async {
        let cast = Cast::new(2);
        let listener = Listener::bind(endpoint(cast.ring(2), brisk()), "127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = tokio::task::spawn_local(listener.run(Faulty));
        let link = connect(&endpoint(cast.ring(1), brisk()), 2, &address);
        link.send(b"boom").unwrap();
        assert!(served.await.unwrap_err().is_panic());
    });
}

#[test]
fn link_and_its_task_may_live_on_different_threads() {
    fn movable<T: Send + 'static>(value: T) -> T {
        value
    }
    let cast = Cast::new(2);
    let (handle, task) = link(endpoint(cast.ring(1), brisk()), 2, "127.0.0.1:1".to_owned()).unwrap();
    let running = movable(task.run());
    drop(movable(handle));
    // The handle is gone, so the task ends without having connected.
    on_one_thread(running);
}

#[test]
fn link_to_a_node_without_identity_is_refused() {
    let cast = Cast::new(2);
    let refused = link(endpoint(cast.ring(1), brisk()), 9, "127.0.0.1:1".to_owned()).unwrap_err();
    assert_eq!(refused.to_string(), "node 9 is not in the key ring; add its identity record to the configuration");
}
