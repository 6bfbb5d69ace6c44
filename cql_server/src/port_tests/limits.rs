//! What a hostile or broken client gets: a clear error or the end of its connection, while others go on.

use super::*;
use std::time::Instant;

/// A client as any other: it is served, whatever the rest do.
async fn is_served(client: &mut Client) {
    assert_eq!(client.query("SELECT a FROM k.t WHERE a = 1").await.kind(), 2);
}

/// Field case N02: the flags of the segments of one large answer, and a request that arrives byte by byte.
#[test]
fn n02_large_messages_travel_in_parts_both_ways() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        let text = "x".repeat(300_000);
        let body = client.query_body(&format!("INSERT INTO k.t (a, b) VALUES (1, '{text}')"));
        let envelope = client.envelope(1, 0, opcode::QUERY, &body);
        let mut wire = Vec::new();
        put_envelopes(&mut wire, &envelope);
        client.stream.set_nodelay(true).expect("set");
        // The borders that matter byte by byte, the rest of each part at once.
        for part in wire.chunks(131_081) {
            let (start, rest) = part.split_at(20);
            let (middle, end) = rest.split_at(rest.len() - 20);
            for piece in start.chunks(1).chain([middle]).chain(end.chunks(1)) {
                client.send_bytes(piece).await;
                yield_now().await;
            }
        }
        assert_eq!(client.receive().await.kind(), 1);
        let query = client.query_body("SELECT b FROM k.t WHERE a = 1");
        client.send(2, opcode::QUERY, &query).await;
        let mut flags = Vec::new();
        let mut payload_bytes = 0;
        while payload_bytes < 300_000 {
            assert_ne!(client.stream.read_buf(&mut client.wire).await.expect("read"), 0);
            while let Some(segment) = Segment::peek(&client.wire).expect("valid") {
                flags.push((segment.self_contained, segment.payload_len == 131_071));
                payload_bytes += segment.payload_len;
                client.wire.drain(..segment.len());
            }
        }
        assert_eq!(flags, [(false, true), (false, true), (false, false)]);
        is_served(&mut client).await;
    });
}

/// Field case N07 and C12: floods from one place stop at its share, and those who say nothing go in time.
#[test]
fn n07_strangers_take_neither_places_nor_memory() {
    let config = PortConfig {
        login_timeout: Duration::from_millis(300),
        connections_per_address_max: 150,
        ..PortConfig::default()
    };
    with_port(config, async |port| {
        let mut honest = Client::with_table(&port, 5).await;
        let mut strangers = Vec::new();
        for nth in 0..200 {
            let mut stranger = Client::connect(&port, 4).await;
            let first: &[u8] = match nth % 3 {
                0 => &[4, 0, 0, 1, 1, 0x7f, 0xff, 0xff, 0xff],
                1 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                _ => b"",
            };
            // One that was refused at the door may be gone already.
            let _ = stranger.stream.write_all(first).await;
            strangers.push(stranger);
        }
        is_served(&mut honest).await;
        for mut stranger in strangers {
            while matches!(stranger.stream.read_buf(&mut stranger.wire).await, Ok(len) if len > 0) {}
        }
        while port.handle.connections() > 1 {
            yield_now().await;
        }
        is_served(&mut honest).await;
    });
}

#[test]
fn one_address_gets_its_share_of_connections() {
    let config = PortConfig { connections_per_address_max: 2, ..PortConfig::default() };
    with_port(config, async |port| {
        let first = Client::started(&port, 4).await;
        let mut second = Client::with_table(&port, 4).await;
        let mut third = Client::connect(&port, 4).await;
        assert!(matches!(third.stream.read_buf(&mut third.wire).await, Ok(0) | Err(_)));
        drop(first);
        while port.handle.connections() > 1 {
            yield_now().await;
        }
        Client::started(&port, 4).await;
        is_served(&mut second).await;
    });
}

/// Sends reads of a large row until the server takes no more of them.
async fn pipeline_until_held_up(port: &Port, client: &mut Client) {
    let body = client.query_body("SELECT b FROM k.t WHERE a = 1");
    let request = client.envelope(1, 0, opcode::QUERY, &body);
    let mut wire = Vec::new();
    put_envelopes(&mut wire, &request.repeat(100));
    let mut idle = 0;
    // Ready for more only while the server reads; both sides of the loopback hold megabytes before that ends.
    while idle < 200 {
        match client.stream.try_write(&wire) {
            Ok(len) => {
                let whole = wire.len();
                wire.rotate_left(len % whole);
                idle = 0;
            }
            Err(_) => idle += 1,
        }
        assert!(port.handle.connections() > 0);
        yield_now().await;
    }
}

