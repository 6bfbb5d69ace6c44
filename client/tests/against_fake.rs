//! The client against a server with a codec of its own, over real sockets, in both protocol versions.

mod fake;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::{
    Answer, Class, ConnectOptions, Connection, Credentials, Detail, Error, ErrorCode, Payload, RequestOptions, Session,
    SessionOptions, Version, bigint, decode_bigint, text,
};
use fake::{Ask, Body, FakeServer, Reply};

fn options(version: Version) -> ConnectOptions {
    ConnectOptions { version, ..ConnectOptions::default() }
}

/// Long enough that it only runs out when an answer never comes.
fn patient() -> RequestOptions {
    RequestOptions { timeout: Some(Duration::from_secs(30)), ..RequestOptions::default() }
}

fn impatient() -> RequestOptions {
    RequestOptions { timeout: Some(Duration::from_millis(20)), ..RequestOptions::default() }
}

/// Answers a statement with its first value, under one bigint column.
fn echo(ask: &Ask) -> Reply {
    Reply::rows(&[("v", 2)], vec![vec![ask.values.first().cloned().flatten()]])
}

fn single(outcome: Result<client::Response, Error>) -> Option<i64> {
    let response = outcome.expect("an answer");
    response.rows().expect("rows").row(0).expect("one row").bigint(0).expect("a bigint")
}

const BOTH: [Version; 2] = [Version::V4, Version::V5];

#[tokio::test]
async fn values_and_payload_arrive_as_sent_and_come_back() {
    for version in BOTH {
        let server = FakeServer::start(|ask| {
            assert_eq!(ask.values[1..], [text("x"), None]);
            assert_eq!(ask.payload, [("accord.trace".to_owned(), vec![])]);
            let mut reply = echo(ask).with_payload("accord.path", "fast");
            reply.warnings.push("careful".to_owned());
            reply
        })
        .await;
        let connection = Connection::connect(&server.address, &options(version)).await.expect("connected");
        let traced = RequestOptions { payload: Payload::trace(), ..patient() };
        let response = connection.query("SELECT ?", &[bigint(-5), text("x"), None], &traced).await.expect("rows");
        assert_eq!(response.payload.text("accord.path"), Some("fast"));
        assert_eq!(response.warnings, ["careful"]);
        assert_eq!(single(Ok(response)), Some(-5));
    }
}

#[tokio::test]
async fn each_result_kind_is_told() {
    let server = FakeServer::start(|ask| match ask.text.as_str() {
        "use" => Reply::new(Body::SetKeyspace("bank".into())),
        "create" => Reply::new(Body::SchemaChange(["CREATED", "TABLE", "bank", "t"].map(str::to_owned).into())),
        _ => Reply::void(),
    })
    .await;
    let connection = Connection::connect(&server.address, &options(Version::V5)).await.expect("connected");
    let answer = async |text: &str| connection.query(text, &[], &patient()).await.expect("an answer").answer;
    assert!(matches!(answer("other").await, Answer::Void));
    assert!(matches!(answer("use").await, Answer::SetKeyspace(keyspace) if keyspace == "bank"));
    assert!(matches!(answer("create").await, Answer::SchemaChange(change) if change.name == "t"));
}

#[tokio::test]
async fn answers_out_of_order_find_their_callers() {
    for version in BOTH {
        // Everything but value 63 is held back until 63 is answered.
        let server = FakeServer::start(|ask| {
            let last = ask.values[0] == bigint(63);
            Reply { held: !last, ..echo(ask) }
        })
        .await;
        let connection = Connection::connect(&server.address, &options(version)).await.expect("connected");
        let mut tasks = tokio::task::JoinSet::new();
        for value in 0..64 {
            let connection = connection.clone();
            tasks.spawn(async move { (value, single(connection.query("?", &[bigint(value)], &patient()).await)) });
        }
        let answers = tasks.join_all().await;
        assert_eq!(answers.len(), 64);
        assert!(answers.iter().all(|(asked, got)| Some(*asked) == *got));
    }
}

#[tokio::test]
async fn a_large_request_and_a_large_answer_cross_segment_borders() {
    for version in BOTH {
        let server = FakeServer::start(echo).await;
        let connection = Connection::connect(&server.address, &options(version)).await.expect("connected");
        for length in [131_000, 131_071, 131_072, 400_000] {
            let value = Some((0..length).map(|at: u32| (at % 251) as u8).collect::<Vec<_>>());
            let response = connection.query("?", std::slice::from_ref(&value), &patient()).await.expect("rows");
            assert_eq!(response.rows().unwrap().row(0).unwrap().bytes(0), value.as_deref());
        }
    }
}

