//! What raises a call, and how far.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
use std::sync::Arc;

use gateway_protocol::Message;
use serde_json::{Value, json};

use super::*;
use crate::agents::{RunStep, Security};
use crate::classification::{DecisionType, Reversibility, Risk};
use crate::exchange::{Ask, Route, ToolSubject};
use crate::identity::Principal;
use crate::manifest::{AgentMode, ToolManifest};
use crate::matrix::Matrix;
use crate::names::TraceId;
use crate::policies::{Dialect, Handling, Raise};
use crate::rules::Condition;
use crate::sql::{SqlArgument, SqlAsk, SqlClass, SqlRead, SqlReader, SqlRefusal};

/// Knows three words.
struct Words;

impl SqlReader for Words {
    fn read(&self, text: &str, ask: &SqlAsk<'_>) -> SqlRead {
        let first = text.split(' ').next();
        let (class, kind) = match first {
            Some("select") => (SqlClass::Read, SqlKind::Reads),
            Some("update" | "insert") => (SqlClass::Write, SqlKind::Writes),
            Some("delete") => (SqlClass::Write, SqlKind::Destroys),
            _ => return SqlRead::invalid("syntax", "no"),
        };
        let named = text.rsplit(' ').next().unwrap().to_owned();
        let foreign = ask.tables.is_some_and(|tables| !tables.contains(&named));
        let outside = || SqlRefusal { rule: "table", reason: format!("table `{named}`") };
        let beyond_writing = foreign.then(outside);
        let operations = first.filter(|_| class == SqlClass::Write).map(str::to_uppercase).into_iter().collect();
        SqlRead { class, kind, refused: beyond_writing.clone(), beyond_writing, tables: vec![named], operations }
    }

    fn looks_like_sql(&self, text: &str) -> bool {
        text.ends_with(';')
    }

    fn digest(&self) -> &str {
        "words"
    }
}

