//! A refused or lost statement in words.

use client::{Class, Error, TXN_ID_KEY};

use crate::caret::explain;
use crate::escape::clean;
use crate::literal::quoted;
use crate::splitter::Statement;

/// Code, message, the place in the source, and how to learn an outcome that is unknown.
pub(crate) fn describe(statement: &Statement, source: Option<&str>, error: &Error) -> String {
    let mut out = match error.server() {
        Some(server) => {
            let message = explain(statement, source, &server.message);
            format!("{:?} (0x{:04x}): {message}", server.code, server.code.number())
        }
        None => format!("error: {}\n", clean(&error.to_string())),
    };
    if error.class() == Class::Unknown {
        out.push_str("The outcome is unknown: the statement may have taken effect, or may still.\n");
        if let Some(id) = error.server().and_then(|server| server.payload.text(TXN_ID_KEY)) {
            let id = quoted(&clean(id));
            out.push_str(&format!("Ask for it: SELECT outcome FROM accord.outcomes WHERE txn_id = {id};\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitter::Place;
    use client::{Detail, ErrorCode, Payload, ServerError};

    fn statement() -> Statement {
        Statement { text: "SELEC 1".to_owned(), start: Place { line: 3, column: 1 } }
    }

    fn server(code: ErrorCode, message: &str, payload: Payload) -> Error {
        let (message, warnings) = (message.to_owned(), Vec::new());
        Error::Server(Box::new(ServerError { code, message, detail: Detail::None, payload, warnings }))
    }

    #[test]
    fn refused_text_is_shown_with_code_and_caret() {
        let error = server(ErrorCode::SyntaxError, "[1:1] no such statement", Payload::default());
        let wanted = "SyntaxError (0x2000): a.cql:3:1: no such statement\n 3 | SELEC 1\n   | ^\n";
        assert_eq!(describe(&statement(), Some("a.cql"), &error), wanted);
    }

    #[test]
    fn unknown_outcome_is_never_told_as_failure() {
        let payload = Payload::default().with(TXN_ID_KEY, b"[1,2,3]".to_vec());
        let text = describe(&statement(), None, &server(ErrorCode::WriteTimeout, "late", payload));
        assert!(text.starts_with("WriteTimeout (0x1100): late\nThe outcome is unknown"), "{text}");
        assert!(text.ends_with("WHERE txn_id = '[1,2,3]';\n"), "{text}");
    }

    #[test]
    fn refusal_has_a_known_outcome() {
        let error = Error::NotSent { reason: "gone\u{1b}".to_owned() };
        assert_eq!(describe(&statement(), None, &error), "error: request not sent: gone\u{fffd}\n");
    }
}
