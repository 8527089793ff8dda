//! Supabase's own server asks before it destroys. Its question reaches the user whichever era and wire the client has; where the user
//! cannot be asked at all, nothing is destroyed. A mock of its Management API, named as such, writes down what really happened.

use std::path::Path;

use portreeve_tests::messages::{initialize, initialized, request};
use portreeve_tests::process::Process;
use portreeve_tests::servers::supabase;
use portreeve_tests::{Agent, Answer, Kind, World, manifest};
use serde_json::{Value, json};

use crate::legacy_over_modern::raw::Raw;
use crate::real_clients::{python, typescript};

const EXECUTED: &str = "\"DROP TABLE public.pots\"\n";

struct Stage {
    world: World,
    agent: Agent,
    outside: tempfile::TempDir,
    _servers: (Process, Process),
}

impl Stage {
    fn set() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let (mock, server, port) = supabase(outside.path());
        let url = format!("http://127.0.0.1:{port}/mcp?features=database");
        let world = World::on(Kind::Sqlite)
            .upstream("supabase", json!({ "url": url, "headers": { "authorization": "Bearer sbp_made_up" } }))
            // Supabase's own question is what this is about: the gateway leaves the SQL to it.
            .manifest_file(
                "supabase",
                json!({
                    "manifests": [manifest("supabase", "execute_sql", "LOW_WRITE")],
                    "handling": { "supabase/execute_sql": { "sql": "off" } },
                }),
            )
            .start();
        let agent = world.agent("writer", "A3");
        Self { world, agent, outside, _servers: (mock, server) }
    }

    /// What the mock was told to execute, one line each.
    fn executed(&self) -> String {
        executed(self.outside.path())
    }
}

fn executed(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("executed.log")).unwrap_or_default()
}

fn drop_table() -> Value {
    json!({ "project_id": "story", "query": "DROP TABLE public.pots" })
}

/// What the person says, to a question that is really the server's: yes or no, and nothing to fill in.
fn person(action: &'static str) -> impl Fn(&Value) -> Value {
    move |asked| {
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        match action {
            "accept" => json!({ "action": action, "content": {} }),
            _ => json!({ "action": action }),
        }
    }
}

