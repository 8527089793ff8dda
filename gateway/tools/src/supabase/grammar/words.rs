//! Cuts a question into words, numbers, dates, quoted texts and signs. What it means is for others.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    Date,
    Quoted,
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    /// As written; of a quoted text what stands between the quotes.
    pub text: String,
    pub lower: String,
}

impl Token {
    fn new(kind: Kind, text: &str) -> Self {
        Self { kind, text: text.to_owned(), lower: text.to_lowercase() }
    }
}

/// Longest first, so that `>=` is not `>` and `=`.
const SIGNS: [&str; 10] = ["!=", "<>", "<=", ">=", "=", "<", ">", ",", "(", ")"];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after = if matches!(first, '\'' | '"') {
            let (token, after) = quoted(rest, first)?;
            found.push(token);
            after
        } else if starts_value(rest) {
            let (piece, after) = rest.split_at(piece_end(rest));
            found.push(Token::new(kind_of(piece)?, piece));
            after
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push(Token::new(Kind::Sign, sign));
            rest.strip_prefix(sign).unwrap_or_default()
        } else if rest.trim_end().chars().all(|c| matches!(c, '.' | '?' | '!')) {
            ""
        } else {
            return Err(strange(first));
        };
        rest = after.trim_start();
    }
    Ok(found)
}

fn strange(character: char) -> String {
    match character {
        ';' => "`;` is not understood: one question at a time".into(),
        '*' => "`*` is not understood: columns are always named one by one".into(),
        other => format!("the character `{}` is not understood", other.escape_default()),
    }
}

fn starts_value(rest: &str) -> bool {
    let mut characters = rest.chars();
    match characters.next() {
        Some('-') => characters.next().is_some_and(|next| next.is_ascii_digit()),
        Some(first) => first.is_alphanumeric() || first == '_',
        None => false,
    }
}

/// Where the word or number ends: marks count only between letters or digits, so that a full stop ends a sentence.
fn piece_end(rest: &str) -> usize {
    let mut characters = rest.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        let inside = match character {
            '_' => true,
            '-' if place == 0 => true,
            '.' | '-' | '@' | '\'' | ':' | '+' => {
                place > 0 && characters.peek().is_some_and(|(_, next)| next.is_alphanumeric() || *next == '_')
            }
            other => other.is_alphanumeric(),
        };
        if !inside {
            return place;
        }
    }
    rest.len()
}

fn kind_of(piece: &str) -> Result<Kind, String> {
    if is_number(piece) {
        return Ok(Kind::Number);
    }
    if day(piece).is_some() || instant(piece).is_some() {
        return Ok(Kind::Date);
    }
    let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let unsigned = piece.strip_prefix('-').unwrap_or(piece);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    if digits(whole) && digits(fraction) {
        return Err(format!("the number `{piece}` is not understood: at most 18 digits, no zeros in front"));
    }
    let mut parts = piece.split('-');
    let dated = [4, 2, 2].iter().all(|long| parts.next().is_some_and(|part| digits(part) && part.len() == *long));
    if dated && parts.next().is_none() {
        return Err(format!("`{piece}` is no day of the calendar"));
    }
    Ok(Kind::Word)
}

fn is_number(piece: &str) -> bool {
    let unsigned = piece.strip_prefix('-').unwrap_or(piece);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    digits(whole)
        && digits(fraction)
        && whole.len() + fraction.len() <= 19
        && (whole.len() == 1 || !whole.starts_with('0'))
}

/// `2026-03-01`
pub(super) fn day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

/// `2026-03-01T08:30`, with or without seconds and offset; without one it is UTC.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    if text.len() < 16 || day(text.get(..10)?).is_none() || !matches!(text.get(10..11)?, "T" | "t" | " ") {
        return None;
    }
    let plain = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    // Times are printed to the second, so a finer one would be another time.
    text.parse::<Timestamp>().ok().or_else(plain).filter(|found| found.subsec_nanosecond() == 0)
}

