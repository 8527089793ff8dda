//! Where quotes, comments and statements begin and end, read by the rules of the database itself.
//!
//! The parser's own idea of this is not trusted: both must see the same, and whatever one server could read differently from
//! another (or in another mode) is refused before anything is parsed.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

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

/// What stands outside of quotes and comments, and how many of those there are.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shape {
    quoted: usize,
    comments: usize,
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
    let escapes = dialect == Dialect::Mysql;
    let shape = Shape::default();
    let mut scan = Scan { rest: text, dialect, escapes, shape };
    scan.whole()?;
    if escapes && text.contains('\\') {
        // A server may be told that a backslash is a letter like others. Where the text then means nothing from its first
        // statement on, nothing happens.
        let mut other = Scan { rest: text, dialect, escapes: false, shape: Shape::default() };
        let differs = match other.whole() {
            Ok(()) => other.shape != scan.shape,
            Err(_) => other.shape.semicolons > 0,
        };
        if differs {
            return Err(ambiguous("a backslash stands before a quote"));
        }
    }
    Ok(scan.shape)
}

/// Neither letter nor digit, or a letter that the parser takes for a plain one: to it, `ſelect` is a word of the grammar.
fn is_odd(letter: char) -> bool {
    let becomes_plain = || letter.to_uppercase().chain(letter.to_lowercase()).any(|other| other.is_ascii());
    !letter.is_ascii() && (!letter.is_alphanumeric() || becomes_plain())
}

struct Scan<'a> {
    rest: &'a str,
    dialect: Dialect,
    /// Whether a backslash takes the next letter along.
    escapes: bool,
    shape: Shape,
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
                    self.shape.quoted += 1;
                    self.skip(2);
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
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// `$1`, and nothing else that begins so.
    fn is_parameter(&self, before: char) -> bool {
        let name = self.rest.get(1..).unwrap_or_default();
        let after = name.trim_start_matches(|digit: char| digit.is_ascii_digit());
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
        self.shape.comments += 1;
        self.skip(mark + comment.len());
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let inside = self.rest.get(2..).unwrap_or_default();
        if inside.starts_with(['!', '+']) || inside.starts_with("M!") {
            return Err(syntax("comments that a server may obey are not understood"));
        }
        let Some(end) = inside.find("*/") else {
            return Err(syntax("a comment does not end"));
        };
        if inside.get(..end).is_some_and(|comment| comment.contains("/*")) {
            return Err(ambiguous("a comment stands in a comment"));
        }
        self.shape.comments += 1;
        self.skip(2 + end + 2);
        Ok(())
    }

    fn bracketed(&mut self) -> Result<(), Fault> {
        let Some(end) = self.rest.find(']') else {
            return Err(syntax("a `[` is not closed"));
        };
        if self.rest.get(end + 1..).is_some_and(|after| after.starts_with(']')) {
            return Err(ambiguous("a `]` is doubled"));
        }
        self.shape.quoted += 1;
        self.skip(end + 1);
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
        self.skip(1);
        let escapes = self.escapes && mark != '`';
        loop {
            let Some(next) = self.rest.chars().next() else {
                return Err(syntax("a quote is not closed"));
            };
            self.skip(next.len_utf8());
            if next == '\\' && escapes {
                let escaped = self.rest.chars().next().ok_or_else(|| syntax("a quote is not closed"))?;
                self.skip(escaped.len_utf8());
            } else if next == '\\' && self.dialect == Dialect::Generic {
                return Err(ambiguous("a backslash stands in quotes"));
            } else if next == mark {
                if !self.rest.starts_with(mark) {
                    self.shape.quoted += 1;
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
    for TokenWithSpan { token, .. } in tokens {
        let Some(length) = chains.last_mut() else {
            return Err(syntax("a parenthesis is closed that was not opened"));
        };
        match token {
            Token::Whitespace(Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)) => {
                found.comments += 1;
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
                found.quoted += usize::from(is_quoted(other));
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

fn is_quoted(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some(),
        Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::SingleQuotedByteStringLiteral(_) => true,
        // Whatever else has quotes was not seen as one quoted thing here, so that the numbers differ.
        _ => false,
    }
}