/// Field case N08 and C11: nobody waits for a client that does not read, and it does not wait for ever.
#[test]
fn n08_client_that_never_reads_is_held_up_then_closed() {
    let config = PortConfig {
        write_timeout: Duration::from_millis(200),
        output_pause_bytes: 64 << 10,
        output_max_bytes: 4 << 20,
        ..PortConfig::default()
    };
    with_port(config, async |port| {
        let mut normal = Client::with_table(&port, 5).await;
        let text = "x".repeat(50_000);
        assert_eq!(normal.query(&format!("INSERT INTO k.t (a, b) VALUES (1, '{text}')")).await.kind(), 1);
        let mut deaf = Client::started(&port, 5).await;
        pipeline_until_held_up(&port, &mut deaf).await;
        for _ in 0..20 {
            is_served(&mut normal).await;
        }
        while port.handle.connections() > 1 {
            is_served(&mut normal).await;
        }
        assert_eq!(port.handle.in_flight(), 0);
    });
}

/// C11, the other half: a request that dribbles in ends at its deadline, with a word about it.
#[test]
fn c11_request_that_dribbles_in_ends_at_its_deadline() {
    let config = PortConfig { request_timeout: Duration::from_millis(60), ..PortConfig::default() };
    with_port(config, async |port| {
        for version in [4, 5] {
            let mut slow = Client::started(&port, version).await;
            let body = slow.query_body("SELECT a FROM k.t WHERE a = 1");
            let mut wire = slow.envelope(1, 0, opcode::QUERY, &body);
            if version == 5 {
                let envelope = std::mem::take(&mut wire);
                put_envelopes(&mut wire, &envelope);
            }
            slow.send_bytes(&wire[..wire.len() - 1]).await;
            let (code, text) = slow.receive().await.error();
            assert!(code == 0x000a && text.contains("had not arrived in full"), "{text}");
            assert!(slow.is_closed().await);
        }
    });
}

/// An open connection without a request under way may rest for as long as it likes.
#[test]
fn idle_client_outlives_the_deadlines_of_requests() {
    let config = PortConfig {
        request_timeout: Duration::from_millis(20),
        write_timeout: Duration::from_millis(20),
        login_timeout: Duration::from_millis(1000),
        ..PortConfig::default()
    };
    with_port(config, async |port| {
        let mut client = Client::with_table(&port, 5).await;
        let mut silent = Client::connect(&port, 4).await;
        assert!(silent.is_closed().await, "its time was fifty times longer");
        is_served(&mut client).await;
    });
}

/// All that C13 names, but the IN list and the million statements.
#[test]
fn c13_malformed_messages_get_an_error_and_cost_no_memory() {
    with_port(PortConfig::default(), async |port| {
        let mut honest = Client::with_table(&port, 4).await;
        // Declared 4 GiB, after the handshake: nothing that large is even read past.
        let mut client = Client::started(&port, 4).await;
        client.send_bytes(&[4, 0, 0, 3, 7, 0xff, 0xff, 0xff, 0xff]).await;
        let answer = client.receive().await;
        assert_eq!((answer.stream, answer.error().0), (3, 0x000a));
        assert!(client.is_closed().await);
        // Beyond the limit but within reason: named, read past, and the connection goes on.
        let mut client = Client::started(&port, 4).await;
        let too_large = vec![b'x'; (16 << 20) + 1];
        client.send(5, opcode::QUERY, &too_large).await;
        assert_eq!(client.receive().await.error().0, 0x2200);
        is_served(&mut client).await;
        for (code, body, expected) in [
            (0x77, &b""[..], 0x000a),
            (opcode::QUERY, b"", 0x000a),
            (opcode::QUERY, b"\0\0\0\x02\xc3\x28\0\x01\0", 0x000a),
            (opcode::QUERY, b"\x7f\xff\xff\xff\0\x01\0", 0x000a),
            (opcode::QUERY, b"\xff\xff\xff\xff\0\x01\0", 0x000a),
            (opcode::EXECUTE, b"\xff\xff", 0x000a),
            (opcode::RESULT, b"", 0x000a),
            (opcode::BATCH, b"\0\xff\xff", 0x2200),
        ] {
            client.send(9, code, body).await;
            let answer = client.receive().await;
            assert_eq!((answer.stream, answer.error().0), (9, expected), "{code:#x} {body:?}");
        }
        // A segment header that does not match its checksum leaves nothing to hold on to.
        let mut five = Client::started(&port, 5).await;
        five.send_bytes(&[0xff; 32]).await;
        assert_eq!(five.receive().await.error().0, 0x000a);
        assert!(five.is_closed().await);
        is_served(&mut honest).await;
    });
}

