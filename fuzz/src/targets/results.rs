//! Results that cross between the eras, and the questions among them.

use bytes::Bytes;
use gateway_protocol::era::{self, Greeting, InputKind, up_results::Told};
use gateway_protocol::json::parse_reply;
use gateway_protocol::{Id, Message, Outcome as Answer, Reply, ResultKind, Revision, RpcError};
use serde_json::Value;

use super::{ADDED, DEPTH, Outcome, ensure, heard, reads_back, taken, two_parts};

/// The first line is the method that was asked, the rest the result or the error's `data`.
pub fn results(input: &[u8]) -> Outcome {
    let (method, rest) = two_parts(input);
    let (method, Ok(result)) = (String::from_utf8_lossy(method), parse_reply(rest, DEPTH)) else {
        return Ok(0);
    };
    let server = greeting(&result)?;
    let mut sizes = Vec::new();
    for to in Revision::ALL {
        let fallen = era::down_results::result(&method, result.clone(), to);
        let twice = era::down_results::result(&method, fallen.clone(), to);
        ensure(twice == fallen, || format!("down to {to} twice it is {twice}, not {fallen}"))?;
        sizes.push(scanned(&fallen)?.min(4096) / 64);
    }
    let risen = era::up_results::result(&method, result.clone(), &server, era::up_results::Hints::default());
    let twice = era::up_results::result(&method, risen.clone(), &server, era::up_results::Hints::default());
    ensure(twice == risen, || format!("up twice it is {twice}, not {risen}"))?;
    scanned(&risen)?;
    if risen.is_object() {
        let kind = Reply::from_message(&Message::result(Id::from(1_i64), risen.clone())).kind();
        let complete = matches!(kind, gateway_protocol::ReplyKind::Result { kind: ResultKind::Complete, .. });
        ensure(complete, || format!("a legacy result became {kind:?}"))?;
    }
    let told = failures(&method, &result)?;
    Ok(taken((method, sizes, told, result.is_object())))
}

fn greeting(result: &Value) -> Result<Greeting, String> {
    let greeting =
        Greeting::of_discover(result).or_else(|| Greeting::of_initialize(result)).unwrap_or_else(|| Greeting {
            revision: Revision::LATEST_LEGACY,
            supported: Vec::new(),
            capabilities: result.as_object().cloned().unwrap_or_default(),
            server_info: result.get("serverInfo").cloned().unwrap_or_default(),
            instructions: None,
        });
    let discovered = greeting.to_discover();
    ensure(Greeting::of_discover(&discovered).is_some(), || format!("no answer to `server/discover`: {discovered}"))?;
    for offered in Revision::ALL {
        let (settled, answer) = greeting.to_initialize(Some(offered.as_str()));
        let read = Greeting::of_initialize(&answer);
        ensure(read.is_some_and(|read| read.revision == settled), || format!("no answer to `initialize`: {answer}"))?;
    }
    Ok(greeting)
}

/// What an upstream's error with this data means to the other era.
fn failures(method: &str, data: &Value) -> Result<usize, String> {
    let mut asked = 0;
    for code in [-32002, -32042, -32020, -32601, -32603, 1] {
        let error = RpcError { code, message: "no".into(), data: Some(data.clone()) };
        reads_back(&Message::error(Some(Id::from(1_i64)), era::down_results::error(error.clone())))?;
        match era::up_results::error(method, &error) {
            Told::Error { error, status } => {
                ensure((200..600).contains(&status), || format!("status {status}"))?;
                reads_back(&Message::error(Some(Id::from(1_i64)), error))?;
            }
            Told::Ask(inputs) => asked += inputs.len(),
        }
    }
    Ok(asked)
}

/// The size of a result as it goes out, once it is certain that a gateway could read it.
fn scanned(result: &Value) -> Result<usize, String> {
    let bytes = Message::result(Id::from(1_i64), result.clone()).to_vec();
    let size = bytes.len();
    let reply = Reply::scan(Bytes::from(bytes), DEPTH + ADDED).map_err(|refusal| format!("not scanned: {refusal}"))?;
    ensure(reply.message().is_ok(), || "scanned but not read".into())?;
    Ok(size)
}

/// The questions of a modern result, asked of clients of every revision, and answered with anything.
pub fn inputs(input: &[u8]) -> Outcome {
    let Ok(result) = parse_reply(two_parts(input).1, DEPTH) else {
        return Ok(0);
    };
    for kind in InputKind::ALL {
        answered(kind, &result)?;
    }
    let Some(required) = era::input_required(&result) else {
        return Ok(1);
    };
    let mut asked = Vec::new();
    for (_, kind, params) in &required.inputs {
        for to in Revision::ALL {
            let question = era::question(*kind, params.as_ref(), Id::from("q"), to);
            asked.push((*kind, question.is_some()));
            if let Some(question) = question {
                ensure(InputKind::of(&question.method) == Some(*kind), || format!("{kind:?} became {question:?}"))?;
                heard(&Message::Request(question))?;
            }
        }
        let _ = kind.may_ask(params.as_ref(), result.as_object().unwrap_or(&serde_json::Map::new()));
    }
    let server = greeting(&result)?;
    let modern = era::asking(required.inputs.clone(), required.state.as_deref(), &server);
    scanned(&modern)?;
    let again = era::input_required(&modern).ok_or_else(|| format!("no questions in {modern}"))?;
    ensure(again.state == required.state, || format!("the state became {:?}", again.state))?;
    ensure(again.inputs.len() == required.inputs.len(), || {
        format!("{} questions became {modern}", required.inputs.len())
    })?;
    let twice = era::asking(again.inputs, again.state.as_deref(), &server);
    ensure(twice == modern, || format!("asked twice it is {twice}, not {modern}"))?;
    Ok(taken((asked, required.state.is_some())))
}

fn answered(kind: InputKind, answer: &Value) -> Result<(), String> {
    let fallen = era::down::answer(kind, answer);
    scanned(&fallen)?;
    if let Ok(risen) = era::up::answer(kind, &Answer::Result(answer.clone())) {
        ensure(kind.is_answered_by(&risen), || format!("{risen} is no answer to {kind:?}"))?;
        ensure(era::down::answer(kind, &risen) == risen, || format!("{risen} changes once more"))?;
    }
    Ok(())
}