fn is_tool_error(message: &Value) -> bool {
    message["result"]["isError"] == json!(true) || message.get("error").is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_client_is_asked_before_a_table_is_dropped() {
    for revision in ["2025-11-25", "2025-06-18"] {
        let stage = Stage::set();
        let capabilities = json!({ "elicitation": {} });
        let (client, _) = Raw::hello(&stage.agent, "/supabase/mcp", revision, capabilities).await;
        for action in ["decline", "cancel"] {
            let said = client.call("execute_sql", drop_table(), person(action)).await;
            assert_eq!(said.len(), 2, "{revision} {action}: one question and the answer: {said:#?}");
            assert!(said[0]["params"]["message"].as_str().is_some_and(|text| text.contains("DROP")), "{said:#?}");
            assert_eq!(stage.executed(), "", "{revision} {action}: {said:#?}");
        }
        let said = client.call("execute_sql", drop_table(), person("accept")).await;
        assert!(!is_tool_error(said.last().unwrap()), "{revision}: {said:#?}");
        assert_eq!(stage.executed(), EXECUTED, "{revision}: once: {said:#?}");
        assert_eq!(stage.world.verify().0, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_comes_on_every_wire() {
    let stage = Stage::set();
    let (hello, ready) = (initialize("2025-11-25", json!({ "elicitation": {} })), initialized());
    let call = request(1, "tools/call", json!({ "name": "execute_sql", "arguments": drop_table() }));
    let response =
        |asked: &Value, action| json!({ "jsonrpc": "2.0", "id": asked["id"], "result": person(action)(asked) });

    let mut socket = stage.agent.ws("/supabase/ws", &[]).unwrap();
    socket.ask(&hello);
    socket.send(&ready);
    socket.send(&call);
    let asked = socket.hear().unwrap();
    socket.send(&response(&asked, "decline"));
    assert_eq!(socket.hear().unwrap()["id"], 1);
    assert_eq!(stage.executed(), "");

    let mut stream = stage.agent.sse("/supabase/sse").await;
    stream.ask(&hello).await;
    assert_eq!(stream.send(&ready).await, 202);
    assert_eq!(stream.send(&call).await, 202);
    let asked = stream.hear().await;
    assert_eq!(stream.send(&response(&asked, "accept")).await, 202);
    let answer = stream.hear().await;
    assert!(answer["id"] == 1 && !is_tool_error(&answer), "{answer}");
    assert_eq!(stage.executed(), EXECUTED);
}

#[test]
fn legacy_clients_of_both_sdks_are_asked() {
    for accepts in [false, true] {
        let stage = Stage::set();
        let url = stage.world.url("/supabase/mcp");
        let (word, arguments) = (if accepts { "accept" } else { "decline" }, drop_table().to_string());
        let call =
            ["--callbacks", "--elicit", word, "--mode", "legacy", "--tool", "execute_sql", "--arguments", &arguments];
        let ask: fn(&str, &Agent, &[&str]) -> Value = if accepts { typescript } else { python };
        let answer = ask(&url, &stage.agent, &call);
        assert_eq!(answer["protocol_version"], "2025-11-25", "{answer}");
        assert!(answer["seen"]["elicitation"].to_string().contains("DROP"), "{answer}");
        assert_eq!(stage.executed(), if accepts { EXECUTED } else { "" }, "{answer}");
    }
}

// Their revisions have no way to ask. The server would take that for a client that needs no asking.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_cannot_be_asked_destroys_nothing() {
    let stage = Stage::set();
    for revision in ["2025-03-26", "2024-11-05"] {
        let (client, _) = Raw::hello(&stage.agent, "/supabase/mcp", revision, json!({})).await;
        let said = client.call("execute_sql", drop_table(), |asked| panic!("{revision} asked {asked}")).await;
        let answer = said.last().unwrap();
        assert_eq!(stage.executed(), "", "{revision}: {answer}");
        assert!(answer["result"].to_string().contains("was cancelled"), "{revision}: it is told: {answer}");
        let harmless = json!({ "project_id": "story", "query": "SELECT name FROM pots" });
        let said = client.call("execute_sql", harmless, |asked| panic!("{revision} asked {asked}")).await;
        assert!(
            said.last().unwrap().to_string().contains("teapot"),
            "{revision}: what needs no asking works: {said:#?}"
        );
        std::fs::remove_file(stage.outside.path().join("executed.log")).unwrap();
    }
}

async fn modern(agent: &Agent, state: Option<&Value>, answers: Option<Value>) -> Answer {
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } } });
    let mut params = json!({ "name": "execute_sql", "arguments": drop_table(), "_meta": meta });
    if let (Some(state), Some(answers)) = (state, answers) {
        params["requestState"] = state.clone();
        params["inputResponses"] = answers;
    }
    agent.modern().post("/supabase/mcp", &request(1, "tools/call", params)).await
}

// The server itself would send the statement again to whoever shows the same state within two minutes.
#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_is_good_once_and_for_its_owner() {
    let stage = Stage::set();
    let stranger = stage.world.agent("other", "A3");
    let asked = modern(&stage.agent, None, None).await.message();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (name, question) = result["inputRequests"].as_object().and_then(|inputs| inputs.iter().next()).unwrap();
    let answers = json!({ name: person("accept")(question) });
    let state = &result["requestState"];

    let refused = |answer: &Answer, what: &str| {
        assert_eq!(
            (answer.status, &answer.message()["error"]["code"]),
            (400, &json!(-32602)),
            "{what}: {}",
            answer.text()
        );
    };
    refused(&modern(&stranger, Some(state), Some(answers.clone())).await, "another agent's");
    assert_eq!(stage.executed(), "");
    let done = modern(&stage.agent, Some(state), Some(answers.clone())).await;
    assert!(done.status == 200 && !is_tool_error(&done.message()), "{}", done.text());
    assert_eq!(stage.executed(), EXECUTED);
    refused(&modern(&stage.agent, Some(state), Some(answers)).await, "used");
    assert_eq!(stage.executed(), EXECUTED, "not again");
    assert_eq!(stage.world.verify().0, 0);
}
