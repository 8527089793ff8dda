//! SQLite, MySQL and whatever is only said to be SQL: read with a parser that is nobody's own, and therefore twice.
//!
//! First the text alone (`lex`): where quotes, comments and statements end must be beyond doubt, and the tree must stay small.
//! Then the tree (`walk`), every part of which is either known to do nothing or a reason to refuse.

mod acts;
mod alias;
mod calls;
mod expr;
mod lex;
mod names;
mod plain;
mod tell;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Statement, visit_expressions, visit_relations};
use sqlparser::dialect::{Dialect as Grammar, GenericDialect, MySqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::verdict::Refusal;
use crate::{Ask, Class, Dialect, DialectList, Explain, Kind, Read, Rule};
use walk::Walk;

/// How deep the parser may go into itself.
const RECURSION: usize = 48;

pub fn read(text: &str, ask: &Ask<'_>, list: &DialectList) -> Read {
    match parse(text, ask.dialect) {
        Ok(parsed) => judge(&parsed, ask, list),
        Err((rule, reason)) => Read::invalid(rule, reason),
    }
}

/// Whether this is a text without doubt that some dialect here understands.
pub fn parses(text: &str) -> bool {
    [Dialect::Generic, Dialect::Sqlite, Dialect::Mysql].into_iter().any(|dialect| {
        parse(text, dialect).is_ok_and(|parsed| parsed.statements.is_ok_and(|statements| !statements.is_empty()))
    })
}

/// Whether a statement that begins with this word is no read.
pub fn acts(word: &str) -> bool {
    acts::act(word).is_some() || ["SECURITY", "DENY", "RECONFIGURE", "DBCC", "BULK", "WAITFOR"].contains(&word)
}

/// Whether where quotes, comments and statements end depends on who reads it.
pub fn doubt(text: &str) -> Option<Read> {
    let read = || {
        lex::scan(text, Dialect::Generic)?;
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location();
        let tokens = tokens.map_err(|_| (Rule::Syntax, "the text is not understood".to_owned()))?;
        Ok(statements_of(&tokens).iter().find_map(|written| alias::that_acts(written)))
    };
    match read() {
        Ok(None) => None,
        Ok(Some(word)) => Some(Read::invalid(Rule::Ambiguous, alias::told(&word))),
        Err((rule, reason)) => Some(Read::invalid(rule, reason)),
    }
}

struct Parsed {
    /// What is written in each statement, without blanks and comments.
    written: Vec<Vec<Token>>,
    statements: Result<Vec<Statement>, ()>,
}

fn parse(text: &str, dialect: Dialect) -> Result<Parsed, lex::Fault> {
    let shape = lex::scan(text, dialect)?;
    let grammar: &dyn Grammar = match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Mysql => &MySqlDialect {},
        Dialect::Postgres | Dialect::Generic => &GenericDialect {},
    };
    let tokens = Tokenizer::new(grammar, text).tokenize_with_location();
    let tokens = tokens.map_err(|_| (Rule::Syntax, "the text is not understood".to_owned()))?;
    lex::check(&tokens, &shape)?;
    let written = statements_of(&tokens);
    let tokens = plain::words(tokens, dialect);
    let mut parser = Parser::new(grammar).with_recursion_limit(RECURSION).with_tokens_with_locations(tokens);
    let statements = parser.parse_statements().map_err(drop);
    // It stops at an END without a word: what stands behind it would be sent and not read.
    let statements = statements.and_then(|found| if parser.peek_token() == Token::EOF { Ok(found) } else { Err(()) });
    Ok(Parsed { written, statements })
}

fn statements_of(tokens: &[TokenWithSpan]) -> Vec<Vec<Token>> {
    let parts = tokens.split(|token| token.token == Token::SemiColon);
    let solid = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
    let parts = parts.map(|part| part.iter().filter(solid).map(|token| token.token.clone()).collect());
    parts.filter(|part: &Vec<Token>| !part.is_empty()).collect()
}

/// Words outside of quotes, in capitals.
fn word(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => None,
    }
}

fn first_word(written: &[Token]) -> String {
    let first = written.iter().find(|token| **token != Token::LParen);
    first.and_then(word).unwrap_or_default()
}

