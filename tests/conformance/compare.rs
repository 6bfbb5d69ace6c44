//! Answers held against what is expected of them.

use super::format::{Expected, Order, Outcome};
use super::value::{encode, show};
use super::{cql_type, order};
use client::{Answer, Bind, Column, ColumnType, Prepared, Response, Row, Rows, ServerError};
use toml::Value;

/// What a refusal says that knows nothing of the statement's merits; it must not pass for the error a case expects.
const UNFINISHED: &str = "supported yet";

/// Why a case did not hold.
#[derive(Debug)]
pub(crate) enum Miss {
    /// The server decided otherwise.
    Otherwise(String),
    /// The server decided nothing: the case could not be set up, or the answer is that this is not done yet.
    NoVerdict(String),
}

impl From<String> for Miss {
    fn from(why: String) -> Self {
        Self::Otherwise(why)
    }
}

impl Miss {
    /// The same with the words that lead to it in front.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Otherwise(why) => Self::Otherwise(format!("{place}: {why}")),
            Self::NoVerdict(why) => Self::NoVerdict(format!("{place}: {why}")),
        }
    }
}

/// Whether a refusal only says that the server is not finished.
pub(crate) fn is_unfinished(error: &ServerError) -> bool {
    error.message.contains(UNFINISHED)
}

/// Judges an answer; `prepared` is what PREPARE said of the statement, if it was prepared for good.
///
/// *Errors*: a text that says what was wanted and what came.
pub(crate) fn judge(
    expected: &Expected,
    answer: &Result<Response, ServerError>,
    prepared: Option<&Prepared>,
) -> Result<(), Miss> {
    match answer {
        Err(error) if is_unfinished(error) => Err(Miss::NoVerdict(error.to_string())),
        answer => hold(expected, answer, prepared).map_err(Miss::Otherwise),
    }
}

fn hold(
    expected: &Expected,
    answer: &Result<Response, ServerError>,
    prepared: Option<&Prepared>,
) -> Result<(), String> {
    let outcome = expected.outcome()?;
    let response = match (answer, outcome) {
        (Err(error), Outcome::Error(class)) if error.code.number() == class as i32 => {
            return mentions("error text", &error.message, &expected.mentions);
        }
        (Err(error), outcome) => return Err(format!("wanted {}, got {error}", name(outcome))),
        (Ok(response), Outcome::Error(_)) => {
            return Err(format!("wanted {}, got {}", name(outcome), describe(&response.answer)));
        }
        (Ok(response), _) => response,
    };
    match (&response.answer, outcome) {
        (Answer::Rows(rows), Outcome::Rows(wanted)) => judge_rows(expected, wanted, rows)?,
        (Answer::Void, Outcome::Void) | (_, Outcome::Good) => {}
        (answer, outcome) => return Err(format!("wanted {}, got {}", name(outcome), describe(answer))),
    }
    if let Some(prepared) = prepared {
        judge_announced(expected, outcome, prepared)?;
    }
    mentions("warnings", &response.warnings.join("\n"), &expected.warns)
}

fn name(outcome: Outcome<'_>) -> String {
    match outcome {
        Outcome::Rows(rows) => format!("{} rows", rows.len()),
        Outcome::Void => "Void".to_owned(),
        Outcome::Good => "no error".to_owned(),
        Outcome::Error(class) => format!("error {class:?}"),
    }
}

fn describe(answer: &Answer) -> String {
    match answer {
        Answer::Rows(rows) => format!("rows {}", show_rows(rows)),
        Answer::Void => "Void".to_owned(),
        other => format!("{other:?}"),
    }
}

fn mentions(what: &str, text: &str, words: &[String]) -> Result<(), String> {
    match words.iter().find(|word| !text.contains(word.as_str())) {
        Some(word) => Err(format!("{what} should mention {word:?}: {text:?}")),
        None => Ok(()),
    }
}

/// PREPARE announces the columns of the result, and none if there will be no rows. What a conditional statement returns
/// depends on its outcome, so there is nothing to announce.
fn judge_announced(expected: &Expected, outcome: Outcome<'_>, prepared: &Prepared) -> Result<(), String> {
    if matches!(outcome, Outcome::Void) && !prepared.columns.is_empty() {
        return Err(format!("PREPARE announced columns {:?} of a statement without rows", names(&prepared.columns)));
    }
    match &expected.columns {
        Some(columns) if columns.first().is_none_or(|first| first != "[applied]") => {
            check_names("PREPARE announced columns", columns, &prepared.columns)
        }
        _ => Ok(()),
    }
}

