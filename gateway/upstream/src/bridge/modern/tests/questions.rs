//! A legacy server asks in the middle of a call.

use super::super::super::testing::question;
use super::*;

fn elicit(id: i64) -> Act {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    Act::ask(id, "elicitation/create", json!({ "message": "who?", "requestedSchema": schema }))
}

fn asks() -> Vec<Act> {
    vec![elicit(11), Act::Answered(11), Act::done("asked and answered")]
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "name": "Ada" } })
}

fn state(answer: &Value) -> Value {
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    answer["result"]["requestState"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_the_round_and_the_answer_continues_the_call() {
    let fake = FakeLegacy::new().tool("asks", asks());
    let bridge = bridge(&fake);
    let (status, answer) = said(&bridge, &tool(1, "asks")).await;
    assert_eq!((status, &answer["id"]), (200, &json!(1)));
    let asked = &answer["result"]["inputRequests"]["elicitation-1"];
    assert_eq!((&asked["method"], &asked["params"]["message"]), (&json!("elicitation/create"), &json!("who?")));
    let state = state(&answer);
    assert!(state.as_str().unwrap().starts_with("portreeve-held:"));
    assert_eq!(fake.answer_to(11), Value::Null);
    let (_, answer) = said(&bridge, &retry(2, "asks", &state, json!({ "elicitation-1": accepted() }))).await;
    assert_eq!((&answer["id"], text(&answer)), (&json!(2), "asked and answered"));
    assert_eq!(fake.answer_to(11)["result"], accepted());
    assert_eq!((fake.count("tools/call"), fake.count("notifications/cancelled")), (1, 0), "it was one call");
    let (status, again) = said(&bridge, &retry(3, "asks", &state, json!({ "elicitation-1": accepted() }))).await;
    assert_eq!((status, &again["error"]["code"]), (400, &json!(-32602)), "a state is good once");
}

#[tokio::test(start_paused = true)]
async fn several_questions_are_asked_at_once_and_what_is_left_open_again() {
    let roots = question(13, "roots/list", json!({}));
    let sample = Act::ask(12, "sampling/createMessage", json!({ "messages": [], "maxTokens": 5 }));
    let acts = vec![
        elicit(11),
        sample,
        Act::Pause(Duration::from_millis(20)),
        Act::Get(roots),
        elicit(14),
        Act::Answered(11),
        Act::Answered(12),
        Act::Answered(13),
        Act::Answered(14),
        elicit(15),
        Act::Answered(15),
        Act::done("at last"),
    ];
    let fake = FakeLegacy::new().tool("curious", acts);
    let bridge = bridge(&fake);
    let (_, answer) = said(&bridge, &tool(1, "curious")).await;
    let mut keys: Vec<_> = answer["result"]["inputRequests"].as_object().unwrap().keys().cloned().collect();
    keys.sort();
    assert_eq!(keys, ["elicitation-1", "elicitation-2", "roots-1", "sampling-1"]);

    let sampled = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hi" } });
    let some = json!({ "elicitation-1": accepted(), "sampling-1": sampled, "roots-1": "nonsense" });
    let (_, answer) = said(&bridge, &retry(2, "curious", &state(&answer), some)).await;
    let mut left: Vec<_> = answer["result"]["inputRequests"].as_object().unwrap().keys().cloned().collect();
    left.sort();
    assert_eq!(left, ["elicitation-2", "roots-1"]);
    assert_eq!(fake.answer_to(12)["result"], sampled);

    let rest = json!({ "elicitation-2": { "action": "decline" }, "roots-1": { "roots": [] } });
    let (_, answer) = said(&bridge, &retry(3, "curious", &state(&answer), rest)).await;
    let asked = answer["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["elicitation-3"], "a second round, under a key of its own");
    assert_eq!(fake.answer_to(14)["result"], json!({ "action": "decline" }), "no is an answer");
    let last = json!({ "elicitation-3": { "action": "cancel" } });
    let (_, answer) = said(&bridge, &retry(4, "curious", &state(&answer), last)).await;
    assert_eq!(text(&answer), "at last");
    assert_eq!(fake.count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_what_they_did_not_declare() {
    let acts = [elicit(11), Act::Answered(11), Act::ask(12, "ping", json!({})), Act::Answered(12), Act::done("alone")];
    let fake = FakeLegacy::new().tool("asks", acts);
    let bridge = bridge(&fake);
    let meta = described(&json!({ "roots": {} }));
    let (_, answer) = said(&bridge, &ask(&client(), 1, "tools/call", json!({ "name": "asks", "_meta": meta }))).await;
    assert_eq!(text(&answer), "alone");
    assert_eq!(fake.answer_to(11)["error"]["code"], -32601);
    assert_eq!(fake.answer_to(12)["result"], json!({}), "pong");
    assert_eq!(fake.last("initialize")["params"]["capabilities"], json!({ "roots": {} }));
    // Nor in a method that may not ask, nor while nothing is under way.
    let fake = FakeLegacy::new().tool("asks", [elicit(11), Act::Answered(11), Act::done("x")]);
    let bridge = super::bridge(&fake);
    bridge.call(&ask(&client(), 1, "vendor/do", json!({ "name": "asks" }))).await.unwrap();
    assert_eq!(fake.answer_to(11)["error"]["code"], -32601);
    fake.say(question(21, "roots/list", json!({})));
    fake.until(|fake| fake.answer_to(21)["error"]["code"] == -32601).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_answers_for_is_taken_back() {
    let roots = Act::ask(12, "roots/list", json!({}));
    let fake = FakeLegacy::new().tool("asks", [elicit(11), roots, Act::Silence]);
    let bridge = bridge(&fake);
    let (_, answer) = said(&bridge, &tool(1, "asks")).await;
    let state = state(&answer);
    fake.say(question(13, "roots/list", json!({})));
    tokio::time::sleep(Duration::from_secs(299)).await;
    assert_eq!(fake.count("notifications/cancelled"), 0);
    assert_eq!(fake.answer_to(13), Value::Null, "it rests with the call");
    tokio::time::sleep(Duration::from_secs(2)).await;
    fake.until(|fake| fake.count("notifications/cancelled") == 1).await;
    assert_eq!(fake.answer_to(11)["result"], json!({ "action": "cancel" }));
    assert!(fake.answer_to(12)["error"].is_object() && fake.answer_to(13)["error"].is_object());
    let (status, late) = said(&bridge, &retry(2, "asks", &state, json!({ "elicitation-1": accepted() }))).await;
    assert_eq!((status, &late["error"]["code"]), (400, &json!(-32602)));
    assert_eq!(late["error"]["message"], "Invalid or expired requestState");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_calls_of_one_principal_rest() {
    let fake = FakeLegacy::new().tool("asks", [elicit(11), Act::Silence]);
    let bridge = bridge(&fake);
    for id in 1..=16 {
        state(&said(&bridge, &tool(id, "asks")).await.1);
    }
    let (status, refused) = said(&bridge, &tool(17, "asks")).await;
    assert_eq!((status, &refused["error"]["code"]), (429, &json!(4290)));
    fake.until(|fake| fake.count("notifications/cancelled") == 1).await;
    assert_eq!(fake.last("notifications/cancelled")["params"]["requestId"], fake.last("tools/call")["id"]);
    let other = ask(&client().of("another"), 1, "tools/call", json!({ "name": "asks" }));
    state(&said(&bridge, &other).await.1);
    drop(bridge);
    fake.until(|fake| fake.count("notifications/cancelled") == 18).await;
}

#[tokio::test(start_paused = true)]
async fn a_state_is_its_owners_and_for_the_same_call() {
    let fake = FakeLegacy::new().tool("asks", asks()).tool("other", asks());
    let bridge = bridge(&fake);
    let (_, answer) = said(&bridge, &tool(1, "asks")).await;
    let state = state(&answer);
    let responses = json!({ "elicitation-1": accepted() });
    let stolen = json!({ "name": "asks", "arguments": { "a": 1 }, "requestState": state, "inputResponses": responses });
    let stolen = ask(&client().of("another"), 2, "tools/call", stolen);
    let changed =
        json!({ "name": "asks", "arguments": { "a": 2 }, "requestState": state, "inputResponses": responses });
    let changed = ask(&client(), 2, "tools/call", changed);
    let forged = retry(2, "asks", &json!("portreeve-held:nonsense"), responses.clone());
    for refused in [stolen, changed, forged, retry(2, "other", &state, responses.clone())] {
        assert_eq!(said(&bridge, &refused).await.0, 400);
    }
    assert_eq!(fake.answer_to(11), Value::Null, "the server heard of none of it");
    let (_, answer) = said(&bridge, &retry(2, "asks", &state, responses)).await;
    assert_eq!(text(&answer), "asked and answered");
}

#[tokio::test(start_paused = true)]
async fn pages_to_visit_first_are_a_question_too() {
    let data = json!({ "elicitations": [{ "mode": "url", "url": "https://a.test", "message": "sign in", "elicitationId": "e" }] });
    let error = json!({ "jsonrpc": "2.0", "id": "$id", "error": { "code": -32042, "message": "first", "data": data } });
    let fake = FakeLegacy::new().tool("guarded", [Act::Say(error)]);
    let bridge = bridge(&fake);
    let (_, answer) = said(&bridge, &tool(1, "guarded")).await;
    assert_eq!(answer["result"]["inputRequests"]["elicitation-1"]["params"]["url"], "https://a.test");
    let state = state(&answer);
    fake.tool("guarded", [Act::done("come in")]);
    let (_, answer) =
        said(&bridge, &retry(2, "guarded", &state, json!({ "elicitation-1": { "action": "accept" } }))).await;
    assert_eq!((text(&answer), fake.count("tools/call")), ("come in", 2), "the call was made again");
}
