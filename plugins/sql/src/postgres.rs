//! PostgreSQL, read with its own grammar.
//!
//! `pg_query` parses; whatever it offers beyond the tree is not used, because its walks skip kinds of nodes. Ours (`walk`)
//! lists every kind it understands and refuses the rest, so that a grammar that grows is a refusal and not a hole. The tree is
//! taken as bytes and read here (`tree`), which is a good part of the speed.

mod attributes;
mod casts;
mod documents;
mod found;
mod functions;
mod names;
mod outputs;
mod ranges;
mod statement;
mod tables;
mod tree;
mod types;
mod walk;
mod words;

use pg_query::ParserOptions;
use pg_query::protobuf::Token;

use crate::{Ask, Class, DialectList, Kind, Read, Refusal, Rule};
use walk::Walk;

/// Parentheses and brackets that may be open at once. What the tree may hold is far less; this spares the parser.
const OPEN: usize = 1_000;
/// Operator characters that may stand in a row. The scanner takes a row whole, gives most of it back and begins again, so that
/// 100 KB of `/*/*/*` or `++++` keep it busy for a minute.
const RUN: usize = 128;

pub fn read(text: &str, ask: &Ask<'_>, list: &DialectList) -> Read {
    let shape = Shape::of(text);
    if shape.open > OPEN {
        return too_deep();
    }
    if shape.run > RUN {
        return Read::invalid(Rule::TooLong, format!("more than {RUN} operator characters stand in a row"));
    }
    let read = read_as(text, ask, list, ParserOptions::DEFAULT);
    if !read.allowed() || !text.contains('\\') {
        return read;
    }
    if strings_end_alike(text) {
        return read;
    }
    // Some string ends elsewhere for a server with `standard_conforming_strings = off`: what does that server see?
    let escaped = read_as(text, ask, list, ParserOptions::DISABLE_STANDARD_CONFORMING_STRINGS);
    match &escaped.refused {
        None => read,
        // No statement at all.
        Some(refusal) if refusal.rule == Rule::Syntax && refusal.reason.contains(UNTERMINATED) => read,
        Some(_) => Read::refused(
            Class::SideEffect,
            Kind::Unknown,
            Rule::Ambiguous,
            "a backslash before a quote makes this another statement for a server with `standard_conforming_strings = off`: \
             write the string as E'..', with the backslash doubled",
        ),
    }
}

/// Whether this is a statement to PostgreSQL's grammar.
pub fn parses(text: &str) -> bool {
    let shape = Shape::of(text);
    let parses = || {
        let bytes = ParserOptions::DEFAULT.tree(text).ok()?;
        tree::read(&bytes).ok().map(|tree| !tree.stmts.is_empty())
    };
    shape.open <= OPEN && shape.run <= RUN && !text.contains('\0') && parses().unwrap_or(false)
}

/// Whether a backslash ends no string early or late where it escapes: then only what strings say could differ.
fn strings_end_alike(text: &str) -> bool {
    let Ok(scanned) = pg_query::scan(text) else {
        return false;
    };
    scanned.tokens.iter().filter(|token| [Token::Sconst, Token::Usconst].contains(&token.token())).all(|token| {
        let bounds = usize::try_from(token.start).ok().zip(usize::try_from(token.end).ok());
        let Some(string) = bounds.and_then(|(start, end)| text.get(start..end)) else {
            return false;
        };
        string.starts_with(['e', 'E', '$']) || !has_escaped_quote(string)
    })
}

/// A quote behind an odd number of backslashes.
fn has_escaped_quote(string: &str) -> bool {
    let mut backslashes = 0_usize;
    for byte in string.bytes() {
        match byte {
            b'\\' => backslashes += 1,
            b'\'' if backslashes % 2 == 1 => return true,
            _ => backslashes = 0,
        }
    }
    false
}

const UNTERMINATED: &str = "unterminated quoted";

fn read_as(text: &str, ask: &Ask<'_>, list: &DialectList, options: ParserOptions) -> Read {
    let bytes = match options.tree(text) {
        Ok(bytes) => bytes,
        Err(error) => return not_parsed(&error),
    };
    let Ok(tree) = tree::read(&bytes) else {
        return Read::invalid(Rule::Syntax, "the statement could not be read");
    };
    let mut walk = Walk::new(ask, list);
    for statement in &tree.stmts {
        walk.statement(statement);
    }
    let several = match tree.stmts.as_slice() {
        [] => return Read::invalid(Rule::Syntax, "there is no statement in the text"),
        [_] => None,
        _ if ask.several => None,
        _ => Some(Refusal {
            rule: Rule::Several,
            reason: "the text holds several statements: send one at a time".to_owned(),
        }),
    };
    walk.verdict(several)
}

fn not_parsed(error: &pg_query::Error) -> Read {
    let told = error.to_string();
    // The limits of the parser, and of what writes its tree down.
    if ["stack depth", "memory exhausted", "nested too deeply"].iter().any(|limit| told.contains(limit)) {
        return too_deep();
    }
    // What follows may be a piece of somebody's data.
    let told = told.trim_start_matches("Invalid statement: ");
    let short = told.find(" at or near ").or_else(|| told.find('"')).and_then(|end| told.get(..end)).unwrap_or(told);
    Read::invalid(Rule::Syntax, format!("PostgreSQL's grammar does not read it: {short}"))
}

fn too_deep() -> Read {
    Read::invalid(Rule::TooDeep, "the statement is nested too deeply: break it into smaller ones")
}

/// What the text looks like before anybody parses it. Strings and comments count as well, which only refuses more.
struct Shape {
    /// Parentheses and brackets that are open at the deepest place.
    open: usize,
    /// The longest row of characters that operators are made of.
    run: usize,
}

impl Shape {
    fn of(text: &str) -> Self {
        let (mut open, mut run) = (0_usize, 0_usize);
        let mut shape = Self { open: 0, run: 0 };
        for byte in text.bytes() {
            match byte {
                b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'+' | b'-' | b'*' | b'/' | b'%'
                | b'<' | b'>' | b'=' => {
                    run += 1;
                    shape.run = shape.run.max(run);
                    continue;
                }
                b'(' | b'[' => {
                    open += 1;
                    shape.open = shape.open.max(open);
                }
                b')' | b']' => open = open.saturating_sub(1),
                _ => {}
            }
            run = 0;
        }
        shape
    }
}
