//! The demo's story, played once against the running gateway: a list, a call that passes, one whose answer is redacted, one that is refused, one that waits
//! for a person and runs once it is approved, and at the end the chain that holds all of it.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gateway_core::Autonomy;
use gateway_core::approvals::{ApprovalQuery, ApprovalStatus, Via};
use gateway_core::desk::Who;
use gateway_core::verify::verify_chain;
use gateway_store::Store;
use serde_json::{Value, json};

use super::Addresses;
use super::agent::{PAYLOAD, TASKS};
use super::post::{Question, is_up, post, post_api};
use super::residents::{Resident, Residents};
use super::sheet::print;
use crate::cli::Failure;
use crate::config::Config;
use crate::desk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    AsExpected,
    Otherwise,
}

/// One act of the story and what must come of it.
struct Step {
    title: &'static str,
    who: Autonomy,
    path: &'static str,
    tool: Option<(&'static str, Value)>,
    expected: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A list with tools in it.
    Tools,
    Allowed,
    /// An answer without what is personal in it.
    Masked,
    /// So many messages are in the outbox: what was not approved did not happen, and what was happened once.
    Sent(u64),
    /// A person says yes to what this agent waits for.
    Approved,
    Decision(&'static str),
    /// A run of the tool agent in which all tools succeeded.
    Built,
}

fn story() -> Vec<Step> {
    let letter = json!({ "to": "tavish@example.com", "subject": "Lamps for the quay", "body": "Thursday is fine." });
    vec![
        Step {
            title: "the tools an agent sees",
            who: Autonomy::A3,
            path: "/mcp",
            tool: None,
            expected: Expected::Tools,
        },
        Step {
            title: "an advisory agent reads the database",
            who: Autonomy::A2,
            path: "/database/mcp",
            tool: Some((
                "execute_sql",
                json!({ "query": "SELECT count(*) AS conversations FROM agent_conversations" }),
            )),
            expected: Expected::Allowed,
        },
        Step {
            title: "the same agent looks up a customer, and is not shown what is personal",
            who: Autonomy::A2,
            path: "/crm/mcp",
            tool: Some(("get_contact", json!({ "id": 1 }))),
            expected: Expected::Masked,
        },
        Step {
            title: "a shadow agent tries to change a customer record",
            who: Autonomy::A1,
            path: "/crm/mcp",
            tool: Some(("update_contact", json!({ "id": 1, "phone": "+1 555 0199" }))),
            expected: Expected::Decision("deny"),
        },
        Step {
            title: "a supervised agent wants to send a message",
            who: Autonomy::A4,
            path: "/mail/mcp",
            tool: Some(("send_message", letter.clone())),
            expected: Expected::Decision("approval_required"),
        },
        Step {
            title: "nothing was sent meanwhile",
            who: Autonomy::A4,
            path: "/mail/mcp",
            tool: Some(("list_messages", json!({ "folder": "outbox" }))),
            expected: Expected::Sent(0),
        },
        Step {
            title: "a person approves it",
            who: Autonomy::A4,
            path: "/mail/mcp",
            tool: None,
            expected: Expected::Approved,
        },
        Step {
            title: "the same call now passes",
            who: Autonomy::A4,
            path: "/mail/mcp",
            tool: Some(("send_message", letter.clone())),
            expected: Expected::Allowed,
        },
        Step {
            title: "once more, and it waits for another yes",
            who: Autonomy::A4,
            path: "/mail/mcp",
            tool: Some(("send_message", letter)),
            expected: Expected::Decision("approval_required"),
        },
        Step {
            title: "one message was sent",
            who: Autonomy::A4,
            path: "/mail/mcp",
            tool: Some(("list_messages", json!({ "folder": "outbox" }))),
            expected: Expected::Sent(1),
        },
        Step {
            title: "a tool agent asks the database a question, and each of its calls is judged",
            who: Autonomy::A2,
            path: TASKS,
            tool: None,
            expected: Expected::Built,
        },
    ]
}

/// Every step is played, whatever came of the one before.
pub(super) fn walk(addresses: Addresses, config: &Config, residents: &Residents) -> Outcome {
    let address = addresses.mcp;
    if !comes_up(address) {
        print(&format!("the gateway does not answer at {address}"));
        return Outcome::Otherwise;
    }
    let mut outcome = Outcome::AsExpected;
    for (number, step) in story().iter().enumerate() {
        let (held, told) = match play(addresses, config, residents, step) {
            Ok((told, held)) => (held, told),
            Err(problem) => (false, problem),
        };
        let mark = if held { "as expected" } else { "NOT as expected" };
        print(&format!("{}. {} ({})\n   {mark}: {told}", number + 1, step.title, step.who));
        if !held {
            outcome = Outcome::Otherwise;
        }
    }
    outcome
}

fn comes_up(address: SocketAddr) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(15) {
        if is_up(address) {
            return true;
        }
        sleep(Duration::from_millis(50));
    }
    false
}

fn play(addresses: Addresses, config: &Config, residents: &Residents, step: &Step) -> Result<(String, bool), String> {
    let agent = residents.of(step.who).ok_or("there is no such agent")?;
    if step.expected == Expected::Approved {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let approved = runtime.map_err(|error| error.to_string())?.block_on(approve(config, residents, agent));
        return approved.map(|told| (told, true)).map_err(|error| error.to_string());
    }
    let key = agent.key.as_ref().ok_or("its key is not known")?.reveal();
    if step.expected == Expected::Built {
        return run_tool_agent(addresses.console, key).map_err(|error| error.to_string());
    }
    let method = if step.tool.is_some() { "tools/call" } else { "tools/list" };
    let question = Question { path: step.path, key, method, tool: step.tool.clone() };
    let (status, answer) = post(addresses.mcp, &question).map_err(|error| error.to_string())?;
    Ok(judged(status, &answer, step.expected))
}

/// With the payload that is shipped beside the agent.
fn run_tool_agent(console: SocketAddr, key: &str) -> std::io::Result<(String, bool)> {
    let payload: Value = serde_json::from_str(PAYLOAD)?;
    let (status, answer) = post_api(console, TASKS, key, &json!({ "mode": "build", "payload": payload }))?;
    let (done, all) = (answer.pointer("/metadata/successfulTools"), answer.pointer("/metadata/toolsExecuted"));
    let (Some(done), Some(all)) = (done.and_then(Value::as_u64), all.and_then(Value::as_u64)) else {
        return Ok((format!("HTTP {status}: {answer}"), false));
    };
    let summary = answer.pointer("/results/3/result/summary").and_then(Value::as_str).unwrap_or_default();
    Ok((format!("{done} of {all} tools succeeded. {summary}"), status == 200 && done == 4 && all == 4))
}

/// What `portreeve approval approve` does.
async fn approve(
    config: &Config,
    residents: &Residents,
    agent: &Resident,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let store = Store::open(config.store.reveal()).await?;
    let (desk, person) = (desk::without_rules(&store, config), Who::Operator("tour".into()));
    let query = ApprovalQuery {
        tenant: Some(residents.tenant),
        status: Some(ApprovalStatus::Pending),
        agent: Some(agent.id.clone()),
        limit: 1,
    };
    let waiting = desk.approvals(&person, query).await?.pop().ok_or("nothing waits")?;
    let id = waiting.asked.id;
    let told = match desk.decide(&person, Via::Cli, id, true, Some("part of the tour".into())).await {
        Ok(decided) => Ok(format!("approval {id} is {}", decided.status)),
        Err(error) => Err(error.into()),
    };
    store.close().await;
    told
}

/// What to tell, and whether it is what the story says.
fn judged(status: u16, answer: &Value, expected: Expected) -> (String, bool) {
    let result = answer.get("result");
    let decision = result.and_then(|result| result.pointer("/_meta/io.portreeve~1decision"));
    let failed = result.and_then(|result| result.get("isError")).and_then(Value::as_bool).unwrap_or(false);
    let text = result.and_then(|result| result.pointer("/content/0/text")).and_then(Value::as_str);
    let told = text.map_or_else(|| answer.to_string(), Into::into);
    match expected {
        Expected::Tools => {
            let tools = result.and_then(|result| result.get("tools")).and_then(Value::as_array);
            let names: Vec<_> = tools.into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str()).collect();
            if names.is_empty() {
                return (format!("HTTP {status}: {told}"), false);
            }
            (format!("{} tools: {}", names.len(), names.join(", ")), status == 200)
        }
        Expected::Allowed => (told, status == 200 && result.is_some() && !failed),
        Expected::Masked => {
            let personal = ["@example", "4111"].iter().any(|canary| told.contains(canary));
            let masked = told.contains("[EMAIL]") && told.contains("[CARD]");
            (told, !failed && masked && !personal)
        }
        Expected::Approved | Expected::Built => (told, false),
        Expected::Sent(wanted) => {
            let sent =
                result.and_then(|result| result.pointer("/structuredContent/counts/outbox")).and_then(Value::as_u64);
            let told = sent.map_or(told, |sent| format!("{sent} messages in the outbox"));
            (told, sent == Some(wanted))
        }
        Expected::Decision(wanted) => {
            let held = decision.and_then(|decision| decision.get("decision")).and_then(Value::as_str) == Some(wanted);
            (told, held)
        }
    }
}

