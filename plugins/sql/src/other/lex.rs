//! Where quotes, comments and statements begin and end, read by the rules of the database itself.
//!
//! The parser's own idea of this is not trusted: both must see the same, and whatever one server could read differently from
//! another (or in another mode) is refused before anything is parsed.

use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Whitespace};

use crate::{Dialect, Rule};

/// Parentheses within parentheses.
const DEEPEST: usize = 32;
/// Tokens without a comma between them: chains of operators become trees as deep as they are long.
const LONGEST_CHAIN: usize = 2000;
/// `UNION` and its kin, in the whole text.
const MOST_SETS: usize = 128;
/// More tables than the databases themselves would join.
const MOST_JOINS: usize = 64;

pub type Fault = (Rule, String);

/// A line and a letter in it, both from 1: the parser counts so as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    line: u64,
    column: u64,
}

impl Spot {
    const FIRST: Self = Self { line: 1, column: 1 };

    fn pass(&mut self, letter: char) {
        match letter {
            '\n' => *self = Self { line: self.line + 1, column: 1 },
            _ => self.column += 1,
        }
    }

    fn of(location: Location) -> Self {
        Self { line: location.line, column: location.column }
    }
}

/// Where each quoted part and each comment begins and ends; all else follows from that, and is counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shape {
    quoted: Vec<(Spot, Spot)>,
    comments: Vec<(Spot, Spot)>,
    semicolons: usize,
    opened: usize,
    closed: usize,
}

fn ambiguous(what: &str) -> Fault {
    (Rule::Ambiguous, format!("{what}, which not every database reads alike"))
}

fn syntax(what: impl Into<String>) -> Fault {
    (Rule::Syntax, what.into())
}

/// The shape of a text, or why it has none that is sure.
pub fn scan(text: &str, dialect: Dialect) -> Result<Shape, Fault> {
    let usual = if dialect == Dialect::Mysql { Escapes::Everywhere } else { Escapes::Nowhere };
    let mut scan = Scan::new(text, dialect, usual);
    scan.whole()?;
    if dialect == Dialect::Mysql && text.contains('\\') {
        // A server may be told that a backslash is a letter like others, or that `"` stands around names, in which it always is.
        for other in [Escapes::Nowhere, Escapes::InTexts] {
            let mut other = Scan::new(text, dialect, other);
            let differs = match other.whole() {
                Ok(()) => other.shape != scan.shape,
                // Where the text then means nothing from its first statement on, nothing happens.
                Err(_) => !other.nonsense || other.shape.semicolons > 0,
            };
            if differs {
                return Err(ambiguous("a backslash stands before a quote"));
            }
        }
    }
    Ok(scan.shape)
}

/// Neither letter nor digit, or a letter that the parser takes for a plain one: to it, `ſelect` is a word of the grammar.
fn is_odd(letter: char) -> bool {
    let becomes_plain = || letter.to_uppercase().chain(letter.to_lowercase()).any(|other| other.is_ascii());
    !letter.is_ascii() && (!letter.is_alphanumeric() || becomes_plain())
}

/// Where a backslash takes the next letter along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Everywhere,
    /// In `'..'` and not in `".."`.
    InTexts,
    Nowhere,
}

struct Scan<'a> {
    rest: &'a str,
    at: Spot,
    dialect: Dialect,
    escapes: Escapes,
    shape: Shape,
    /// It is no statement to anybody: it ends inside of a quote or a comment, or a backslash stands alone before a quote or another.
    nonsense: bool,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, dialect: Dialect, escapes: Escapes) -> Self {
        Self { rest: text, at: Spot::FIRST, dialect, escapes, shape: Shape::default(), nonsense: false }
    }
}

