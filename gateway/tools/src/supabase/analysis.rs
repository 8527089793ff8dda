//! Says in figures and in one paragraph what some rows hold. The same rows give the same words.
//!
//! Every number is in the rows or computed from them exactly: decimals are added as decimals, never as floats.

mod columns;
mod numbers;
mod words;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use columns::Column;

/// Rows and columns that are looked at. Of more rows the first ones are, and the answer says so.
const MOST_ROWS: usize = 10_000;
const MOST_COLUMNS: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Cannot analyze: data must be a list of rows")]
pub struct NotRows;

/// `{summary, analysis: {row_count, columns}, prompt?}`
pub fn analyze(data: &Value, prompt: Option<&str>) -> Result<Value, NotRows> {
    let analysis = Analysis::of(data)?;
    let mut answer = Map::new();
    answer.insert("summary".into(), words::paragraph(&analysis).into());
    answer.insert("analysis".into(), analysis.figures());
    if let Some(prompt) = prompt {
        // It chooses nothing here: a reader sees what was asked beside what was computed.
        answer.insert("prompt".into(), prompt.into());
    }
    Ok(Value::Object(answer))
}

#[derive(Debug)]
struct Analysis {
    row_count: usize,
    examined: usize,
    columns: Vec<Column>,
    columns_left_out: usize,
}

impl Analysis {
    fn of(data: &Value) -> Result<Self, NotRows> {
        let listed = rows(data).ok_or(NotRows)?;
        let examined: Vec<&Value> = listed.iter().take(MOST_ROWS).collect();
        let scalars = !examined.is_empty() && examined.iter().all(|row| !row.is_object() && !row.is_array());
        if !scalars && !examined.iter().all(|row| row.is_object()) {
            return Err(NotRows);
        }
        let (columns, columns_left_out) =
            if scalars { (vec![Column::of("value", examined.iter().copied())], 0) } else { by_name(&examined) };
        Ok(Self { row_count: listed.len(), examined: examined.len(), columns, columns_left_out })
    }

    fn figures(&self) -> Value {
        let columns: Vec<Value> = self.columns.iter().map(Column::figures).collect();
        let mut figures = Map::new();
        figures.insert("row_count".into(), self.row_count.into());
        if self.examined < self.row_count {
            figures.insert("rows_examined".into(), self.examined.into());
        }
        if self.columns_left_out > 0 {
            figures.insert("columns_left_out".into(), self.columns_left_out.into());
        }
        figures.insert("columns".into(), json!(columns));
        Value::Object(figures)
    }
}

/// A list, or what a query tool answers with.
pub(super) fn rows(data: &Value) -> Option<&Vec<Value>> {
    match data {
        Value::Array(rows) => Some(rows),
        Value::Object(answer) => ["data", "rows", "results"].iter().find_map(|key| answer.get(*key)?.as_array()),
        _ => None,
    }
}

/// Columns in the order in which the rows first have them.
fn by_name(rows: &[&Value]) -> (Vec<Column>, usize) {
    let mut names: Map<String, Value> = Map::new();
    let mut left_out: Map<String, Value> = Map::new();
    for name in rows.iter().filter_map(|row| row.as_object()).flat_map(Map::keys) {
        if names.contains_key(name) {
            continue;
        }
        let kept = if names.len() < MOST_COLUMNS { &mut names } else { &mut left_out };
        kept.insert(name.clone(), Value::Null);
    }
    let values = |name: &str| {
        let name = name.to_owned();
        rows.iter().map(move |row| row.get(&name).unwrap_or(&Value::Null))
    };
    (names.keys().map(|name| Column::of(name, values(name))).collect(), left_out.len())
}
