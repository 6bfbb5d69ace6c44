use super::*;
use protocol::TxnId;

const WRITE: &str = "INSERT INTO k.t (a, b) VALUES (1, 'x')";
const READ: &str = "SELECT * FROM k.t WHERE a = 1";

/// Sends `text` asking for a trace, and answers it with what `make` says.
async fn answered_with(port: &Port, text: &str, make: impl Fn(TxnId) -> Answer) -> Message {
    let mut client = Client::started(port, 5).await;
    port.node.hold();
    let mut body = Vec::new();
    body.put_u16(1);
    body.put_string("accord.trace");
    body.put_bytes(Some(b"1"));
    body.extend(client.query_body(text));
    let envelope = client.envelope(1, flag::PAYLOAD, opcode::QUERY, &body);
    client.send_envelopes(&envelope).await;
    while port.node.held() == 0 {
        yield_now().await;
    }
    port.node.release_with(make);
    client.receive().await
}

#[test]
fn unknown_outcome_of_a_write_is_a_timeout_that_names_the_transaction() {
    with_port(PortConfig::default(), async |port| {
        Client::with_table(&port, 4).await;
        let answer = answered_with(&port, WRITE, |txn_id| Answer::Unknown { txn_id }).await;
        let (code, text) = answer.error();
        assert_eq!((code, answer.flags), (0x1100, flag::PAYLOAD));
        assert!(text.contains("unknown") && text.contains("(W),1]"), "{text}");
        let answer = answered_with(&port, READ, |txn_id| Answer::Unknown { txn_id }).await;
        assert_eq!(answer.error().0, 0x1200);
    });
}

#[test]
fn what_was_not_applied_is_not_called_unknown() {
    with_port(PortConfig::default(), async |port| {
        Client::with_table(&port, 4).await;
        let reasons = [
            (Reason::Overloaded, 0x1001),
            (Reason::Stopping, 0x1001),
            (Reason::Invalidated, 0x1000),
            (Reason::Unavailable { required: 2, alive: 1 }, 0x1000),
            (Reason::Refused, 0x2200),
            (Reason::Internal, 0x0000),
        ];
        for (reason, code) in reasons {
            let make = |txn_id| Answer::NotApplied { reason, text: "why".into(), txn_id: Some(txn_id) };
            assert_eq!(answered_with(&port, WRITE, make).await.error(), (code, "why".into()));
        }
    });
}

#[test]
fn request_the_node_drops_is_answered_all_the_same() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 4).await;
        port.node.hold();
        let body = client.query_body(WRITE);
        client.send(6, opcode::QUERY, &body).await;
        while port.node.held() == 0 {
            yield_now().await;
        }
        port.node.drop_held();
        let answer = client.receive().await;
        assert_eq!((answer.stream, answer.error().0), (6, 0x1100));
        assert_eq!(port.handle.in_flight(), 0);
    });
}

#[test]
fn result_that_cannot_be_read_is_our_fault() {
    with_port(PortConfig::default(), async |port| {
        Client::with_table(&port, 4).await;
        let make = |txn_id| Answer::Applied { result: protocol::Blob::default(), txn_id, path: "fast" };
        assert_eq!(answered_with(&port, WRITE, make).await.error().0, 0x0000);
    });
}

#[test]
fn trace_comes_only_where_it_was_asked_for() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 4).await;
        assert_eq!(client.query(WRITE).await.flags, 0);
    });
}

#[test]
fn refusals_leave_the_connection_open() {
    let config = PortConfig { envelope_max_bytes: 1000, ..PortConfig::default() };
    with_port(config, async |port| {
        for version in [4, 5] {
            let mut client = Client::started(&port, version).await;
            client.send(1, opcode::BATCH, &[0, 0, 0, 0, 1, 0]).await;
            assert_eq!(client.receive().await.error().0, 0x2200);
            for code in [0x00, 0x08, 0x0f, 0x55] {
                client.send(1, code, &[]).await;
                assert_eq!(client.receive().await.error().0, 0x000a, "{code:x}");
            }
            let long = client.query_body(&"x".repeat(port.config.envelope_max_bytes * 300));
            client.send(3, opcode::QUERY, &long).await;
            let answer = client.receive().await;
            assert_eq!((answer.stream, answer.error().0), (3, 0x2200));
            assert_eq!(client.query("SELEC").await.error().0, 0x2000);
            assert_eq!(client.query("USE nowhere").await.error().0, 0x2200);
            assert_eq!(client.query("SELECT key FROM system.local").await.kind(), 2);
        }
    });
}

#[test]
fn garbage_ends_in_an_error_or_the_end_and_harms_nobody() {
    with_port(PortConfig::default(), async |port| {
        let mut state = 1u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for round in 0..60 {
            let version = 4 + round % 2;
            let mut client = Client::started(&port, version).await;
            let mut garbage: Vec<u8> = (0..chance() % 300).map(|_| chance() as u8).collect();
            if round % 3 == 0 {
                let envelope = client.envelope(1, (chance() % 32) as u8, (chance() % 17) as u8, &garbage);
                client.send_envelopes(&envelope).await;
            } else {
                garbage.extend([0; 600]);
                client.send_bytes(&garbage).await;
            }
            client.stream.shutdown().await.expect("shutdown");
            while client.try_receive().await.is_some() {}
        }
        assert_eq!(Client::started(&port, 4).await.query("USE system").await.kind(), 3);
    });
}

#[test]
fn damaged_segment_closes_the_connection() {
    with_port(PortConfig::default(), async |port| {
        for place in [2, 20] {
            let mut client = Client::started(&port, 5).await;
            let mut wire = Vec::new();
            put_envelopes(&mut wire, &client.envelope(1, 0, opcode::QUERY, &client.query_body("USE system")));
            wire[place] ^= 0x10;
            client.send_bytes(&wire).await;
            assert_eq!(client.receive().await.error().0, 0x000a);
            assert!(client.is_closed().await);
        }
    });
}
