//! What a call counts as, given what is asked of the tool: at least what the manifest says, and never less.

use serde_json::Value;

use crate::agents::Security;
use crate::classification::Classification;
use crate::exchange::{Exchange, Raised, Subject};
use crate::manifest::RiskLevel;
use crate::policies::{ClassifiedTool, Policies};
use crate::rules::{Applies, CallContext};
use crate::sql::{SqlAsk, SqlHandling, SqlKind, SqlRead, SqlReader, SqlSeen, Writes};

/// Arguments that hold SQL where nobody said anything of them: the first always, the others where they look like it.
const SQL_NAMES: [&str; 3] = ["sql", "query", "statement"];

/// What an argument raises a call to.
struct Up {
    to: RiskLevel,
    classification: Option<Classification>,
    why: Raised,
}

/// Between mutators and judges, so that what is classified is what is sent.
pub fn raise(policies: &Policies, exchange: &mut Exchange) {
    let Subject::Tool(tool) = &exchange.subject else { return };
    let Some(classified) = tool.classified.clone().filter(|_| !tool.governs()) else { return };
    exchange.content.sql = read_sql(policies.sql.as_ref(), &classified, exchange);
    let mut ups: Vec<_> = exchange.content.sql.iter().filter_map(|seen| by_sql(seen, &classified)).collect();
    ups.extend(by_arguments(&classified, exchange));
    let declared = exchange.declared;
    let Subject::Tool(tool) = &mut exchange.subject else { return };
    let effective = &mut tool.effective;
    for Up { to, classification, why } in ups {
        effective.risk_level = effective.risk_level.max(to);
        let least = effective.classification.raised_to(to.classification());
        effective.classification = classification.map_or(least, |wanted| least.raised_to(wanted));
        effective.why.push(why);
    }
    if let Some(declared) = declared {
        let raised = effective.classification.raised_to(declared);
        if raised != effective.classification {
            effective.classification = raised;
            let message = format!("the agent itself calls this {}", declared.code());
            let to = effective.risk_level;
            effective.why.push(Raised { rule: "declared".into(), to, message });
        }
    }
}

fn by_arguments(classified: &ClassifiedTool, exchange: &Exchange) -> Vec<Up> {
    let mut ups = Vec::new();
    for raise in &classified.handling.raises {
        let holds = match raise.when.applies(&CallContext::new(exchange)) {
            Applies::Yes => true,
            Applies::No => false,
            // What is not there does not hold; what is there and cannot be compared may be anything.
            Applies::Unknown(keys) => keys.iter().any(|key| is_given(exchange, key)),
        };
        if holds {
            let message = format!("{} is {} where {}", classified.manifest.id, raise.to, raise.when.written());
            let why = Raised { rule: "arguments".into(), to: raise.to, message };
            ups.push(Up { to: raise.to, classification: raise.classification, why });
        }
    }
    ups
}

fn is_given(exchange: &Exchange, key: &str) -> bool {
    let path = key.strip_prefix("arguments.").unwrap_or(key);
    path.split('.').try_fold(exchange.arguments(), |at, step| at.map(|at| at.get(step))).flatten().is_some()
}

/// Every argument that is SQL, as the manifest says or as its name does; in a run, held to what its agent may do besides.
fn read_sql(reader: &dyn SqlReader, tool: &ClassifiedTool, exchange: &Exchange) -> Vec<SqlSeen> {
    let usual = Writes::of(tool.manifest.risk_level);
    let own = exchange.run.as_deref().map(|run| run.security.as_ref());
    let held = |read: SqlRead| match own {
        Some(own) => read.within(own),
        None => read,
    };
    match &tool.handling.sql {
        SqlHandling::Off => Vec::new(),
        // Who says that a tool writes has said what its SQL may do; who says that it reads is held to it.
        SqlHandling::Unsaid if usual == Writes::Classify && own.is_none() => Vec::new(),
        SqlHandling::Argument(sql) => {
            let both =
                own.map(|own| Security::intersection(sql.allowed_tables.as_deref(), own.allowed_tables.as_deref()));
            let tables = match &both {
                Some(narrowed) => narrowed.as_deref(),
                None => sql.allowed_tables.as_deref(),
            };
            let ask = SqlAsk { dialect: Some(sql.dialect), tables, functions: &sql.functions, several: sql.several };
            let read = match exchange.argument(&sql.argument).and_then(Value::as_str) {
                Some(text) => held(reader.read(text, &ask)),
                None => SqlRead::invalid("argument", "there is no SQL where it should be"),
            };
            vec![SqlSeen { argument: sql.argument.clone(), writes: sql.writes.unwrap_or(usual), read }]
        }
        SqlHandling::Unsaid => {
            let ask = SqlAsk { tables: own.and_then(|own| own.allowed_tables.as_deref()), ..SqlAsk::default() };
            let given = exchange.arguments().and_then(Value::as_object).into_iter().flatten();
            let found = given.filter_map(|(name, value)| {
                let text = value.as_str()?;
                let known = SQL_NAMES.iter().position(|known| name.eq_ignore_ascii_case(known))?;
                let is_sql = known == 0 || reader.looks_like_sql(text);
                is_sql.then(|| (name, held(reader.read(text, &ask))))
            });
            found.map(|(name, read)| SqlSeen { argument: name.clone(), writes: usual, read }).collect()
        }
    }
}

