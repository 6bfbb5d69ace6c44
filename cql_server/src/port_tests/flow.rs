use super::*;

const WRITE: &str = "INSERT INTO k.t (a, b) VALUES (1, 'x')";

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now().await;
    }
}

/// Requests with these stream ids, sent at once.
async fn send_all(client: &mut Client, streams: &[i16]) {
    let body = client.query_body(WRITE);
    let all: Vec<u8> = streams.iter().flat_map(|stream| client.envelope(*stream, 0, opcode::QUERY, &body)).collect();
    client.send_envelopes(&all).await;
}

async fn receive_all(client: &mut Client, count: usize) -> Vec<i16> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let message = client.receive().await;
        assert_eq!(message.kind(), 1);
        streams.push(message.stream);
    }
    streams
}

/// Field case N03, the server's part.
#[test]
fn every_request_in_flight_is_answered_under_its_id() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        port.node.hold();
        let streams = [5, 9, 32_767, 0, 9];
        send_all(&mut client, &streams).await;
        until(|| port.node.held() == streams.len()).await;
        assert_eq!(port.handle.in_flight(), streams.len());
        port.node.release();
        assert_eq!(receive_all(&mut client, streams.len()).await, streams);
        assert_eq!(port.handle.in_flight(), 0);
    });
}

#[test]
fn connection_at_its_limit_is_read_no_further() {
    let config = PortConfig { connection_in_flight_max: 2, ..PortConfig::default() };
    with_port(config, async |port| {
        let mut client = Client::with_table(&port, 4).await;
        port.node.hold();
        send_all(&mut client, &[1, 2, 3, 4, 5]).await;
        until(|| port.node.held() == 2).await;
        for _ in 0..100 {
            yield_now().await;
        }
        assert_eq!(port.node.held(), 2);
        port.node.release();
        assert_eq!(receive_all(&mut client, 5).await, [1, 2, 3, 4, 5]);
    });
}

#[test]
fn full_node_refuses_at_the_door() {
    let config = PortConfig { in_flight_max: 1, ..PortConfig::default() };
    with_port(config, async |port| {
        let mut client = Client::with_table(&port, 4).await;
        port.node.hold();
        send_all(&mut client, &[1, 2]).await;
        let refused = client.receive().await;
        assert_eq!((refused.stream, refused.error().0), (2, 0x1001));
        port.node.release();
        assert_eq!(receive_all(&mut client, 1).await, [1]);
    });
}

#[test]
fn client_that_asked_for_it_is_refused_instead_of_held_up() {
    let config = PortConfig { connection_in_flight_max: 1, ..PortConfig::default() };
    with_port(config, async |port| {
        Client::with_table(&port, 4).await;
        let options = [("CQL_VERSION", "3.0.0"), ("THROW_ON_OVERLOAD", "1")];
        let mut client = Client::started_with(&port, 4, &options).await;
        port.node.hold();
        send_all(&mut client, &[1, 2]).await;
        let refused = client.receive().await;
        assert_eq!((refused.stream, refused.error().0), (2, 0x1001));
        port.node.release();
        assert_eq!(receive_all(&mut client, 1).await, [1]);
    });
}

#[test]
fn answers_reach_a_client_that_closed_its_sending_side() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        port.node.hold();
        send_all(&mut client, &[1, 2]).await;
        client.stream.shutdown().await.expect("shutdown");
        until(|| port.node.held() == 2).await;
        port.node.release();
        assert_eq!(receive_all(&mut client, 2).await, [1, 2]);
        assert!(client.is_closed().await);
    });
}

#[test]
fn client_that_left_is_forgotten_once_its_requests_are_done() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        port.node.hold();
        send_all(&mut client, &[1, 2]).await;
        until(|| port.node.held() == 2).await;
        drop(client);
        port.node.release();
        until(|| port.handle.connections() == 0 && port.handle.in_flight() == 0).await;
    });
}

#[test]
fn stopping_lets_requests_under_way_finish() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        port.node.hold();
        send_all(&mut client, &[1]).await;
        until(|| port.node.held() == 1).await;
        port.handle.stop();
        send_all(&mut client, &[2]).await;
        let refused = client.receive().await;
        assert_eq!((refused.stream, refused.error().0), (2, 0x1001));
        port.node.release();
        assert_eq!(receive_all(&mut client, 1).await, [1]);
        assert!(client.is_closed().await);
    });
}

