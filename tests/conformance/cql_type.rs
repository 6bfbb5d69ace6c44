//! Names of types: what a file writes against what the wire can say.

use client::Column;

/// Whether the announced types are these; frozen cannot be told on the wire, and varchar is text.
pub(crate) fn check(what: &str, wanted: &[String], columns: &[Column]) -> Result<(), String> {
    let got: Vec<String> = columns.iter().map(|column| column.kind.to_string()).collect();
    let plain: Vec<String> = wanted.iter().map(|name| announced(name)).collect();
    if plain == got { Ok(()) } else { Err(format!("{what} {got:?}, wanted {wanted:?}")) }
}

/// The name as the protocol announces the type.
fn announced(name: &str) -> String {
    let mut out = name.replace("varchar", "text");
    while let Some(start) = out.find("frozen<") {
        let inside = start + "frozen<".len();
        let end = closing(&out[inside..]).map_or(out.len(), |length| inside + length);
        let rest = out.get(end + 1..).unwrap_or_default();
        out = format!("{}{}{rest}", &out[..start], &out[inside..end]);
    }
    out
}

/// Where the bracket closes that was opened just before.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(at, c)| {
        depth += match c {
            '<' => 1,
            '>' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_is_left_out_wherever_it_stands() {
        assert_eq!(announced("map<text, frozen<list<frozen<set<int>>>>>"), "map<text, list<set<int>>>");
        assert_eq!(announced("frozen<list<varchar>>"), "list<text>");
        assert_eq!(announced("int"), "int");
    }
}