#[tokio::test]
async fn errors_carry_code_class_and_payload() {
    let server = FakeServer::start(|ask| match ask.text.as_str() {
        "full" => Reply::error(0x1001, "backlog"),
        _ => {
            let extra = [0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 3, b'C', b'A', b'S'].to_vec();
            Reply::new(Body::Error(0x1100, "txn [1,2,3]".into(), extra)).with_payload("accord.txn_id", "[1,2,3]")
        }
    })
    .await;
    let connection = Connection::connect(&server.address, &options(Version::V5)).await.expect("connected");
    let refused = connection.query("full", &[], &patient()).await.expect_err("an error");
    assert_eq!((refused.class(), refused.server().unwrap().code), (Class::DefiniteNo, ErrorCode::Overloaded));
    let unknown = connection.query("slow", &[], &patient()).await.expect_err("an error");
    assert_eq!(unknown.class(), Class::Unknown);
    let server_error = unknown.server().unwrap();
    assert_eq!(server_error.payload.text("accord.txn_id"), Some("[1,2,3]"));
    assert!(matches!(&server_error.detail, Detail::Timeout { write_type, .. } if write_type == "CAS"));
    assert!(connection.is_live(), "an error answer must not end the connection");
}

#[tokio::test]
async fn a_timed_out_stream_id_is_not_used_again_before_its_answer() {
    // "hold" keeps its answer back until the next request was answered: it comes late, after its caller left.
    let server = FakeServer::start(|ask| Reply { held: ask.text == "hold", ..echo(ask) }).await;
    let connect = ConnectOptions { in_flight_max: 8, ..options(Version::V4) };
    let connection = Connection::connect(&server.address, &connect).await.expect("connected");
    for round in 0..100 {
        let late = connection.query("hold", &[bigint(-1)], &impatient()).await;
        assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
        assert_eq!(single(connection.query("?", &[bigint(round)], &patient()).await), Some(round));
    }
}

#[tokio::test]
async fn too_many_unanswered_ids_end_the_connection() {
    let server = FakeServer::start(|_| Reply::new(Body::Silence)).await;
    let connect = ConnectOptions { in_flight_max: 8, ..options(Version::V5) };
    let connection = Connection::connect(&server.address, &connect).await.expect("connected");
    for _ in 0..2 {
        let outcome = connection.query("?", &[], &impatient()).await;
        assert!(matches!(outcome, Err(Error::Timeout { .. })));
    }
    assert!(connection.ended().await.contains("stream ids"));
    let refused = connection.query("?", &[], &patient()).await.expect_err("worn out");
    assert_eq!(refused.class(), Class::DefiniteNo);
}

#[tokio::test]
async fn a_lost_connection_leaves_sent_requests_unknown() {
    let server = FakeServer::start(|_| Reply::new(Body::Close)).await;
    let connection = Connection::connect(&server.address, &options(Version::V5)).await.expect("connected");
    let lost = connection.query("?", &[], &patient()).await.expect_err("closed");
    assert!(matches!(lost, Error::ConnectionLost { .. }));
    assert_eq!(lost.class(), Class::Unknown);
    let refused = connection.query("?", &[], &patient()).await.expect_err("closed");
    assert!(matches!(refused, Error::NotSent { .. }));
}

#[tokio::test]
async fn a_login_is_asked_for_given_and_refused() {
    for version in BOTH {
        let server = FakeServer::listen("127.0.0.1:0", Some("org.example.Password"), echo).await;
        let mut connect = options(version);
        let missing = Connection::connect(&server.address, &connect).await.expect_err("needs a login");
        assert!(matches!(&missing, Error::Auth { reason, .. } if reason.contains("org.example.Password")));
        connect.credentials = Some(Credentials { user: "alice".into(), password: "wrong".into() });
        let wrong = Connection::connect(&server.address, &connect).await.expect_err("wrong");
        assert!(matches!(&wrong, Error::Auth { reason, .. } if reason == "wrong password"), "{wrong}");
        connect.credentials = Some(Credentials { user: "alice".into(), password: "secret".into() });
        let connection = Connection::connect(&server.address, &connect).await.expect("logged in");
        assert_eq!(single(connection.query("?", &[bigint(4)], &patient()).await), Some(4));
    }
}

