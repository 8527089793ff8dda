//! Statements: whatever the text, the guard answers, the same each time, and what it lets pass is one read.

mod deep;
mod written;

use std::sync::OnceLock;

use gateway_sql::{Ask, Class, Dialect, Guard, Lists, Read, WrittenList, looks_like_sql};

use super::{Outcome, ensure, taken, two_parts};
use crate::random::Random;
use written::acts;

const POSTGRES: &str = include_str!("../../../policies/sql/postgres.yaml");
const SQLITE: &str = include_str!("../../../policies/sql/sqlite.yaml");
const MYSQL: &str = include_str!("../../../policies/sql/mysql.yaml");
const GENERIC: &str = include_str!("../../../policies/sql/generic.yaml");
/// Statements of the corpus that a text is put beside, of those of its dialect.
const BESIDE: usize = 3;
/// One text in so many is read deep inside of itself.
const DEEP: u64 = 16;

/// The first line names the dialect; where it is none, all four read the text. The rest is the text.
pub fn read(input: &[u8]) -> Outcome {
    let (line, text) = two_parts(input);
    let text = String::from_utf8_lossy(text);
    let named = String::from_utf8_lossy(line).parse::<Dialect>();
    let dialects = named.map_or(Dialect::ALL.to_vec(), |dialect| vec![dialect]);
    let guard = guard()?;
    let mut random = Random::of(input);
    let mut how = Vec::new();
    for dialect in dialects {
        let ask = Ask::of(dialect);
        let read = alone(guard, &text, &ask)?;
        beside(guard, &text, &read, &ask, &mut random)?;
        if read.allowed() {
            padded(guard, &text, &read, &ask)?;
        }
        if random.number().is_multiple_of(DEEP) {
            deep::nested(&text, &mut random, |deep| never_acts(guard, deep, &ask))?;
        }
        let rule = read.refused.as_ref().map(|refusal| refusal.rule.as_str());
        how.push((dialect, read.class.as_str(), rule, read.tables.len().min(4)));
    }
    ensure(looks_like_sql(&text) == looks_like_sql(&text), || "looks like SQL once, and then not".into())?;
    Ok(taken((how, looks_like_sql(&text))))
}

/// What holds of every verdict.
fn alone(guard: &Guard, text: &str, ask: &Ask<'_>) -> Result<Read, String> {
    let read = guard.read_anew(text, ask);
    ensure(guard.read_anew(text, ask) == read, || "the same text is read in two ways".into())?;
    let kept = [guard.read(text, ask), guard.read(text, ask)];
    ensure(kept.iter().all(|kept| *kept == read), || format!("read as {read:?} and kept as {kept:?}"))?;
    ensure(read.refused.is_some() || read.beyond_writing.is_none(), || format!("{read:?} is allowed and refused"))?;
    ensure(read.refused.is_none() || read.class == Class::Write || read.beyond_writing.is_some(), || {
        format!("{read:?} would pass a tool that writes")
    })?;
    if read.allowed() {
        ensure(read.class == Class::Read && read.operations.is_empty(), || format!("{read:?} is allowed"))?;
        let unlisted = guard.read_anew(text, &Ask { tables: Some(&[]), ..*ask });
        ensure(!unlisted.allowed() || read.tables.is_empty(), || format!("{:?} may be read of none", read.tables))?;
    }
    Ok(read)
}

/// A statement that acts is seen on either side of a separator. Behind the text only where the text ends as it should: in an open
/// quote it would be words.
fn beside(guard: &Guard, text: &str, read: &Read, ask: &Ask<'_>, random: &mut Random) -> Result<(), String> {
    let acts = acts(guard, ask.dialect)?;
    let acts: Vec<&str> = acts.iter().map(String::as_str).collect();
    for _ in 0..BESIDE {
        let act = random.pick(&acts).unwrap_or_default();
        let separator = random.pick(&[";", "\n;\n", " ; ", ";\t"]).unwrap_or_default();
        let mut texts = vec![format!("{act}{separator}{text}")];
        if read.allowed() {
            texts.push(format!("{text}\n;{act}"));
            texts.push(format!("{text}\n;{act}{separator}{text}"));
        }
        for several in [false, true] {
            let ask = Ask { several, ..*ask };
            for text in &texts {
                let read = guard.read_anew(text, &ask);
                ensure(!read.allowed(), || format!("{}: `{text}` is {read:?}", ask.dialect))?;
                ensure(read.class != Class::Read || !several, || format!("{}: `{text}` reads", ask.dialect))?;
            }
        }
    }
    Ok(())
}

/// Blanks and comments around a read change nothing.
fn padded(guard: &Guard, text: &str, read: &Read, ask: &Ask<'_>) -> Result<(), String> {
    for (before, behind) in [
        ("", " "),
        ("", "\n"),
        ("\n\t ", ""),
        ("", "\n-- over"),
        ("", "\n/* over */ "),
        ("/* begun */\n", ""),
        ("-- begun\n", ""),
    ] {
        let padded = guard.read_anew(&format!("{before}{text}{behind}"), ask);
        ensure(padded == *read, || format!("{read:?}, and between `{before}` and `{behind}` {padded:?}"))?;
    }
    Ok(())
}

/// Whatever stands in it, a nested text is answered.
fn never_acts(guard: &Guard, text: &str, ask: &Ask<'_>) -> Result<(), String> {
    alone(guard, text, ask).map(drop)
}

fn guard() -> Result<&'static Guard, String> {
    static GUARD: OnceLock<Result<Guard, String>> = OnceLock::new();
    let list = |text: &str| serde_saphyr::from_str::<WrittenList>(text).map_err(|error| error.to_string());
    let made = GUARD.get_or_init(|| {
        Ok(Guard::new(Lists {
            postgres: list(POSTGRES)?.into(),
            sqlite: list(SQLITE)?.into(),
            mysql: list(MYSQL)?.into(),
            generic: list(GENERIC)?.into(),
        }))
    });
    made.as_ref().map_err(Clone::clone)
}