/// A call of a tool of this level, or of one that is only watched.
fn call(handling: Handling, level: Option<RiskLevel>, arguments: Value, own: Option<Security>) -> Exchange {
    let classified = level.map(|level| {
        let manifest = ToolManifest {
            id: "db/query".parse().unwrap(),
            domain: "db".into(),
            risk_level: level,
            side_effects: level.writes(),
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        Arc::new(ClassifiedTool::new(manifest, None).handled(handling))
    });
    let tool = ToolSubject::new("db/query".parse().unwrap(), classified, level.is_none());
    let params = json!({"name": "query", "arguments": arguments}).as_object().cloned();
    let ask = Ask::Message(Message::request(1, "tools/call", params));
    let (trace_id, principal) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
    let mut exchange = Exchange::new(trace_id.clone(), principal, Route::All, ask, Subject::Tool(tool));
    exchange.run = own.map(|security| {
        let (slug, security) = ("s".parse().unwrap(), Arc::new(security));
        let task = uuid::Uuid::nil();
        Arc::new(RunStep { organization: "demo".into(), slug, task, step: 1, of: 1, trace_id, security })
    });
    exchange
}

fn read_of(mut exchange: Exchange) -> Exchange {
    raise(&Policies::new([], Matrix::standard()).with_sql(Arc::new(Words)), &mut exchange);
    exchange
}

fn counted(handling: Handling, arguments: Value, declared: Option<Classification>) -> (RiskLevel, String, usize) {
    let mut exchange = call(handling, Some(RiskLevel::ReadOnly), arguments, None);
    exchange.declared = declared;
    let exchange = read_of(exchange);
    let effective = &exchange.tool().unwrap().effective;
    (effective.risk_level, effective.classification.code(), effective.why.len())
}

#[test]
fn sql_counts_as_what_it_does() {
    let sql = SqlArgument::new("query", Dialect::Postgres);
    for (arguments, level, code) in [
        (json!({"query": "select 1"}), RiskLevel::ReadOnly, "D1-R1-total"),
        (json!({"query": "update t set a = 1"}), RiskLevel::LowWrite, "D2-R2-partial"),
        (json!({"query": "delete from t"}), RiskLevel::HighWrite, "D3-R3-irreversible"),
        (json!({"query": 7}), RiskLevel::HighWrite, "D3-R3-irreversible"),
        (json!({}), RiskLevel::HighWrite, "D3-R3-irreversible"),
    ] {
        let handling = Handling { sql: SqlHandling::Argument(sql.clone()), ..Handling::default() };
        let (found, class, _) = counted(handling, arguments.clone(), None);
        assert_eq!((found, class.as_str()), (level, code), "{arguments}");
    }
}

/// Why the call may not go, in a run of an agent with these limits or in none.
fn refused(handling: Handling, level: RiskLevel, arguments: Value, own: Option<Security>) -> Option<SqlRefusal> {
    let exchange = read_of(call(handling, Some(level), arguments, own));
    exchange.content.sql.iter().find_map(|seen| seen.objection().cloned())
}

// acceptance 91, acceptance 101, acceptance 105: a run keeps its agent's limits in the chain, whatever the tool may do.
#[test]
fn a_run_is_held_to_its_agents_tables_and_operations() {
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
    let own = |denied: &[&str], tables: Option<&[&str]>| {
        Some(Security { denied_operations: names(denied), allowed_tables: tables.map(names) })
    };
    let said = |tables: Option<&[&str]>| {
        let sql = SqlArgument { allowed_tables: tables.map(names), ..SqlArgument::new("sql", Dialect::Postgres) };
        Handling { sql: SqlHandling::Argument(sql), ..Handling::default() }
    };
    let (read, low) = (RiskLevel::ReadOnly, RiskLevel::LowWrite);
    for (handling, level, sql, own, rule) in [
        (said(None), read, "select from a", None, None),
        (said(None), read, "select from a", own(&[], None), None),
        (said(None), read, "select from a", own(&[], Some(&["a"])), None),
        (said(None), read, "select from b", own(&[], Some(&["a"])), Some("table")),
        (said(None), read, "select from a", own(&[], Some(&[])), Some("table")),
        (said(Some(&["a", "b"])), read, "select from b", own(&[], Some(&["b", "c"])), None),
        (said(Some(&["a", "b"])), read, "select from a", own(&[], Some(&["b", "c"])), Some("table")),
        (said(Some(&["a", "b"])), read, "select from c", own(&[], Some(&["b", "c"])), Some("table")),
        // A tool that writes may: outside of runs, and in one whatever its agent does not deny.
        (said(None), low, "delete from a", None, None),
        (said(None), low, "delete from a", own(&[], None), Some("statement")),
        (said(None), low, "insert into a", own(&[], None), None),
        (said(None), low, "insert into a", own(&["insert"], None), Some("statement")),
        // Nobody said that it takes SQL: in a run it is looked for all the same.
        (Handling::default(), low, "delete from a", None, None),
        (Handling::default(), low, "delete from a", own(&[], None), Some("statement")),
        (Handling::default(), low, "insert into b", own(&[], Some(&["a"])), Some("table")),
        (Handling::default(), read, "select from b", own(&[], Some(&["a"])), Some("table")),
    ] {
        let found = refused(handling, level, json!({ "sql": sql }), own.clone());
        assert_eq!(found.map(|refusal| refusal.rule), rule, "{sql} {own:?}");
    }
    let text = "Security violation: Operation 'DELETE' is not allowed in read-only mode. \
                Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE, INSERT";
    let found = refused(said(None), low, json!({ "sql": "delete from a" }), own(&["DROP", "INSERT"], None));
    assert_eq!(found.unwrap().reason, text);
}

#[test]
fn where_nothing_is_said_sql_is_found_by_name_and_look() {
    let (read, low, high) = (RiskLevel::ReadOnly, RiskLevel::LowWrite, RiskLevel::HighWrite);
    for (arguments, level) in [
        (json!({"sql": "update t"}), low),
        (json!({"SQL": "no statement"}), high),
        (json!({"query": "update on the project"}), read),
        (json!({"query": "update t;"}), low),
        (json!({"Statement": "delete t;", "query": "update t;"}), high),
        (json!({"text": "update t;"}), read),
        (json!({"sql": 7}), read),
        (json!({}), read),
        // In lists and objects, by the nearest name that says something.
        (json!({"filter": {"sql": "update t;"}}), low),
        (json!({"sql": ["select 1", "delete from t"]}), high),
        (json!({"batch": [{"text": "x"}, {"statement": "delete t;"}]}), high),
        (json!({"query": {"text": "delete t;", "values": []}}), high),
        (json!({"sql": {"text": "update t;", "dialect": "any"}}), low),
        (json!({"query": {"match": {"title": "update the table"}}}), read),
        (json!({"filter": {"text": "update t;"}, "rows": [["update t;"]]}), read),
        // No more than can be read: the rest may be anything.
        (json!({"sql": vec!["select 1"; 64]}), read),
        (json!({"sql": vec!["select 1"; 65]}), high),
        (json!({"query": vec!["prose"; 4096]}), read),
        (json!({"query": vec!["prose"; 4097]}), high),
    ] {
        assert_eq!(counted(Handling::default(), arguments.clone(), None).0, level, "{arguments}");
        let off = Handling { sql: SqlHandling::Off, ..Handling::default() };
        assert_eq!(counted(off, arguments, None).0, read);
    }
}

// A tool that writes is not refused for SQL that nobody declared, but its call counts as what the SQL does.
#[test]
fn what_a_tool_that_writes_is_sent_raises_it() {
    let (low, high) = (RiskLevel::LowWrite, RiskLevel::HighWrite);
    for (level, arguments, expected) in [
        (low, json!({"sql": "delete from t"}), high),
        (low, json!({"sql": "insert into t"}), low),
        (low, json!({"sql": "select 1"}), low),
        (low, json!({"sql": "who knows"}), high),
        (low, json!({"query": "who knows"}), low),
        (low, json!({"batch": [{"query": "delete from t;"}]}), high),
        (high, json!({"sql": "select 1"}), high),
    ] {
        let exchange = read_of(call(Handling::default(), Some(level), arguments.clone(), None));
        assert_eq!(exchange.tool().unwrap().effective.risk_level, expected, "{arguments}");
        assert!(exchange.content.sql.iter().all(|seen| seen.objection().is_none()), "{arguments}");
    }
}

// Who watches a tool that nobody classified is told what it was sent.
#[test]
fn what_is_watched_is_read() {
    for (arguments, rules) in [
        (json!({"sql": "select 1"}), vec![]),
        (json!({"sql": "what is this"}), vec!["syntax"]),
        (json!({"rows": [{"query": "what is this;"}]}), vec!["syntax"]),
        (json!({"query": "what is this"}), vec![]),
    ] {
        let exchange = read_of(call(Handling::default(), None, arguments.clone(), None));
        let said = exchange.content.sql.iter().filter_map(SqlSeen::objection).map(|refusal| refusal.rule);
        assert_eq!(said.collect::<Vec<_>>(), rules, "{arguments}");
    }
}

#[test]
fn several_arguments_may_be_sql() {
    let (read, low, high) = (RiskLevel::ReadOnly, RiskLevel::LowWrite, RiskLevel::HighWrite);
    let places = |places: Value| SqlArgument {
        argument: serde_json::from_value(places).unwrap(),
        ..SqlArgument::new("", Dialect::Postgres)
    };
    for (written, arguments, level) in [
        (json!(["a", "b.c"]), json!({"a": "select 1", "b": {"c": "update t"}}), low),
        (json!(["a", "b.c"]), json!({"a": "select 1"}), read),
        (json!(["a", "b.c"]), json!({"a": "select 1", "b": {"c": 7}}), high),
        (json!(["a", "b.c"]), json!({"a": "select 1", "b": "delete from t"}), high),
        (json!(["a", "b.c"]), json!({"x": 1}), high),
        (json!("b.c"), json!({"b": {"c": "select 1"}}), read),
        (json!("b.c"), json!({"b": [{"c": "select 1"}, {"c": "update t"}]}), low),
        (json!("b.c"), json!({"b.c": "select 1", "b": {"c": "delete from t"}}), high),
        (json!("b.c"), json!({"b": {"d": "select 1"}}), high),
        // What is named is not looked for again; what is not named is.
        (json!("query"), json!({"query": "select t;"}), read),
        (json!("a"), json!({"a": "select 1", "sql": "delete from t"}), high),
        (json!("a"), json!({"a": "select 1", "more": [{"query": "update t;"}]}), low),
        (json!("a"), json!({"a": "select 1", "query": "update on the project"}), read),
    ] {
        let handling = Handling { sql: SqlHandling::Argument(places(written.clone())), ..Handling::default() };
        assert_eq!(counted(handling, arguments.clone(), None).0, level, "{written} {arguments}");
    }
}

#[test]
fn an_argument_raises_where_its_condition_holds_or_cannot_be_read() {
    let handling = || {
        let when = Condition::compile(&json!({"amount": {"gt": 10}}), "when").unwrap();
        Handling { raises: vec![Raise { when, to: RiskLevel::HighWrite, classification: None }], ..Handling::default() }
    };
    for (arguments, level) in [
        (json!({"amount": 11}), RiskLevel::HighWrite),
        (json!({"amount": 9}), RiskLevel::ReadOnly),
        (json!({}), RiskLevel::ReadOnly),
        (json!({"amount": "a lot"}), RiskLevel::HighWrite),
    ] {
        assert_eq!(counted(handling(), arguments.clone(), None).0, level, "{arguments}");
    }
}

#[test]
fn an_agent_may_only_say_worse_of_its_own_call() {
    let worse = Classification::new(DecisionType::D3, Risk::R1, Reversibility::Total);
    assert_eq!(counted(Handling::default(), json!({}), Some(worse)).1, "D3-R1-total");
    let same = Classification::new(DecisionType::D1, Risk::R1, Reversibility::Total);
    assert_eq!(counted(Handling::default(), json!({}), Some(same)).2, 0, "nothing is raised");
}