#[tokio::test]
async fn a_session_prepares_once_and_again_where_the_server_forgot() {
    for version in BOTH {
        let server = FakeServer::start(|ask| {
            assert!(ask.is_execute);
            echo(ask)
        })
        .await;
        let mut session = SessionOptions::new(vec![server.address.clone()]);
        session.connect.version = version;
        let session = Session::connect(session).await.expect("connected");
        let statement = session.prepare("SELECT v FROM t WHERE k = ?").await.expect("prepared");
        session.prepare("SELECT v FROM t WHERE k = ?").await.expect("from the cache");
        assert_eq!(server.prepare_count(), 1);
        assert_eq!(single(session.execute(&statement, &[bigint(1)], &patient()).await), Some(1));
        server.forget_statements();
        assert_eq!(single(session.execute(&statement, &[bigint(2)], &patient()).await), Some(2));
        assert_eq!(server.prepare_count(), 2);
        let columns = &statement.current().columns;
        assert_eq!(columns.len(), if version == Version::V5 { 1 } else { 0 }, "v5 follows changed metadata");
        let short = session.execute(&statement, &[], &patient()).await;
        assert!(matches!(short, Err(Error::ValueCount { wanted: 1, got: 0 })));
    }
}

#[tokio::test]
async fn a_session_goes_round_the_nodes_and_past_a_dead_one() {
    let counts = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let mut servers = vec![];
    for count in &counts {
        let count = count.clone();
        let handler = move |ask: &Ask| {
            count.fetch_add(1, Ordering::Relaxed);
            echo(ask)
        };
        servers.push(FakeServer::start(handler).await);
    }
    let contacts = servers.iter().map(|server| server.address.clone()).collect();
    let session = Session::connect(SessionOptions::new(contacts)).await.expect("connected");
    for value in 0..10 {
        assert_eq!(single(session.query("?", &[bigint(value)], &patient()).await), Some(value));
    }
    assert_eq!(counts.each_ref().map(|count| count.load(Ordering::Relaxed)), [5, 5]);
    let dying = session.connection().expect("live");
    let (at, _) =
        servers.iter().enumerate().find(|(_, server)| server.address == dying.address()).expect("one of them");
    drop(servers.remove(at));
    dying.ended().await;
    for value in 0..4 {
        assert_eq!(single(session.query("?", &[bigint(value)], &patient()).await), Some(value));
    }
}

#[tokio::test]
async fn a_session_comes_back_to_a_node_that_returns() {
    let server = FakeServer::start(echo).await;
    let session = Session::connect(SessionOptions::new(vec![server.address.clone()])).await.expect("connected");
    let first = session.connection().expect("live");
    server.cut_connections();
    first.ended().await;
    let back = async {
        while session.live_count() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), back).await.expect("reconnected");
    assert_eq!(single(session.query("?", &[bigint(9)], &patient()).await), Some(9));
}

#[tokio::test]
async fn a_stranger_at_a_nodes_address_gets_nothing() {
    let server = FakeServer::start(echo).await;
    let session = Session::connect(SessionOptions::new(vec![server.address.clone()])).await.expect("connected");
    let first = session.connection().expect("live");
    server.join_cluster("another");
    server.cut_connections();
    first.ended().await;
    let refused = async {
        while !session.query("?", &[bigint(1)], &patient()).await.is_err_and(|error| {
            assert_eq!(error.class(), Class::DefiniteNo);
            error.to_string().contains("belongs to cluster \"another\", not \"fake\"")
        }) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), refused).await.expect("refused");
    assert_eq!(session.live_count(), 0);
    server.join_cluster("fake");
    let back = async {
        while session.live_count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), back).await.expect("taken back");
}

#[tokio::test]
async fn nobody_there_is_said_so_at_once() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = Session::connect(SessionOptions::new(vec![unused.to_string()])).await.expect_err("nobody");
    assert!(matches!(&error, Error::Connect { address, .. } if *address == unused.to_string()), "{error}");
    assert!(matches!(Session::connect(SessionOptions::new(vec![])).await, Err(Error::Options { .. })));
}

#[test]
fn a_session_may_move_between_threads() {
    fn needs_send<T: Send + Sync>() {}
    needs_send::<Session>();
    assert!(decode_bigint(&bigint(3).unwrap()).is_ok());
}
