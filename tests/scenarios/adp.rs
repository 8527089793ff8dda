//! The governance tools, called as an agent or an administrator would.

mod policies;

use portreeve_tests::{Agent, Answer, Kind, World};
use serde_json::{Value, json};

fn billing() -> Value {
    json!({
        "agent_id": "agent-billing-001", "name": "Billing Reconciliation Agent", "autonomy_level": "A3",
        "allowed_types": ["D1", "D2"], "max_risk": "R2",
        "owner": { "name": "Finance Team", "email": "finance@company.com" },
        "description": "Handles monthly billing reconciliation",
    })
}

fn vendor(agent: &str) -> Value {
    json!({
        "agent_id": agent, "event_type": "decision",
        "decision": {
            "type": "D2", "risk_level": "R2", "reversibility": "partial", "classification_code": "D2-R2-partial",
            "description": "Selected vendor B over vendor A",
            "reasoning": "Vendor B offers 15% lower fees with equivalent SLA",
        },
        "authorization": { "required": false, "matrix_result": "A3 x D2 = AUTHORIZED" },
        "context": {},
    })
}

async fn ask(caller: &Agent, tool: &str, arguments: Value) -> Answer {
    caller.call(&format!("adp/{tool}"), arguments).await
}

// acceptance 7, acceptance 9: the seed's example, and what is refused without a trace of it.
async fn agents_are_registered(kind: Kind) {
    let world = World::on(kind).start();
    let admin = world.admin();
    let answer = ask(&admin, "adp_register_agent", billing()).await;
    let registered = answer.tool_json();
    let keys: Vec<&String> = registered.as_object().unwrap_or_else(|| panic!("{registered}")).keys().collect();
    assert_eq!(keys, ["agent_id", "api_key", "status", "autonomy_level"]);
    assert_eq!(
        (&registered["agent_id"], &registered["status"], &registered["autonomy_level"]),
        (&json!("agent-billing-001"), &json!("active"), &json!("A3"))
    );
    let key = registered["api_key"].as_str().unwrap();
    assert!(key.starts_with("adp_sk_"));

    let mut missing = billing();
    missing["agent_id"] = json!("other");
    missing.as_object_mut().unwrap().remove("name");
    let mut lawless = billing();
    lawless["agent_id"] = json!("other");
    lawless["autonomy_level"] = json!("A6");
    for (arguments, named) in [(billing(), "Agent ID already exists"), (missing, "name"), (lawless, "autonomy_level")] {
        let refused = ask(&admin, "adp_register_agent", arguments).await;
        assert!(refused.is_tool_error() && refused.text().contains(named), "{named}: {}", refused.text());
    }
    assert_eq!(world.database.count("SELECT count(*) FROM agent_registry"), 1);
    assert_eq!(world.database.count("SELECT count(*) FROM agent_api_keys"), 1);
    let agent = world.agent_with_key("agent-billing-001", key);
    let own = ask(&agent, "adp_register_agent", json!({ "agent_id": "x", "name": "x", "autonomy_level": "A5" })).await;
    assert!(own.is_tool_error(), "an agent may not make agents");
    let authorized = ask(
        &agent,
        "adp_authorize",
        json!({ "agent_id": "agent-billing-001", "decision_type": "D2", "risk_level": "R2" }),
    )
    .await;
    assert_eq!(
        authorized.tool_json(),
        json!({ "result": "authorized", "override_applied": false, "reasons": [], "matrix_cell": "A3 x D2 = AUTHORIZED" })
    );
}

#[tokio::test]
async fn agents_are_registered_on_sqlite() {
    agents_are_registered(Kind::Sqlite).await;
}

#[tokio::test]
async fn agents_are_registered_on_postgres() {
    agents_are_registered(Kind::Postgres).await;
}

