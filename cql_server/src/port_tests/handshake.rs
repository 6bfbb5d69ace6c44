use super::*;

/// Field case N01.
#[test]
fn version_not_spoken_gets_one_error_and_the_end() {
    with_port(PortConfig::default(), async |port| {
        for version in [0x42, 0x06, 0x02, 0x7f] {
            let mut client = Client::connect(&port, 5).await;
            client.send_bytes(&[version, 0, 0, 7, 5, 0, 0, 0, 0]).await;
            let answer = client.receive().await;
            assert_eq!((answer.version, answer.stream), (0x85, 7));
            let (code, text) = answer.error();
            assert_eq!(code, 0x000a);
            assert!(text.contains("4/v4, 5/v5"), "{text}");
            assert!(client.is_closed().await);
        }
        let mut client = Client::connect(&port, 4).await;
        client.send(7, opcode::OPTIONS, &[]).await;
        let answer = client.receive().await;
        assert_eq!((answer.version, answer.opcode, answer.stream), (0x84, opcode::SUPPORTED, 7));
    });
}

/// Field case N01, last part.
#[test]
fn version_may_not_change_on_a_connection() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::connect(&port, 5).await;
        client.send(1, opcode::OPTIONS, &[]).await;
        assert_eq!(client.receive().await.opcode, opcode::SUPPORTED);
        client.version = 4;
        client.start(&[("CQL_VERSION", "3.0.0")]).await;
        assert_eq!(client.receive().await.error().0, 0x000a);
        assert!(client.is_closed().await);
    });
}

#[test]
fn only_options_and_startup_come_first() {
    with_port(PortConfig::default(), async |port| {
        for (code, body) in [(opcode::QUERY, &b"\0\0\0\x01q\0\x01\0"[..]), (opcode::REGISTER, b"\0\0"), (0x77, b"")] {
            let mut client = Client::connect(&port, 4).await;
            client.send(1, code, body).await;
            assert_eq!(client.receive().await.error().0, 0x000a);
            assert!(client.is_closed().await);
        }
    });
}

#[test]
fn startup_is_refused_clearly_when_it_asks_too_much() {
    with_port(PortConfig::default(), async |port| {
        let compressed = [("CQL_VERSION", "3.0.0"), ("COMPRESSION", "lz4")];
        for (options, word) in [(&compressed[..], "COMPRESSION"), (&compressed[1..1], "CQL_VERSION")] {
            for version in [4, 5] {
                let mut client = Client::connect(&port, version).await;
                client.start(options).await;
                let (code, text) = client.receive().await.error();
                assert!(code == 0x000a && text.contains(word), "{code:x} {text}");
            }
        }
        let mut client = Client::started(&port, 5).await;
        client.start(&[("CQL_VERSION", "3.0.0")]).await;
        assert_eq!(client.receive().await.error().0, 0x000a);
        assert_eq!(client.query("USE system").await.kind(), 3);
    });
}

/// Field case N07.
#[test]
fn before_startup_lengths_are_short_and_time_is_too() {
    let config = PortConfig { login_timeout: Duration::from_millis(30), ..PortConfig::default() };
    with_port(config, async |port| {
        let mut greedy = Client::connect(&port, 4).await;
        greedy.send_bytes(&[4, 0, 0, 1, 1, 0x7f, 0xff, 0xff, 0xff]).await;
        assert_eq!(greedy.receive().await.error().0, 0x000a);
        assert!(greedy.is_closed().await);
        let mut silent = Client::connect(&port, 4).await;
        assert!(silent.is_closed().await);
        let mut half = Client::connect(&port, 4).await;
        half.send_bytes(&[4, 0, 0]).await;
        assert!(half.is_closed().await);
    });
}

#[test]
fn one_connection_too_many_is_closed() {
    let config = PortConfig { connections_max: 1, ..PortConfig::default() };
    with_port(config, async |port| {
        let first = Client::started(&port, 4).await;
        assert!(Client::connect(&port, 4).await.is_closed().await);
        drop(first);
        while port.handle.connections() > 0 {
            yield_now().await;
        }
        Client::started(&port, 4).await;
    });
}

#[test]
fn unknown_event_type_is_refused() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::started(&port, 5).await;
        client.send(1, opcode::REGISTER, b"\0\x01\0\x03ABC").await;
        assert_eq!(client.receive().await.error().0, 0x000a);
        client.send(1, opcode::REGISTER, b"\0\x01\0\x0dSTATUS_CHANGE").await;
        assert_eq!(client.receive().await.opcode, opcode::READY);
    });
}