/// C13: depth, a million statements, a huge IN list, and keys without end.
#[test]
fn c13_texts_that_explode_are_refused_before_they_do() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        let list = (0..100_000).map(|key| key.to_string()).collect::<Vec<_>>().join(", ");
        let many = "UPDATE k.t SET b = 'x' WHERE a = 1; ".repeat(300_000);
        let writes = |keys: usize| {
            let insert = |key| format!("INSERT INTO k.t (a, b) VALUES ({key}, 'x'); ");
            format!("BEGIN TRANSACTION {}COMMIT TRANSACTION", (0..keys).map(insert).collect::<String>())
        };
        for (text, words) in [
            (format!("SELECT * FROM k.t WHERE a = {}", "(".repeat(100_000)), ""),
            (format!("BEGIN TRANSACTION {many}COMMIT TRANSACTION"), "more than 4096"),
            (format!("SELECT * FROM k.t WHERE a IN ({list})"), ""),
            (writes(1_025), "1025 keys"),
        ] {
            let start = Instant::now();
            let (code, message) = client.query(&text).await.error();
            assert!(matches!(code, 0x2000 | 0x2200) && message.contains(words), "{code:#x} {message:.200}");
            assert!(message.len() < 1000 && start.elapsed() < Duration::from_secs(20), "{message:.200}");
        }
        assert_eq!(client.query(&writes(1_024)).await.kind(), 1);
    });
}

#[test]
fn transaction_and_result_have_their_bounds() {
    let config = PortConfig { txn_max_bytes: 20_000, result_max_bytes: 10_000, ..PortConfig::default() };
    with_port(config, async |port| {
        let mut client = Client::with_table(&port, 4).await;
        let insert = |size| format!("INSERT INTO k.t (a, b) VALUES (1, '{}')", "x".repeat(size));
        let (code, text) = client.query(&insert(20_000)).await.error();
        assert!(code == 0x2200 && text.contains("txn_max"), "{text}");
        assert_eq!(client.query(&insert(15_000)).await.kind(), 1);
        let (code, text) = client.query("SELECT b FROM k.t WHERE a = 1").await.error();
        assert!(code == 0x2200 && text.contains("result_max"), "{text}");
        is_served(&mut client).await;
    });
}

/// Field case O01, the port's part: what waits for the node is bounded, the rest is answered, and all counters come back to nothing.
#[test]
fn o01_flood_is_answered_overloaded_and_leaves_nothing_behind() {
    let config = PortConfig { in_flight_max: 64, connection_in_flight_max: 32, ..PortConfig::default() };
    with_port(config, async |port| {
        Client::with_table(&port, 4).await;
        port.node.hold();
        let options = [("CQL_VERSION", "3.0.0"), ("THROW_ON_OVERLOAD", "1")];
        let mut clients = Vec::new();
        for _ in 0..8 {
            let mut client = Client::started_with(&port, 4, &options).await;
            let body = client.query_body("INSERT INTO k.t (a, b) VALUES (1, 'x')");
            let all: Vec<u8> = (0..500).flat_map(|stream| client.envelope(stream, 0, opcode::QUERY, &body)).collect();
            client.send_envelopes(&all).await;
            clients.push(client);
        }
        // 32 of each connection, 64 in all: the first two connections wait, the others are refused throughout.
        for (nth, client) in clients.iter_mut().enumerate() {
            for _ in 0..if nth < 2 { 468 } else { 500 } {
                assert_eq!(client.receive().await.error().0, 0x1001);
            }
        }
        assert_eq!((port.node.held(), port.handle.in_flight()), (64, 64));
        port.node.release();
        for client in &mut clients[..2] {
            for _ in 0..32 {
                assert_eq!(client.receive().await.kind(), 1);
            }
        }
        assert_eq!(port.handle.in_flight(), 0);
        is_served(&mut clients[7]).await;
    });
}