fn judge_rows(expected: &Expected, wanted: &[Vec<Value>], rows: &Rows) -> Result<(), String> {
    let columns = rows.columns();
    if let Some(names) = &expected.columns {
        check_names("columns", names, columns)?;
    }
    if let Some(types) = &expected.types {
        cql_type::check("column types", types, columns)?;
    }
    let wanted_cells = wanted.iter().map(|row| encode_row(row, columns)).collect::<Result<Vec<_>, _>>()?;
    let found: Vec<Row<'_>> = rows.iter().collect();
    let is_good = found.len() == wanted_cells.len()
        && match expected.order {
            Order::AsWritten => wanted_cells.iter().zip(&found).all(|(cells, row)| is_row(cells, row, columns)),
            Order::Any => is_permutation(&wanted_cells, found.clone(), columns),
        };
    let wanted: Vec<String> = wanted.iter().map(|row| Value::Array(row.clone()).to_string()).collect();
    if is_good { Ok(()) } else { Err(format!("rows {}, wanted [{}]", show_rows(rows), wanted.join(", "))) }
}

fn names(columns: &[Column]) -> Vec<&str> {
    columns.iter().map(|column| column.name.as_str()).collect()
}

fn check_names(what: &str, wanted: &[String], columns: &[Column]) -> Result<(), String> {
    let got = names(columns);
    if got == *wanted { Ok(()) } else { Err(format!("{what} {got:?}, wanted {wanted:?}")) }
}

fn encode_row(row: &[Value], columns: &[Column]) -> Result<Vec<Bind>, String> {
    if row.len() != columns.len() {
        return Err(format!("columns {:?}, wanted {} cells", names(columns), row.len()));
    }
    row.iter().zip(columns).map(|(value, column)| encode(value, &column.kind)).collect()
}

fn is_row(cells: &[Bind], row: &Row<'_>, columns: &[Column]) -> bool {
    let mut cells = cells.iter().zip(columns).enumerate();
    cells.all(|(at, (cell, column))| is_cell(cell, row.bytes(at), &column.kind))
}

fn is_permutation(wanted: &[Vec<Bind>], mut left: Vec<Row<'_>>, columns: &[Column]) -> bool {
    wanted.iter().all(|cells| {
        let place = left.iter().position(|row| is_row(cells, row, columns));
        place.map(|place| left.swap_remove(place)).is_some()
    })
}

/// Floats are compared by what they are worth, all else by its bytes.
fn is_cell(wanted: &Bind, got: Option<&[u8]>, kind: &ColumnType) -> bool {
    let (wanted, got) = match (wanted, got) {
        (Bind::Null, None) => return true,
        (Bind::Bytes(wanted), Some(got)) => (wanted.as_slice(), got),
        _ => return false,
    };
    let wide = |raw: &[u8]| match kind {
        ColumnType::Double => order::float64(raw),
        ColumnType::Float => order::float32(raw).map(f64::from),
        _ => None,
    };
    match (wide(wanted), wide(got)) {
        (Some(wanted), Some(got)) => wanted == got || wanted.is_nan() && got.is_nan(),
        _ => wanted == got,
    }
}

fn show_rows(rows: &Rows) -> String {
    let row = |row: Row<'_>| {
        let cells = rows.columns().iter().enumerate().map(|(at, column)| show(&column.kind, row.bytes(at)));
        format!("[{}]", cells.collect::<Vec<_>>().join(", "))
    };
    format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_one_worth_and_a_number_that_is_none_equals_itself() {
        let cell = |number: f64| Bind::Bytes(number.to_be_bytes().to_vec());
        assert!(is_cell(&cell(0.0), Some(&(-0.0f64).to_be_bytes()), &ColumnType::Double));
        assert!(is_cell(&cell(f64::NAN), Some(&f64::NAN.to_be_bytes()), &ColumnType::Double));
        assert!(!is_cell(&cell(1.0), Some(&2f64.to_be_bytes()), &ColumnType::Double));
    }

    #[test]
    fn null_is_not_empty() {
        assert!(!is_cell(&Bind::Null, Some(&[]), &ColumnType::Text));
        assert!(!is_cell(&Bind::Bytes(Vec::new()), None, &ColumnType::Text));
    }
}
