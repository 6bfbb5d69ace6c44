//! The line below an answer: what was done, on which path, in what time.

use std::time::Duration;

use client::{Answer, PATH_KEY, Response};

use crate::escape::escape;

/// `(2 rows)  fast path, 1.234 ms`, or what stands for the rows of an answer that has none.
pub(crate) fn line(response: &Response, took: Duration) -> String {
    let path = response.payload.text(PATH_KEY).filter(|path| !path.is_empty());
    let path = path.map_or_else(String::new, |path| format!("{} path, ", escape(path)));
    format!("{}  {path}{:.3} ms\n", what(&response.answer), took.as_secs_f64() * 1000.0)
}

fn what(answer: &Answer) -> String {
    match answer {
        Answer::Rows(rows) if rows.len() == 1 => "(1 row)".to_owned(),
        Answer::Rows(rows) => format!("({} rows)", rows.len()),
        Answer::SetKeyspace(keyspace) => format!("using keyspace {}", escape(keyspace)),
        Answer::SchemaChange(change) => {
            let dot = if change.name.is_empty() { "" } else { "." };
            let (what, target) = (change.change.to_lowercase(), change.target.to_lowercase());
            escape(&format!("{what} {target} {}{dot}{}", change.keyspace, change.name)).into_owned()
        }
        _ => "ok".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::{Payload, SchemaChange};

    #[test]
    fn path_and_latency_follow_what_was_done() {
        let payload = Payload::default().with(PATH_KEY, b"fast".to_vec());
        let response = Response { answer: Answer::Void, payload, warnings: Vec::new() };
        assert_eq!(line(&response, Duration::from_micros(1500)), "ok  fast path, 1.500 ms\n");
    }

    #[test]
    fn answer_without_a_path_has_none() {
        let change = |target: &str, name: &str| SchemaChange {
            change: "CREATED".to_owned(),
            target: target.to_owned(),
            keyspace: "k".to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(what(&Answer::SchemaChange(change("TABLE", "t"))), "created table k.t");
        let answer = Answer::SchemaChange(change("KEYSPACE", ""));
        let response = Response { answer, payload: Payload::default(), warnings: Vec::new() };
        assert_eq!(line(&response, Duration::ZERO), "created keyspace k  0.000 ms\n");
    }
}