// acceptance 18, acceptance 19, acceptance 20, acceptance 21, acceptance 22, acceptance 23: the chain, its parallel growth, and everything that can be done to it.
async fn a_chain_grows_and_shows_every_change(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A3");
    let verify =
        async || ask(&agent, "adp_verify_chain", json!({ "agent_id": "agent-1", "limit": 100 })).await.tool_json();
    let empty = verify().await;
    assert_eq!(
        (&empty["valid"], &empty["chain_length"], &empty["first_trace"], &empty["broken_at"]),
        (&json!(true), &json!(0), &Value::Null, &Value::Null)
    );

    let first = ask(&agent, "adp_log_trace", vendor("agent-1")).await.tool_json();
    let second = ask(&agent, "adp_log_trace", vendor("agent-1")).await.tool_json();
    assert!(first["trace_id"].as_str().unwrap().starts_with("trc_"), "{first}");
    let hash = first["event_hash"].as_str().unwrap();
    assert!(hash.starts_with("sha256:") && hash.len() == 7 + 64);
    assert_eq!((&first["previous_hash"], &first["chain_length"]), (&Value::Null, &json!(1)));
    assert_eq!((&second["previous_hash"], &second["chain_length"]), (&first["event_hash"], &json!(2)));

    let more = (0..48).map(|_| ask(&agent, "adp_log_trace", vendor("agent-1")));
    futures::future::join_all(more).await;
    let whole = verify().await;
    assert_eq!((&whole["valid"], &whole["chain_length"]), (&json!(true), &json!(50)), "{whole}");
    assert_eq!(
        world.database.count("SELECT count(DISTINCT previous_hash) FROM agent_traces WHERE agent_id = 'agent-1'"),
        49
    );
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE previous_hash IS NULL"), 1);
    assert_eq!(recomputed_outside(&world), 50, "every hash recomputed by somebody else's code");

    let id = |seq: i64| {
        world.database.sql(&format!("SELECT trace_id FROM agent_traces WHERE agent_id = 'agent-1' AND seq = {seq}"))
    };
    let (tenth, thirtieth, after) = (id(10), id(30), id(31));
    world.database.sql("DELETE FROM agent_traces WHERE agent_id = 'agent-1' AND seq = 30");
    let broken = verify().await;
    assert_eq!(
        (&broken["valid"], &broken["broken_at"]),
        (&json!(false), &json!(after)),
        "a missing trace shows at the next"
    );
    assert_ne!(broken["broken_at"], json!(thirtieth));
    let nested = match kind {
        Kind::Sqlite => {
            "UPDATE agent_traces SET authorization = json_set(authorization, '$.required', json('true')) WHERE agent_id = 'agent-1' AND seq = 10"
        }
        Kind::Postgres => {
            "UPDATE agent_traces SET \"authorization\" = jsonb_set(\"authorization\", '{required}', 'true') WHERE agent_id = 'agent-1' AND seq = 10"
        }
    };
    world.database.sql(nested);
    assert_eq!(verify().await["broken_at"], json!(tenth), "a nested change shows, and first");
    let (code, report) = world.verify();
    assert_eq!(code, 1);
    assert!(report.to_string().contains(&tenth), "audit verify names the first broken trace: {report}");
}