/// A quote is doubled inside its own quotes, as in SQL.
fn quoted(rest: &str, quote: char) -> Result<(Token, &str), String> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((place, character)) = characters.next() {
        if character != quote {
            text.push(character);
            continue;
        }
        if characters.peek().is_some_and(|(_, next)| *next == quote) {
            characters.next();
            text.push(quote);
            continue;
        }
        let after = rest.get(place + quote.len_utf8()..).unwrap_or_default();
        return Ok((Token::new(Kind::Quoted, &text), after));
    }
    Err("a quote is opened and never closed".into())
}

/// A word as it counts when names are compared: `conversations` is `conversation`, `entries` is `entry`.
pub(super) fn stem(word: &str) -> String {
    if let Some(front) = word.strip_suffix("ies").filter(|front| front.len() > 1) {
        return format!("{front}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(ending) {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    let plural = word.ends_with('s') && !["ss", "us", "sis", "xis"].iter().any(|ending| word.ends_with(ending));
    match word.strip_suffix('s').filter(|front| plural && front.len() > 1) {
        Some(front) => front.to_owned(),
        None => word.to_owned(),
    }
}

/// The words a name is made of, in lower case: `agent_conversations`, `agentConversations`, `Agent Conversations`.
pub(super) fn parts(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut before_lower = false;
    for character in name.chars() {
        let starts = character.is_uppercase() && before_lower;
        if (starts || !character.is_alphanumeric()) && !part.is_empty() {
            found.push(std::mem::take(&mut part));
        }
        if character.is_alphanumeric() {
            part.extend(character.to_lowercase());
        }
        before_lower = character.is_lowercase() || character.is_ascii_digit();
    }
    if !part.is_empty() {
        found.push(part);
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_question_is_cut_where_a_reader_would_cut_it() {
        use Kind::{Date as D, Number as N, Quoted as Q, Sign as S, Word as W};
        for (text, expected) in [
            ("top 10 users.", vec![(W, "top"), (N, "10"), (W, "users")]),
            ("created_at>=2026-03-01", vec![(W, "created_at"), (S, ">="), (D, "2026-03-01")]),
            ("at 2026-03-01T08:30:00Z?", vec![(W, "at"), (D, "2026-03-01T08:30:00Z")]),
            ("x = 'it''s' , -2.50", vec![(W, "x"), (S, "="), (Q, "it's"), (S, ","), (N, "-2.50")]),
            (
                "\"Order Items\" in (1,2)",
                vec![(Q, "Order Items"), (W, "in"), (S, "("), (N, "1"), (S, ","), (N, "2"), (S, ")")],
            ),
            (
                "public.users billing-helper a@b.example",
                vec![(W, "public.users"), (W, "billing-helper"), (W, "a@b.example")],
            ),
            ("users!?", vec![(W, "users")]),
            ("   ", vec![]),
        ] {
            let found = tokens(text).unwrap();
            let seen: Vec<(Kind, &str)> = found.iter().map(|token| (token.kind, token.text.as_str())).collect();
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_cut_is_named() {
        for (text, expected) in [
            ("users; drop table users", "`;` is not understood: one question at a time"),
            ("select * from users", "`*` is not understood: columns are always named one by one"),
            ("name is 'open", "a quote is opened and never closed"),
            ("a \u{0} b", "the character `\\u{0}` is not understood"),
            ("users -- all", "the character `-` is not understood"),
            ("top 007", "the number `007` is not understood: at most 18 digits, no zeros in front"),
            ("since 2026-02-30", "`2026-02-30` is no day of the calendar"),
            ("users . where", "the character `.` is not understood"),
        ] {
            assert_eq!(tokens(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn names_fall_into_words_and_words_lose_their_plural() {
        for (name, expected) in [
            ("agent_conversations", vec!["agent", "conversations"]),
            ("orderItems", vec!["order", "items"]),
            ("Order Items", vec!["order", "items"]),
            ("kpi-data2", vec!["kpi", "data2"]),
            ("__", vec![]),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
        for (word, expected) in [
            ("conversations", "conversation"),
            ("entries", "entry"),
            ("boxes", "box"),
            ("status", "status"),
            ("addresses", "address"),
            ("analysis", "analysis"),
            ("kpis", "kpi"),
            ("class", "class"),
            ("data", "data"),
            ("s", "s"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }
}