fn by_sql(seen: &SqlSeen, tool: &ClassifiedTool) -> Option<Up> {
    let kind = seen.read.kind;
    let to = kind.risk_level();
    (to > tool.manifest.risk_level).then(|| {
        let what = match (kind, &seen.read.refused) {
            (SqlKind::Unknown, Some(refusal)) if refusal.rule == "argument" => refusal.reason.as_str(),
            _ => kind.told(),
        };
        let message = format!("`{}`: {what}", seen.argument);
        Up { to, classification: None, why: Raised { rule: "sql".into(), to, message } }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use std::sync::Arc;

    use gateway_protocol::Message;
    use serde_json::json;

    use super::*;
    use crate::agents::RunStep;
    use crate::classification::{DecisionType, Reversibility, Risk};
    use crate::exchange::{Ask, Route, ToolSubject};
    use crate::identity::Principal;
    use crate::manifest::{AgentMode, ToolManifest};
    use crate::matrix::Matrix;
    use crate::names::TraceId;
    use crate::policies::{Dialect, Handling, Raise};
    use crate::rules::Condition;
    use crate::sql::{SqlArgument, SqlClass, SqlRefusal};

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

    fn counted(handling: Handling, arguments: Value, declared: Option<Classification>) -> (RiskLevel, String, usize) {
        let manifest = ToolManifest {
            id: "db/query".parse().unwrap(),
            domain: "db".into(),
            risk_level: RiskLevel::ReadOnly,
            side_effects: false,
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        let classified = Arc::new(ClassifiedTool::new(manifest, None).handled(handling));
        let tool = ToolSubject::new("db/query".parse().unwrap(), Some(classified), false);
        let params = json!({"name": "query", "arguments": arguments}).as_object().cloned();
        let ask = Ask::Message(Message::request(1, "tools/call", params));
        let principal = Arc::new(Principal::anonymous());
        let mut exchange =
            Exchange::new(TraceId::from_stored("trc_1"), principal, Route::All, ask, Subject::Tool(tool));
        exchange.declared = declared;
        raise(&Policies::new([], Matrix::standard()).with_sql(Arc::new(Words)), &mut exchange);
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
        let manifest = ToolManifest {
            id: "db/query".parse().unwrap(),
            domain: "db".into(),
            risk_level: level,
            side_effects: level.writes(),
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        let classified = Arc::new(ClassifiedTool::new(manifest, None).handled(handling));
        let tool = ToolSubject::new("db/query".parse().unwrap(), Some(classified), false);
        let params = json!({"name": "query", "arguments": arguments}).as_object().cloned();
        let ask = Ask::Message(Message::request(1, "tools/call", params));
        let (trace_id, principal) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
        let mut exchange = Exchange::new(trace_id.clone(), principal, Route::All, ask, Subject::Tool(tool));
        exchange.run = own.map(|security| {
            let (slug, security) = ("s".parse().unwrap(), Arc::new(security));
            let task = uuid::Uuid::nil();
            Arc::new(RunStep { organization: "demo".into(), slug, task, step: 1, of: 1, trace_id, security })
        });
        raise(&Policies::new([], Matrix::standard()).with_sql(Arc::new(Words)), &mut exchange);
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
            (json!({"filter": {"sql": "update t;"}}), read),
            (json!({}), read),
        ] {
            assert_eq!(counted(Handling::default(), arguments.clone(), None).0, level, "{arguments}");
            let off = Handling { sql: SqlHandling::Off, ..Handling::default() };
            assert_eq!(counted(off, arguments, None).0, read);
        }
    }

    #[test]
    fn an_argument_raises_where_its_condition_holds_or_cannot_be_read() {
        let handling = || {
            let when = Condition::compile(&json!({"amount": {"gt": 10}}), "when").unwrap();
            Handling {
                raises: vec![Raise { when, to: RiskLevel::HighWrite, classification: None }],
                ..Handling::default()
            }
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
}