/// Recomputes every hash with Python's own JSON and SHA-256: for these values its sorted, compact form is canonical.
fn recomputed_outside(world: &World) -> usize {
    let script = r"
import hashlib, json, sys
good = 0
for line in sys.stdin:
    row = json.loads(line)
    said = row.pop('event_hash')
    text = json.dumps(row, sort_keys=True, separators=(',', ':'), ensure_ascii=False)
    good += said == 'sha256:' + hashlib.sha256(text.encode()).hexdigest()
print(good)
";
    let columns = "'trace_id', trace_id, 'agent_id', agent_id, 'event_type', event_type, 'decision_type', decision_type, \
        'risk_level', risk_level, 'reversibility', reversibility, 'classification_code', classification_code, \
        'description', description, 'reasoning', reasoning, 'previous_hash', previous_hash, 'event_hash', event_hash";
    let query = match &world.database {
        portreeve_tests::store::Database::Sqlite(_) => format!(
            "SELECT json_object({columns}, 'authorization', json(authorization), 'context', json(context), 'timestamp', created_at) \
             FROM agent_traces ORDER BY seq"
        ),
        portreeve_tests::store::Database::Postgres(_) => format!(
            "SELECT jsonb_build_object({columns}, 'authorization', \"authorization\", 'context', context, 'timestamp', \
             to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')) FROM agent_traces ORDER BY seq"
        ),
    };
    let rows = world.database.sql(&query);
    let mut python = std::process::Command::new("python3")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut python.stdin.take().unwrap(), rows.as_bytes()).unwrap();
    String::from_utf8(python.wait_with_output().unwrap().stdout).unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn a_chain_grows_and_shows_every_change_on_sqlite() {
    a_chain_grows_and_shows_every_change(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_chain_grows_and_shows_every_change_on_postgres() {
    a_chain_grows_and_shows_every_change(Kind::Postgres).await;
}

#[tokio::test]
async fn an_agent_writes_only_its_own_chain() {
    let world = World::on(Kind::Sqlite).start();
    let (one, _two) = (world.agent("one", "A3"), world.agent("two", "A3"));
    assert!(ask(&one, "adp_log_trace", vendor("two")).await.is_tool_error());
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'two'"), 0);
}

const EIGHT: [&str; 8] = [
    "adp_register_agent",
    "adp_classify",
    "adp_authorize",
    "adp_log_trace",
    "adp_evaluate_policy",
    "adp_validate",
    "adp_add_policy",
    "adp_verify_chain",
];

// acceptance 6: exactly the eight, at their own door and at everybody's, each with an object schema.
async fn the_eight_tools_are_offered(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A1").modern();
    for path in ["/adp/mcp", "/mcp"] {
        let answer = agent.post(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await.message();
        let listed = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{path}: {answer}")).clone();
        let own: Vec<&Value> =
            listed.iter().filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("adp_"))).collect();
        let names: Vec<&str> = own.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, EIGHT, "{path}");
        for tool in own {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }
}

#[tokio::test]
async fn the_eight_tools_are_offered_on_sqlite() {
    the_eight_tools_are_offered(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_eight_tools_are_offered_on_postgres() {
    the_eight_tools_are_offered(Kind::Postgres).await;
}

/// Everything that a question must not change.
fn counts(world: &World) -> Vec<i64> {
    let tables = ["agent_registry", "agent_api_keys", "agent_traces", "agent_policies"];
    tables.map(|table| world.database.count(&format!("SELECT count(*) FROM {table}"))).into()
}

// acceptance 11, acceptance 12: the example, the 48 combinations, and nothing written.
async fn classifying_is_a_pure_function(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A1");
    let before = counts(&world);
    for decision in ["D1", "D2", "D3", "D4"] {
        for risk in ["R1", "R2", "R3", "R4"] {
            for reversibility in ["total", "partial", "irreversible"] {
                let given = json!({ "type": decision, "risk_level": risk, "reversibility": reversibility });
                let high = ["R3", "R4"].contains(&risk);
                let expected = json!({
                    "classification_code": format!("{decision}-{risk}-{reversibility}"),
                    "risk_override": high,
                    "requires_escalation": high || decision == "D4",
                });
                assert_eq!(ask(&agent, "adp_classify", given).await.tool_json(), expected);
            }
        }
    }
    let wrong =
        ask(&agent, "adp_classify", json!({ "type": "D5", "risk_level": "R1", "reversibility": "total" })).await;
    assert!(wrong.is_tool_error() && wrong.text().contains("type"), "{}", wrong.text());
    assert_eq!(counts(&world), before);
}

#[tokio::test]
async fn classifying_is_a_pure_function_on_sqlite() {
    classifying_is_a_pure_function(Kind::Sqlite).await;
}

#[tokio::test]
async fn classifying_is_a_pure_function_on_postgres() {
    classifying_is_a_pure_function(Kind::Postgres).await;
}

// acceptance 13, acceptance 14, acceptance 15, acceptance 16, acceptance 17: cells, law, an agent's own limits, and who is not there.
async fn what_agents_may_decide(kind: Kind) {
    let world = World::on(kind).start();
    let levels = ["A1", "A2", "A3", "A4", "A5"];
    let agents = levels.map(|level| world.agent(&format!("agent-{level}"), level));
    let asking = &agents[0];
    let authorize = async |agent: &str, decision: &str, risk: &str| {
        let given = json!({ "agent_id": agent, "decision_type": decision, "risk_level": risk });
        ask(asking, "adp_authorize", given).await
    };
    assert_eq!(
        authorize("agent-A3", "D2", "R2").await.tool_json(),
        json!({ "result": "authorized", "override_applied": false, "reasons": [], "matrix_cell": "A3 x D2 = AUTHORIZED" })
    );
    let matrix = read(asking, "/adp/mcp", "adp://matrix").await;
    for level in levels {
        for decision in ["D1", "D2", "D3", "D4"] {
            for risk in ["R1", "R2", "R3", "R4"] {
                let said = authorize(&format!("agent-{level}"), decision, risk).await.tool_json();
                let cell = &matrix["matrix"][level][decision];
                if risk == "R1" {
                    assert_eq!(said["result"], *cell, "{level} x {decision}");
                }
                let shown = format!("{level} x {decision} = {}", cell.as_str().unwrap().to_uppercase());
                assert_eq!(said["matrix_cell"], shown.as_str());
                let law = decision == "D4" || ["R3", "R4"].contains(&risk);
                assert_eq!(said["override_applied"], law, "{said}");
                assert_eq!(said["reasons"].as_array().is_some_and(Vec::is_empty), !law, "{said}");
                assert!(!law || said["result"] != "authorized", "{said}");
            }
        }
    }

    world.agent_with("narrow", &["--autonomy", "A5", "--allowed-types", "D1", "--max-risk", "R1"]);
    for (decision, risk, result) in
        [("D2", "R1", "prohibited"), ("D1", "R2", "approval_required"), ("D1", "R1", "authorized")]
    {
        let said = authorize("narrow", decision, risk).await.tool_json();
        assert_eq!(said["result"], result, "{said}");
        assert_eq!(said["reasons"].as_array().map(Vec::len), Some(usize::from(result != "authorized")), "{said}");
    }

    world.agent("asleep", "A5");
    assert!(world.cli(&["agent", "suspend", "asleep", "--tenant", "acme"]).status.success());
    assert!(world.cli(&["tenant", "add", "zeta"]).status.success());
    world.cli_json(&["agent", "add", "theirs", "--tenant", "zeta", "--autonomy", "A5"]);
    for absent in ["nobody", "asleep", "theirs"] {
        let refused = authorize(absent, "D1", "R1").await;
        assert!(refused.is_tool_error(), "{absent}");
        assert_eq!(refused.tool_json(), "Agent not found or inactive", "{absent}");
    }
}

#[tokio::test]
async fn what_agents_may_decide_on_sqlite() {
    what_agents_may_decide(Kind::Sqlite).await;
}

#[tokio::test]
async fn what_agents_may_decide_on_postgres() {
    what_agents_may_decide(Kind::Postgres).await;
}

/// A JSON resource, read and parsed.
pub async fn read(caller: &Agent, path: &str, uri: &str) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } });
    let answer = caller.post(path, &message).await.message();
    let contents = &answer["result"]["contents"][0];
    assert_eq!(contents["uri"], uri, "{answer}");
    let text = contents["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{uri} is no JSON: {text}"))
}
