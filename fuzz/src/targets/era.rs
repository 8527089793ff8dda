//! Requests that cross between the eras: what goes up comes down again, and what is written is read by the strictest reader.

use gateway_protocol::era::{self, Described, Filter, Handshake, Level};
use gateway_protocol::{Body, Id, Message, Request, Revision, headers, message};
use serde_json::{Map, Value};

use super::{DEPTH, Outcome, ensure, heard, reads_back, taken, two_parts};

/// The first line is a modern client's request, or news from an upstream; the rest is not looked at.
pub fn down(input: &[u8]) -> Outcome {
    let Ok(Body::One(message)) = message::parse(two_parts(input).0, DEPTH) else {
        return Ok(0);
    };
    let described = era::described(&message);
    if let Some(described) = &described {
        greeted(described)?;
    }
    match message {
        Message::Request(request) => {
            if let Some(params) = &request.params {
                listened(params, &request.id)?;
            }
            let Ok(fallen) = era::down::request(&request, Id::from(7_i64), Some(&Id::from("token"))) else {
                return Ok(taken((&request.method, described.is_some())));
            };
            reads_back(&Message::Request(fallen.clone()))?;
            let told = era::described(&Message::Request(fallen.clone())).is_some();
            ensure(!told, || format!("a legacy server is told what only a modern one knows: {fallen:?}"))?;
            let twice = era::down::request(&fallen, Id::from(7_i64), Some(&Id::from("token")));
            ensure(twice.as_ref() == Ok(&fallen), || format!("down twice it is {twice:?}, not {fallen:?}"))?;
            let level = described.as_ref().and_then(|described| described.level);
            Ok(taken((
                &request.method,
                described.is_some(),
                level.map(Level::as_str),
                fallen.params.map(|all| all.len()),
            )))
        }
        Message::Notification(mut news) => {
            let how = taken((&news.method, Level::of(&news).map(Level::as_str), news.params.as_ref().map(Map::len)));
            for to in Revision::ALL {
                if let Some(fallen) = era::down_results::notification(news.clone(), to) {
                    heard(&Message::Notification(fallen))?;
                }
            }
            if let Some(risen) = era::up_results::notification(news.clone()) {
                heard(&Message::Notification(era::tagged(risen, &Id::from(1_i64))))?;
            }
            news = era::under_token(news, &Id::from("mine"));
            heard(&Message::Notification(news))?;
            Ok(how)
        }
        Message::Response(_) => Ok(1),
    }
}

/// What a modern request says of its client must make a handshake that says the same.
fn greeted(described: &Described) -> Result<(), String> {
    for to in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
        let handshake = described.handshake(to);
        let params = handshake.to_params();
        reads_back(&Message::request(1_i64, "initialize", Some(params.clone())))?;
        let read = Handshake::of_initialize(&params);
        ensure(read.revision == to, || format!("{to} was offered, {} is read", read.revision))?;
        ensure(read.capabilities == handshake.capabilities, || format!("{read:?} is not {handshake:?}"))?;
    }
    Ok(())
}

fn listened(params: &Map<String, Value>, id: &Id) -> Result<(), String> {
    let Some(filter) = Filter::of(params) else {
        return Ok(());
    };
    let again = Map::from_iter([("notifications".to_owned(), filter.to_value())]);
    ensure(Filter::of(&again).as_ref() == Some(&filter), || format!("{filter:?} is not read back"))?;
    heard(&Message::Notification(era::acknowledged(&filter, id)))
}

/// The first line is a legacy client's request, the second the params of its `initialize`.
pub fn up(input: &[u8]) -> Outcome {
    let (body, said) = two_parts(input);
    let Ok(Body::One(Message::Request(request))) = message::parse(body, DEPTH) else {
        return Ok(0);
    };
    let Ok(said) = gateway_protocol::json::parse_strict(two_parts(said).0, DEPTH) else {
        return Ok(1);
    };
    let handshake = Handshake::of_initialize(&said.as_object().cloned().unwrap_or_default());
    let token = request.params.as_ref().and_then(|params| params.get("token")).map(|_| Id::from("up"));
    let risen = era::up::request(&request, Id::from(9_i64), token.as_ref(), &handshake, Some(Level::Notice));
    modern(&risen)?;
    let answers = Map::from_iter([("k".to_owned(), said.clone())]);
    let asked_again = era::up::retry(&risen, Id::from(10_i64), answers, Some("state".into()));
    modern(&asked_again)?;

    // A request that used modern words loses them on the way; after that nothing more may change.
    let Ok(fallen) = era::down::request(&asked_again, request.id.clone(), None) else {
        return Ok(taken((&request.method, "gone")));
    };
    ensure(era::down::request(&risen, request.id.clone(), None) == Ok(fallen.clone()), || {
        format!("a retry leaves its traces: {fallen:?}")
    })?;
    let plain = era::down::request(&request, request.id.clone(), None);
    ensure(plain == Ok(fallen.clone()), || format!("up and down it is {fallen:?}, straight down {plain:?}"))?;
    let asked = handshake.can_be_asked();
    Ok(taken((&request.method, handshake.revision, asked, fallen.params.map(|all| all.len().min(6)))))
}

fn modern(request: &Request) -> Result<(), String> {
    let message = Message::Request(request.clone());
    reads_back(&message)?;
    headers::check_meta(&message).map_err(|refusal| format!("does not describe itself: {refusal}"))?;
    let described = era::described(&message).ok_or("does not describe itself")?;
    ensure(described.level == Some(Level::Notice), || format!("forgot its level: {described:?}"))
}