#[test]
fn registered_clients_hear_of_every_schema_change_once() {
    with_port(PortConfig::default(), async |port| {
        let mut listener = Client::started(&port, 5).await;
        listener.send(1, opcode::REGISTER, b"\0\x01\0\x0dSCHEMA_CHANGE").await;
        assert_eq!(listener.receive().await.opcode, opcode::READY);
        let mut client = Client::with_table(&port, 4).await;
        assert_eq!(client.query(&TABLE.replace("TABLE", "TABLE IF NOT EXISTS")).await.kind(), 1);
        port.handle.schema_changed();
        assert_eq!(client.query("DROP KEYSPACE k").await.kind(), 5);
        for expected in
            [&["CREATED", "KEYSPACE", "k"][..], &["CREATED", "TABLE", "k", "t"], &["DROPPED", "KEYSPACE", "k"]]
        {
            let event = listener.receive().await;
            assert_eq!((event.stream, event.opcode), (-1, opcode::EVENT));
            let mut reader = Reader::new(&event.body);
            assert_eq!(reader.string("type"), Ok("SCHEMA_CHANGE"));
            assert!(expected.iter().all(|word| reader.string("word") == Ok(*word)) && reader.is_empty());
        }
    });
}

#[test]
fn registered_clients_hear_of_nodes() {
    with_port(PortConfig::default(), async |port| {
        let mut listener = Client::started(&port, 4).await;
        listener.send(1, opcode::REGISTER, b"\0\x01\0\x0dSTATUS_CHANGE").await;
        assert_eq!(listener.receive().await.opcode, opcode::READY);
        port.handle.status_changed(SocketAddr::from(([10, 0, 0, 7], 9042)), false);
        Client::with_table(&port, 4).await;
        port.handle.status_changed(SocketAddr::from(([10, 0, 0, 7], 9042)), true);
        for word in ["DOWN", "UP"] {
            let event = listener.receive().await;
            let mut reader = Reader::new(&event.body);
            assert_eq!((reader.string("type"), reader.string("word")), (Ok("STATUS_CHANGE"), Ok(word)));
            assert_eq!(reader.rest(), [4, 10, 0, 0, 7, 0, 0, 0x23, 0x52]);
        }
    });
}

#[test]
fn schema_statement_answers_with_a_warning_when_nodes_lag() {
    let config = PortConfig { schema_agreement_timeout: Duration::from_millis(5), ..PortConfig::default() };
    with_port(config, async |port| {
        let mut client = Client::started(&port, 4).await;
        port.node.set_agrees(false);
        let answer = client.query(KEYSPACE).await;
        assert_eq!((answer.opcode, answer.flags), (opcode::RESULT, flag::WARNINGS));
        let mut reader = Reader::new(&answer.body);
        let warnings = reader.string_list("warnings").expect("warnings");
        assert!(warnings[0].contains("schema version 1"), "{warnings:?}");
        assert_eq!(reader.i32("kind"), Ok(5));
    });
}

#[test]
fn requests_held_up_by_unread_answers_are_served_later() {
    let config = PortConfig { output_pause_bytes: 10, ..PortConfig::default() };
    with_port(config, async |port| {
        for version in [4, 5] {
            let mut client = Client::started(&port, version).await;
            let body = client.query_body("SELECT * FROM system_schema.columns");
            let all: Vec<u8> = (0..200).flat_map(|stream| client.envelope(stream, 0, opcode::QUERY, &body)).collect();
            client.send_envelopes(&all).await;
            for stream in 0..200 {
                assert_eq!(client.receive().await.stream, stream);
            }
        }
    });
}

#[test]
fn unfinished_requests_are_bounded_over_all_connections() {
    let config = PortConfig { input_max_bytes: 100_000, ..PortConfig::default() };
    with_port(config, async |port| {
        let mut first = Client::started(&port, 4).await;
        let whole = first.query_body(&format!("USE system {}", " ".repeat(60_000)));
        let whole = first.envelope(1, 0, opcode::QUERY, &whole);
        first.send_bytes(&whole[..60_000]).await;
        let mut second = Client::started(&port, 4).await;
        second.send_bytes(&whole[..60_000]).await;
        assert_eq!(second.receive().await.error().0, 0x1001);
        assert!(second.is_closed().await);
        first.send_bytes(&whole[60_000..]).await;
        assert_eq!(first.receive().await.kind(), 3);
    });
}