/// What `audit verify` would say of the agents that took part.
pub(super) async fn verify(store: &Store, residents: &Residents) -> Result<bool, Failure> {
    let ledger = store.ledger();
    let mut lines = Vec::new();
    let mut held = true;
    for step in [Autonomy::A1, Autonomy::A2, Autonomy::A4] {
        let Some(agent) = residents.of(step) else { continue };
        let report = verify_chain(&*ledger, Some(residents.tenant), &agent.id, None).await?;
        // Each of them asked something that decides, so that an empty chain would be a forgotten one.
        held &= report.valid && report.chain_length > 0;
        let broken = report.broken_at.map(|trace| format!(", broken at {trace}")).unwrap_or_default();
        let word = if report.valid { "valid" } else { "BROKEN" };
        lines.push(format!("{}: {word}, {} traces{broken}", agent.id, report.chain_length));
    }
    let mark = if held { "as expected" } else { "NOT as expected" };
    print(&format!("{}. every decision is in its agent's chain\n   {mark}: {}", story().len() + 1, lines.join("; ")));
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_held_against_the_story() {
        let refused = |decision: &str| {
            json!({ "result": {
                "content": [{ "type": "text", "text": "no" }],
                "isError": true,
                "_meta": { "io.portreeve/decision": { "decision": decision } },
            } })
        };
        let listed = json!({ "result": { "tools": [{ "name": "a" }, { "name": "b" }] } });
        let outbox =
            |sent: u64| json!({ "result": { "content": [], "structuredContent": { "counts": { "outbox": sent } } } });
        let plain = json!({ "result": { "content": [{ "type": "text", "text": "42" }] } });
        for (answer, expected, told, held) in [
            (&listed, Expected::Tools, "2 tools: a, b", true),
            (&json!({ "result": { "tools": [] } }), Expected::Tools, "HTTP 200: {\"result\":{\"tools\":[]}}", false),
            (&plain, Expected::Allowed, "42", true),
            (&refused("deny"), Expected::Allowed, "no", false),
            (&refused("deny"), Expected::Decision("deny"), "no", true),
            (&refused("deny"), Expected::Decision("approval_required"), "no", false),
            (&plain, Expected::Decision("deny"), "42", false),
            (&plain, Expected::Masked, "42", false),
            (&outbox(0), Expected::Sent(0), "0 messages in the outbox", true),
            (&outbox(1), Expected::Sent(1), "1 messages in the outbox", true),
            (&outbox(1), Expected::Sent(0), "1 messages in the outbox", false),
        ] {
            assert_eq!(judged(200, answer, expected), (told.to_owned(), held), "{answer}");
        }
    }
}