impl Scan<'_> {
    fn whole(&mut self) -> Result<(), Fault> {
        use Dialect::{Generic, Mysql, Sqlite};
        let mut before = ' ';
        while let Some(next) = self.rest.chars().next() {
            match next {
                '\'' | '"' | '`' => self.quoted(next, before)?,
                '[' if self.dialect == Sqlite => self.bracketed()?,
                '[' | ']' | '\\' | '{' | '}' => {
                    self.nonsense = ["\\'", "\\\"", "\\\\"].iter().any(|pair| self.rest.starts_with(pair));
                    return Err(syntax(format!("`{next}` outside of quotes is not understood")));
                }
                '-' if self.rest.starts_with("--") => self.line_comment(2)?,
                '#' if self.dialect == Mysql => self.line_comment(1)?,
                '#' => return Err(ambiguous("there is a `#`")),
                '/' if self.rest.starts_with("/*") => self.comment()?,
                '$' if self.dialect != Mysql && self.is_parameter(before) => self.skip(1),
                '$' => return Err(ambiguous("there is a `$`")),
                ':' if self.rest.starts_with(":=") => return Err(syntax("variables are not assigned")),
                // To the parser, a number in sixteens is a text in quotes.
                '0' if self.rest.starts_with("0x") && !before.is_alphanumeric() && !matches!(before, '_' | '@') => {
                    let begun = self.at;
                    let digits = self.rest.get(2..).unwrap_or_default();
                    let after = digits.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
                    self.skip(2 + digits.len() - after.len());
                    self.shape.quoted.push((begun, self.at));
                }
                '@' if self.dialect == Generic => return Err(ambiguous("there is a `@`")),
                other => {
                    match other {
                        ';' => self.shape.semicolons += 1,
                        '(' => self.shape.opened += 1,
                        ')' => self.shape.closed += 1,
                        '\t' | '\n' | '\r' => {}
                        odd if odd.is_control() || is_odd(odd) => {
                            return Err(syntax("there is an unusual character outside of quotes"));
                        }
                        _ => {}
                    }
                    self.skip(other.len_utf8());
                }
            }
            before = next;
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest.get(..bytes).unwrap_or_default().chars().for_each(|letter| self.at.pass(letter));
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// `$1` or `$name`, and nothing else that begins so.
    fn is_parameter(&self, before: char) -> bool {
        let name = self.rest.get(1..).unwrap_or_default();
        // SQLite has parameters with names, too.
        let named = |letter: char| self.dialect == Dialect::Sqlite && (letter.is_ascii_alphanumeric() || letter == '_');
        let after = name.trim_start_matches(|letter: char| letter.is_ascii_digit() || named(letter));
        let ends = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '$' | ':' | '(' | '\'');
        after.len() < name.len() && after.chars().next().is_none_or(ends) && !before.is_alphanumeric()
    }

    fn line_comment(&mut self, mark: usize) -> Result<(), Fault> {
        let after = self.rest.get(mark..).unwrap_or_default();
        if mark == 2
            && self.dialect != Dialect::Sqlite
            && !after.is_empty()
            && !after.starts_with([' ', '\t', '\n', '\r'])
        {
            return Err(ambiguous("`--` is followed by something else than a blank"));
        }
        let comment = after.split('\n').next().unwrap_or_default();
        if comment.trim_end_matches('\r').contains('\r') {
            return Err(ambiguous("a carriage return stands in a comment"));
        }
        let begun = self.at;
        self.skip(mark + comment.len());
        self.shape.comments.push((begun, self.at));
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let inside = self.rest.get(2..).unwrap_or_default();
        if inside.starts_with(['!', '+']) || inside.starts_with("M!") {
            return Err(syntax("comments that a server may obey are not understood"));
        }
        let Some(end) = inside.find("*/") else {
            self.nonsense = true;
            return Err(syntax("a comment does not end"));
        };
        if inside.get(..end).is_some_and(|comment| comment.contains("/*")) {
            return Err(ambiguous("a comment stands in a comment"));
        }
        let begun = self.at;
        self.skip(2 + end + 2);
        self.shape.comments.push((begun, self.at));
        Ok(())
    }

    fn bracketed(&mut self) -> Result<(), Fault> {
        let Some(end) = self.rest.find(']') else {
            return Err(syntax("a `[` is not closed"));
        };
        if self.rest.get(end + 1..).is_some_and(|after| after.starts_with(']')) {
            return Err(ambiguous("a `]` is doubled"));
        }
        let begun = self.at;
        self.skip(end + 1);
        self.shape.quoted.push((begun, self.at));
        Ok(())
    }

    /// From the opening mark to the closing one; doubled, it stands for itself.
    fn quoted(&mut self, mark: char, before: char) -> Result<(), Fault> {
        if before == '&' {
            return Err(ambiguous("names or texts are written in numbers (`U&`)"));
        }
        if before == mark {
            // Two in a row would have been one with a mark inside.
            return Err(ambiguous("quotes follow each other"));
        }
        let begun = self.at;
        self.skip(1);
        let escapes = match mark {
            '\'' => self.escapes != Escapes::Nowhere,
            '"' => self.escapes == Escapes::Everywhere,
            _ => false,
        };
        loop {
            let Some(next) = self.rest.chars().next() else {
                self.nonsense = true;
                return Err(syntax("a quote is not closed"));
            };
            self.skip(next.len_utf8());
            if next == '\\' && escapes {
                self.rest.chars().next().into_iter().for_each(|escaped| self.skip(escaped.len_utf8()));
            } else if next == '\\' && self.dialect == Dialect::Generic {
                return Err(ambiguous("a backslash stands in quotes"));
            } else if next == mark {
                if !self.rest.starts_with(mark) {
                    self.shape.quoted.push((begun, self.at));
                    return Ok(());
                }
                self.skip(1);
            }
        }
    }
}

