use super::*;

const INSERT: &str = "INSERT INTO k.t (a, b, c) VALUES (?, ?, ?)";
const GET_B: &str = "SELECT b FROM k.t WHERE a = ?";

#[test]
fn rows_come_back_as_written_in_both_versions() {
    for version in [4, 5] {
        with_port(PortConfig::default(), async |port| {
            let mut client = Client::with_table(&port, version).await;
            let (insert, get) =
                (client.prepare(INSERT).await.expect("insert"), client.prepare(GET_B).await.expect("get"));
            // Field case N02: answers at and around the size of a segment, and a request of several.
            for size in [0, 10, 131_024, 131_025, 131_026, 300_000] {
                let (key, text) = (bytes(size as i32), vec![b'x'; size]);
                assert_eq!(client.execute(&insert, &[Some(&key), Some(&text), None]).await.kind(), 1);
                assert_eq!(only_cell(&client.execute(&get, &[Some(&key)]).await), Some(&text[..]));
            }
        });
    }
}

#[test]
fn requests_of_one_segment_are_answered_each() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        let body = client.query_body("SELECT * FROM k.t WHERE a = 1");
        let both = [client.envelope(8, 0, opcode::QUERY, &body), client.envelope(9, 0, opcode::OPTIONS, &[])].concat();
        client.send_envelopes(&both).await;
        let (first, second) = (client.receive().await, client.receive().await);
        assert_eq!((first.stream, first.opcode), (8, opcode::RESULT));
        assert_eq!((second.stream, second.opcode), (9, opcode::SUPPORTED));
    });
}

/// Field case N05.
#[test]
fn same_text_in_two_keyspaces_is_two_statements() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::started(&port, 4).await;
        for (keyspace, value) in [("ks1", "one"), ("ks2", "two")] {
            let create = KEYSPACE.replace(" k ", &format!(" {keyspace} "));
            assert_eq!(client.query(&create).await.kind(), 5);
            assert_eq!(client.query(&TABLE.replace("k.t", &format!("{keyspace}.t"))).await.kind(), 5);
            let insert = format!("INSERT INTO {keyspace}.t (a, b) VALUES (1, '{value}')");
            assert_eq!(client.query(&insert).await.kind(), 1);
        }
        let text = "SELECT b FROM t WHERE a = 1";
        assert_eq!(client.query("USE ks1").await.kind(), 3);
        let one = client.prepare(text).await.expect("in ks1");
        let qualified = client.prepare("SELECT b FROM ks2.t WHERE a = 1").await.expect("qualified");
        assert_eq!(only_cell(&client.execute(&one, &[]).await), Some(&b"one"[..]));
        assert_eq!(client.query("USE ks2").await.kind(), 3);
        let two = client.prepare(text).await.expect("in ks2");
        assert_eq!(only_cell(&client.execute(&two, &[]).await), Some(&b"two"[..]));
        assert_eq!(only_cell(&client.execute(&one, &[]).await), Some(&b"one"[..]));
        assert_ne!(one.id, two.id);
        assert_eq!(client.prepare("SELECT b FROM ks2.t WHERE a = 1").await.expect("again").id, qualified.id);
        let mut other = Client::started(&port, 4).await;
        assert_eq!(other.prepare(text).await.map(|prepared| prepared.id).expect_err("no keyspace").0, 0x2200);
        assert_eq!(other.prepare("SELECT b FROM ks2.t WHERE a = 1").await.expect("fits").id, qualified.id);
    });
}

