//! Statements: whatever the text, the guard answers, the same each time, and what it lets pass is one read.

use std::sync::OnceLock;

use gateway_sql::{Ask, Dialect, Guard, Lists, WrittenList};

use super::{Outcome, ensure, taken, two_parts};

const POSTGRES: &str = include_str!("../../../policies/sql/postgres.yaml");

/// The first line names the dialect, PostgreSQL's if it is none; the rest is the text.
pub fn read(input: &[u8]) -> Outcome {
    let (line, text) = two_parts(input);
    let dialect = String::from_utf8_lossy(line).parse().unwrap_or(Dialect::Postgres);
    let text = String::from_utf8_lossy(text);
    let guard = guard()?;
    let ask = Ask::of(dialect);
    let read = guard.read_anew(&text, &ask);
    ensure(guard.read_anew(&text, &ask) == read, || "the same text is read in two ways".into())?;
    ensure(read.refused.is_some() || read.beyond_writing.is_none(), || format!("{read:?} is allowed and refused"))?;
    if read.allowed() {
        ensure(read.class.as_str() == "read", || format!("{read:?} is allowed"))?;
        let longer = format!("{text}\n; drop table t");
        ensure(!guard.read_anew(&longer, &ask).allowed(), || "a second statement is not seen".into())?;
        let unlisted = guard.read_anew(&text, &Ask { tables: Some(&[]), ..ask });
        ensure(!unlisted.allowed() || read.tables.is_empty(), || format!("{:?} may be read of none", read.tables))?;
    }
    let rule = read.refused.as_ref().map(|refusal| refusal.rule.as_str());
    Ok(taken((dialect, read.class.as_str(), rule, read.tables.len().min(4))))
}

fn guard() -> Result<&'static Guard, String> {
    static GUARD: OnceLock<Result<Guard, String>> = OnceLock::new();
    let made = GUARD.get_or_init(|| {
        let postgres: WrittenList = serde_saphyr::from_str(POSTGRES).map_err(|error| error.to_string())?;
        Ok(Guard::new(Lists { postgres: postgres.into(), ..Lists::default() }))
    });
    made.as_ref().map_err(Clone::clone)
}
