//! The metrics port: `/metrics`, `/health/live` and `/health/ready` for machines that watch, over as little HTTP/1.1 as that takes.
//!
//! One request per connection, GET and HEAD only, no body read; every request, connection and wait is bounded.

use super::metrics::exposition;
use super::observer::Observer;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

/// Connections at once; one more waits until another is done.
const CONNECTIONS_MAX: usize = 16;

/// *Units*: bytes of request line and headers.
const HEAD_MAX: usize = 8 << 10;

/// Time from connecting to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pause after an accept that failed, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const TEXT: &str = "text/plain; charset=utf-8";
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The port, listening.
pub(crate) struct MetricsPort {
    listener: TcpListener,
    observer: Rc<Observer>,
}

/// What is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

/// What was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked<'a> {
    path: &'a str,
    is_head: bool,
}

impl MetricsPort {
    /// Listens; a port that cannot be had costs the view and not the node.
    pub(crate) async fn bind(address: SocketAddr, observer: Rc<Observer>) -> Option<(Self, SocketAddr)> {
        let bound = TcpListener::bind(address).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
        match bound {
            Ok((address, listener)) => Some((Self { listener, observer }, address)),
            Err(error) => {
                warn!("no metrics port: cannot listen on {address}: {error}; change [metrics] address or port");
                None
            }
        }
    }

    pub(crate) async fn run(self) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            // closed by nobody
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let observer = Rc::clone(&self.observer);
                    spawn_local(async move {
                        if timeout(PATIENCE, serve(stream, &observer)).await.is_err() {
                            debug!("a client of the metrics port was too slow");
                        }
                        drop(permit);
                    });
                }
                Err(error) => {
                    debug!("metrics port: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

async fn serve(mut stream: TcpStream, observer: &Observer) {
    let mut head = Vec::with_capacity(512);
    let (answer, is_head) = match read_head(&mut stream, &mut head).await {
        Ok(true) => match parse(&head) {
            Ok(asked) => (answer(asked.path, observer).await, asked.is_head),
            Err(refused) => (refused, false),
        },
        Ok(false) => (plain("431 Request Header Fields Too Large", "the request is too long\n"), false),
        // whoever left wants no answer
        Err(_) => return,
    };
    let bytes = answer.to_bytes(is_head);
    if let Err(error) = stream.write_all(&bytes).await {
        debug!("a client of the metrics port left: {error}");
    }
    // closing with unread bytes would take the answer back; what the client still sends is let go
    let _ = stream.shutdown().await;
}

/// Reads up to the empty line; false if there is none within the bound.
async fn read_head(stream: &mut TcpStream, head: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut chunk = [0; 1024];
    while head.len() < HEAD_MAX {
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&chunk[..count]);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn parse(head: &[u8]) -> Result<Asked<'_>, Answer> {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&str> = std::str::from_utf8(line).unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else {
        return Err(plain("400 Bad Request", "this is no HTTP request\n"));
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return Err(plain("400 Bad Request", "this is no HTTP/1.1 request for a path\n"));
    }
    let path = target.split('?').next().unwrap_or_default();
    match method {
        "GET" => Ok(Asked { path, is_head: false }),
        "HEAD" => Ok(Asked { path, is_head: true }),
        _ => Err(plain("405 Method Not Allowed", "this port is only read: use GET\n")),
    }
}

async fn answer(path: &str, observer: &Observer) -> Answer {
    match path {
        "/metrics" => Answer { status: "200 OK", kind: EXPOSITION, body: exposition(&observer.samples().await) },
        "/health/live" => health(observer.fatal()),
        "/health/ready" => health(observer.not_ready()),
        _ => plain("404 Not Found", "there are /metrics, /health/live and /health/ready\n"),
    }
}

fn health(trouble: Option<String>) -> Answer {
    match trouble {
        None => plain("200 OK", "ok\n"),
        Some(why) => plain("503 Service Unavailable", &format!("{why}\n")),
    }
}

fn plain(status: &'static str, body: &str) -> Answer {
    Answer { status, kind: TEXT, body: body.to_owned() }
}

impl Answer {
    fn to_bytes(&self, is_head: bool) -> Vec<u8> {
        let Self { status, kind, body } = self;
        let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
        );
        let mut bytes = head.into_bytes();
        if !is_head {
            bytes.extend_from_slice(body.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_without_its_question() {
        let asked = parse(b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n").expect("a request");
        assert_eq!(asked, Asked { path: "/metrics", is_head: false });
        assert!(parse(b"HEAD / HTTP/1.0\r\n\r\n").expect("a request").is_head);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (head, status) in [
            (&b"POST /metrics HTTP/1.1\r\n\r\n"[..], "405"),
            (b"GET /metrics\r\n\r\n", "400"),
            (b"GET metrics HTTP/1.1\r\n\r\n", "400"),
            (b"GET / HTTP/2\r\n\r\n", "400"),
            (b"\xff\xfe\r\n\r\n", "400"),
            (b"", "400"),
        ] {
            let refused = parse(head).expect_err("refused");
            assert!(refused.status.starts_with(status), "{head:?}: {}", refused.status);
        }
    }

    #[test]
    fn an_answer_tells_its_length_and_head_leaves_the_body_out() {
        let answer = health(Some("the node is stopping".to_owned()));
        let text = String::from_utf8(answer.to_bytes(false)).expect("text");
        assert!(
            text.starts_with("HTTP/1.1 503 Service Unavailable\r\n")
                && text.ends_with("\r\n\r\nthe node is stopping\n")
        );
        assert!(text.contains("Content-Length: 21\r\n"), "{text}");
        let head = String::from_utf8(answer.to_bytes(true)).expect("text");
        assert!(text.starts_with(&head) && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[tokio::test]
    async fn a_request_without_end_is_read_up_to_its_bound() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("known");
        let sending = tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("connected");
            let _ = stream.write_all(&[b'a'; 3 * HEAD_MAX]).await;
            stream
        });
        let (mut stream, _) = listener.accept().await.expect("accepted");
        let mut head = Vec::new();
        assert!(!read_head(&mut stream, &mut head).await.expect("bytes"));
        assert!(head.len() < HEAD_MAX + 1024, "{}", head.len());
        drop(sending.await);
    }
}