/// Field case N06.
#[test]
fn null_empty_and_not_set_are_three_things() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 5).await;
        let (insert, get) = (client.prepare(INSERT).await.expect("insert"), client.prepare(GET_B).await.expect("get"));
        let key = bytes(1);
        client.execute(&insert, &[Some(&key), Some(b"text"), Some(&[0; 8])]).await;
        // -2 for the text: left as it was.
        let mut body = client.execute_body(&insert, &[Some(&key), None, Some(&[0; 8])]);
        let length = body.len() - 16;
        body[length..length + 4].copy_from_slice(&bytes(-2));
        client.send(5, opcode::EXECUTE, &body).await;
        assert_eq!(client.receive().await.kind(), 1);
        assert_eq!(only_cell(&client.execute(&get, &[Some(&key)]).await), Some(&b"text"[..]));
        // -3: a protocol error; the next request is still found.
        body[length..length + 4].copy_from_slice(&bytes(-3));
        client.send(5, opcode::EXECUTE, &body).await;
        assert_eq!(client.receive().await.error().0, 0x000a);
        client.execute(&insert, &[Some(&key), Some(b""), Some(&[0; 8])]).await;
        assert_eq!(only_cell(&client.execute(&get, &[Some(&key)]).await), Some(&b""[..]));
        client.execute(&insert, &[Some(&key), None, None]).await;
        assert_eq!(only_cell(&client.execute(&get, &[Some(&key)]).await), None);
        let wrong: [&[Option<&[u8]>]; 6] = [
            &[Some(&[]), None, None],
            &[Some(&[0; 3]), None, None],
            &[Some(&[0; 5]), None, None],
            &[None, None, None],
            &[Some(&key), None],
            &[Some(&key), None, None, None],
        ];
        for values in wrong {
            assert_eq!(client.execute(&insert, values).await.error().0, 0x2200, "{values:?}");
        }
    });
}

/// Field case N04, with a table made anew in place of ALTER.
#[test]
fn columns_that_changed_come_with_the_answer() {
    for version in [4, 5] {
        with_port(PortConfig::default(), async |port| {
            let mut client = Client::with_table(&port, version).await;
            let get = client.prepare("SELECT * FROM k.t WHERE a = ?").await.expect("get");
            let key = bytes(1);
            assert_eq!(client.execute(&get, &[Some(&key)]).await.metadata_flags(), 4);
            assert_eq!(client.query("DROP TABLE k.t").await.kind(), 5);
            assert_eq!(client.execute(&get, &[Some(&key)]).await.error().0, 0x2200);
            assert_eq!(
                client
                    .query("CREATE TABLE k.t (a int PRIMARY KEY, a0 int, b text) WITH transactional_mode = 'full'")
                    .await
                    .kind(),
                5
            );
            let answer = client.execute(&get, &[Some(&key)]).await;
            assert_eq!(answer.metadata_flags(), if version == 5 { 1 | 8 } else { 1 });
            assert!(answer.body.windows(2).any(|name| name == b"a0"));
            if version == 5 {
                let again = client.prepare("SELECT * FROM k.t WHERE a = ?").await.expect("get");
                assert_eq!(again.id, get.id);
                assert_eq!(client.execute(&again, &[Some(&key)]).await.metadata_flags(), 4);
            }
        });
    }
}

#[test]
fn unknown_id_is_answered_with_the_id() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::started(&port, 5).await;
        let unknown = Prepared { id: vec![7; 16], metadata_id: vec![] };
        let answer = client.execute(&unknown, &[]).await;
        assert_eq!(answer.error().0, 0x2500);
        assert!(answer.body.ends_with(&[7; 16]));
        let odd = Prepared { id: vec![7; 3], metadata_id: vec![] };
        assert_eq!(client.execute(&odd, &[]).await.error().0, 0x2500);
    });
}

#[test]
fn values_of_a_query_may_be_named() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 4).await;
        let mut body = Vec::new();
        body.put_bytes(Some(b"INSERT INTO k.t (a, b) VALUES (:key, :text)"));
        body.extend([0, 1, 0x41, 0, 2]);
        body.put_string("text");
        body.put_bytes(Some(b"named"));
        body.put_string("key");
        body.put_bytes(Some(&bytes(5)));
        client.send(2, opcode::QUERY, &body).await;
        assert_eq!(client.receive().await.kind(), 1);
        let get = client.prepare(GET_B).await.expect("get");
        assert_eq!(only_cell(&client.execute(&get, &[Some(&bytes(5))]).await), Some(&b"named"[..]));
        let renamed: Vec<u8> = body.iter().map(|byte| if *byte == b'k' { b'q' } else { *byte }).collect();
        client.send(2, opcode::QUERY, &renamed).await;
        assert_eq!(client.receive().await.opcode, opcode::ERROR);
    });
}

#[test]
fn text_that_comes_again_follows_the_schema() {
    with_port(PortConfig::default(), async |port| {
        let mut client = Client::with_table(&port, 4).await;
        let text = "SELECT * FROM k.t WHERE a = 1";
        for _ in 0..4 {
            assert_eq!(client.query(text).await.kind(), 2);
        }
        assert_eq!(client.query("DROP TABLE k.t").await.kind(), 5);
        assert_eq!(client.query(text).await.error().0, 0x2200);
    });
}