/// What the words of a statement say that it does.
fn act_of(written: &[Token]) -> Option<(Class, Kind)> {
    let words: Vec<_> = written.iter().skip_while(|token| **token == Token::LParen).map_while(word).take(16).collect();
    let words = match words.first().map(String::as_str) {
        // Whose it is may stand between, in quotes and with signs: `CREATE DEFINER = 'a'@'b' TRIGGER`.
        Some("CREATE") => written.iter().filter_map(word).take(16).collect(),
        _ => words,
    };
    acts::of_words(words.iter().map(String::as_str))
}

fn judge(parsed: &Parsed, ask: &Ask<'_>, list: &DialectList) -> Read {
    let Some(first) = parsed.written.first() else {
        return Read::invalid(Rule::Syntax, "there is no statement");
    };
    let told = |written: &Vec<Token>| tell::read(written, ask, list);
    let reads: Vec<Read> = match (&parsed.statements, parsed.written.iter().map(told).collect::<Option<Vec<_>>>()) {
        // What only tells of the database is read by its words.
        (_, Some(reads)) => reads,
        (Err(()), None) => parsed.written.iter().map(|written| not_understood(written)).collect(),
        (Ok(statements), None) if statements.len() == parsed.written.len() => {
            let both = parsed.written.iter().zip(statements);
            both.map(|(written, statement)| {
                tell::read(written, ask, list).unwrap_or_else(|| of_statement(written, statement, ask, list))
            })
            .collect()
        }
        // The body of a trigger has statements of its own.
        (Ok(statements), None) if statements.len() == 1 && act_of(first).is_some() => {
            statements.iter().map(|statement| of_statement(first, statement, ask, list)).collect()
        }
        (Ok(_), None) => return Read::invalid(Rule::Ambiguous, "it is not sure where statements end"),
    };
    let count = reads.len();
    let mut whole =
        reads.into_iter().reduce(worse).unwrap_or_else(|| Read::invalid(Rule::Syntax, "there is no statement"));
    if whole.class != Class::Read {
        // By words and not by the tree: a column that is called like an operation only makes the list longer.
        let words = parsed.written.iter().flatten().filter_map(word);
        let acting: BTreeSet<String> = words.filter(|word| acts::act(word).is_some()).collect();
        whole.operations = acting.into_iter().collect();
    }
    if count > 1 && !ask.several {
        let before = whole.refused.take().map_or(String::new(), |refused| format!("; and: {}", refused.reason));
        let reason = format!("one statement at a time; there are {count}{before}");
        whole.refused = Some(Refusal { rule: Rule::Several, reason });
        whole.beyond_writing = whole.refused.clone();
    }
    whole
}

fn worse(first: Read, second: Read) -> Read {
    let mut tables = first.tables;
    tables.extend(second.tables);
    tables.sort();
    tables.dedup();
    Read {
        class: first.class.max(second.class),
        kind: first.kind.max(second.kind),
        refused: first.refused.or(second.refused),
        beyond_writing: first.beyond_writing.or(second.beyond_writing),
        tables,
        // Told of the whole text, by `judge`.
        operations: Vec::new(),
    }
}

/// The parser gave up: what the first word says is all there is.
fn not_understood(written: &[Token]) -> Read {
    let first = first_word(written);
    match act_of(written) {
        Some((class, kind)) => {
            let mut read = Read::refused(class, kind, Rule::Syntax, acts::told(&first));
            read.beyond_writing = read.refused.clone();
            read
        }
        None => Read::invalid(Rule::Syntax, "the statement is not understood"),
    }
}