/// Whether the parser's tokens are what was seen here, and the tree that they will become is small enough.
pub fn check(tokens: &[TokenWithSpan], shape: &Shape) -> Result<(), Fault> {
    let mut found = Shape::default();
    let (mut sets, mut joins) = (0, 0);
    let mut chains = vec![0_usize];
    for TokenWithSpan { token, span } in tokens {
        let (begins, ends) = (Spot::of(span.start), Spot::of(span.end));
        let Some(length) = chains.last_mut() else {
            return Err(syntax("a parenthesis is closed that was not opened"));
        };
        match token {
            Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)) => {
                found.comments.push((begins, ends));
            }
            Token::Whitespace(_) | Token::EOF => {}
            Token::LParen => {
                *length += 1;
                found.opened += 1;
                chains.push(0);
                if chains.len() > DEEPEST {
                    return Err((Rule::TooDeep, format!("parentheses are nested deeper than {DEEPEST}")));
                }
            }
            Token::RParen => {
                found.closed += 1;
                chains.pop();
            }
            Token::Comma => *length = 0,
            Token::SemiColon => {
                found.semicolons += 1;
                *length = 0;
            }
            Token::Word(word) if word.quote_style.is_none() => {
                *length += 1;
                match word.value.to_ascii_uppercase().as_str() {
                    "UNION" | "EXCEPT" | "INTERSECT" | "MINUS" => sets += 1,
                    "JOIN" | "STRAIGHT_JOIN" => joins += 1,
                    _ => {}
                }
            }
            other => {
                *length += 1;
                if let Some(before) = quoted(other, ends.column.saturating_sub(begins.column)) {
                    found.quoted.push((Spot { column: begins.column + before, ..begins }, ends));
                }
            }
        }
        if chains.last().is_some_and(|length| *length > LONGEST_CHAIN) || sets > MOST_SETS || joins > MOST_JOINS {
            return Err((Rule::TooDeep, "too much hangs together in one expression".into()));
        }
    }
    if found != *shape {
        return Err(ambiguous("it is not sure where quotes and comments end"));
    }
    Ok(())
}

/// Letters that stand before the quote of a token of so many, if it has one: `X'1f'`.
fn quoted(token: &Token, letters: u64) -> Option<u64> {
    match token {
        Token::Word(word) => word.quote_style.map(|_| 0),
        Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => Some(0),
        Token::NationalStringLiteral(_) | Token::SingleQuotedByteStringLiteral(_) => Some(1),
        // `0x1f` has no quote, and was taken whole.
        Token::HexStringLiteral(digits) => {
            let quotes = u64::try_from(digits.len()).is_ok_and(|digits| letters == digits + 3);
            Some(u64::from(quotes))
        }
        // Whatever else has quotes was not seen as one quoted thing here, so that the two differ.
        _ => None,
    }
}