fn of_statement(written: &[Token], statement: &Statement, ask: &Ask<'_>, list: &DialectList) -> Read {
    let mut walk = Walk::new(ask, list);
    let first = first_word(written);
    let mut kind = Kind::Reads;
    match statement {
        Statement::Query(query) if act_of(written).is_none() => {
            walk.query(query);
            if walk.class == Class::Write {
                kind = act_inside(written);
                all_of(statement, &mut walk);
                by_words_of_a_write(written, &mut walk);
            }
            by_words(written, &mut walk);
        }
        Statement::Explain { analyze: false, options: None, statement: explained, .. }
            if list.explain != Explain::Deny =>
        {
            match explained.as_ref() {
                Statement::Query(query) => {
                    walk.query(query);
                    by_words(written, &mut walk);
                }
                _ => walk.refuse(Class::SideEffect, Rule::Statement, "only reads are explained"),
            }
        }
        Statement::Explain { .. } => {
            walk.refuse(Class::SideEffect, Rule::Statement, acts::told("EXPLAIN ANALYZE"));
        }
        Statement::ExplainTable { table_name, .. } if list.show == crate::Show::Allow => walk.table(table_name),
        _ => match act_of(written) {
            Some((class, of)) => {
                kind = of;
                walk.refuse(class, Rule::Statement, acts::told(&first));
                all_of(statement, &mut walk);
                if is_of_rows(statement) {
                    by_words_of_a_write(written, &mut walk);
                }
            }
            None => walk.unknown("the statement"),
        },
    }
    if kind == Kind::Reads && walk.class != Class::Read {
        kind = Kind::Unknown;
    }
    let Walk { class, refused, beyond_writing, tables, .. } = walk;
    let (tables, operations) = (tables.into_iter().collect(), Vec::new());
    Read { class, kind, refused, beyond_writing, tables, operations }
}

/// What a `WITH` ends in.
fn act_inside(written: &[Token]) -> Kind {
    let words = written.iter().filter_map(word);
    let kinds = words.filter_map(|word| acts::act(&word).filter(|(class, _)| *class == Class::Write));
    kinds.map(|(_, kind)| kind).max().unwrap_or(Kind::Unknown)
}

fn is_of_rows(statement: &Statement) -> bool {
    matches!(statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Query(_))
}

/// What holds for the words of a tool that may write rows: a file is not one of its tables.
fn by_words_of_a_write(written: &[Token], walk: &mut Walk<'_>) {
    let class = walk.class;
    calls::look(written, walk);
    if written.iter().filter_map(word).any(|word| word == "OUTFILE" || word == "DUMPFILE") {
        walk.refuse(Class::SideEffect, Rule::Statement, acts::told("SELECT INTO"));
    }
    walk.class = class;
}

/// Words that no read has outside of quotes, whatever the parser made of them.
fn by_words(written: &[Token], walk: &mut Walk<'_>) {
    calls::look(written, walk);
    if walk.ask.dialect == Dialect::Generic
        && let Some(word) = alias::that_acts(written)
    {
        walk.refuse(Class::SideEffect, Rule::Ambiguous, alias::told(&word));
    }
    let words: Vec<_> = written.iter().map(word).collect();
    for (place, found) in words.iter().enumerate() {
        match found.as_deref() {
            Some("INTO" | "OUTFILE" | "DUMPFILE") => {
                walk.refuse(Class::Write, Rule::Statement, acts::told("SELECT INTO"));
            }
            Some("LOCK") if words.get(place + 1) == Some(&Some("IN".into())) => {
                walk.refuse(Class::SideEffect, Rule::Locking, "rows are not locked by a read");
            }
            _ => {}
        }
    }
}

/// The functions and tables of a statement that acts: they hold for tools that may write, too.
fn all_of(statement: &Statement, walk: &mut Walk<'_>) {
    let class = walk.class;
    let _: ControlFlow<()> = visit_expressions(statement, |expr| {
        if let Expr::Function(function) = expr {
            let count = match &function.args {
                sqlparser::ast::FunctionArguments::List(list) => list.args.len(),
                sqlparser::ast::FunctionArguments::None => 0,
                sqlparser::ast::FunctionArguments::Subquery(_) => 1,
            };
            walk.function(&function.name, count);
        }
        ControlFlow::Continue(())
    });
    let _: ControlFlow<()> = visit_relations(statement, |name| {
        walk.table(name);
        ControlFlow::Continue(())
    });
    if walk.ask.tables.is_some() && !is_of_rows(statement) {
        walk.refuse(Class::Write, Rule::Table, "where tables are listed, only rows are written");
    }
    // What it is was known before; this only says what else is wrong with it.
    walk.class = class;
}
