//! The strict parser, the scanner and `serde_json`: three readers that must not disagree.

use std::collections::BTreeSet;

use bytes::Bytes;
use gateway_protocol::json::{check, parse_strict};
use gateway_protocol::message::{self, MAX_BATCH};
use gateway_protocol::{Body, Malformed, Message, Reply};
use serde_json::Value;

use super::{DEPTH, Outcome, ensure, reads_back, taken};

/// The longest text of a refusal: it may show what was sent, but not send it back.
const LONGEST_REFUSAL: usize = 1024;

pub fn parse(input: &[u8]) -> Outcome {
    same_as_serde(input)?;
    let body = match message::parse(input, DEPTH) {
        Ok(body) => body,
        Err(refusal) => return refused(&refusal),
    };
    ensure(body.messages().len() <= MAX_BATCH, || "a batch beyond its limit".into())?;
    for message in body.messages() {
        reads_back(message)?;
        no_twins(message)?;
        as_reply(message)?;
    }
    if let Body::One(message) = &body {
        let scanned = Reply::scan(Bytes::copy_from_slice(input), DEPTH);
        let scanned = scanned.map_err(|refusal| format!("parsed but not scanned: {refusal}"))?;
        ensure(scanned.message().as_ref() == Ok(message), || "the scanned reply is another message".into())?;
    }
    let shape: Vec<_> =
        body.messages().iter().take(3).map(|one| (one.method(), one.params().map(|all| all.len()))).collect();
    Ok(taken((body.messages().len(), shape)))
}

/// Both read the same value, or ours refuses for a reason that is not syntax.
fn same_as_serde(input: &[u8]) -> Result<(), String> {
    let strict = parse_strict(input, DEPTH);
    let checked = check(input, DEPTH);
    ensure(strict.is_err() || checked.is_ok(), || "built a tree of what the scanner refuses".into())?;
    match (serde_json::from_slice::<Value>(input), strict) {
        (Ok(value), Ok(strict)) => ensure(value == strict, || format!("serde_json reads {value}, we read {strict}")),
        (Ok(_), Err(error)) => ensure(!error.is_syntax(), || format!("only we refuse: {error}")),
        (Err(error), Ok(_)) => {
            // Its own bound is one level lower than ours.
            ensure(error.to_string().contains("recursion limit"), || format!("only serde_json refuses: {error}"))
        }
        (Err(_), Err(_)) => Ok(()),
    }
}

fn refused(refusal: &Malformed) -> Outcome {
    ensure(refusal.message.len() <= LONGEST_REFUSAL, || format!("a refusal of {} bytes", refusal.message.len()))?;
    reads_back(&refusal.to_message())?;
    // Without the quoted input, or every misspelling would look new.
    let kind: String = refusal.message.split('`').step_by(2).collect();
    let kind: String = kind.chars().filter(|c| !c.is_ascii_digit()).collect();
    Ok(taken((refusal.code, kind, refusal.id.is_some())))
}

/// No reader that ignores case may find a second meaning.
fn no_twins(message: &Message) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for key in message.params().into_iter().flatten().map(|(key, _)| key) {
        ensure(seen.insert(key.to_lowercase()), || format!("`params.{key}` has a twin"))?;
    }
    Ok(())
}

fn as_reply(message: &Message) -> Result<(), String> {
    let reply = Reply::scan(message.to_vec().into(), DEPTH).map_err(|refusal| format!("not scanned: {refusal}"))?;
    ensure(reply == Reply::from_message(message), || format!("scanned as {reply:?}"))
}

pub fn reply_scan(input: &[u8]) -> Outcome {
    let raw = Bytes::copy_from_slice(input);
    let all = Reply::scan_all(&raw, DEPTH);
    for reply in all.iter().flatten() {
        // A slice of an array must be a message by itself.
        ensure(Reply::scan(reply.raw().clone(), DEPTH).as_ref() == Ok(reply), || format!("not by itself: {reply:?}"))?;
        noted_rightly(reply)?;
    }
    match Reply::scan(raw, DEPTH) {
        Ok(reply) => {
            ensure(all.as_deref() == Ok(std::slice::from_ref(&reply)), || "one message, but not one of all".into())?;
            let number = reply.message().is_ok();
            Ok(taken((format!("{:?}", reply.kind()), reply.id().is_some(), reply.method().map(str::len), number)))
        }
        Err(refusal) => {
            let parsed = matches!(message::parse(input, DEPTH), Ok(Body::One(_)));
            ensure(!parsed, || format!("parsed but not scanned: {refusal}"))?;
            refused(&refusal).map(|how| taken((how, all.map(|all| all.len()).ok())))
        }
    }
}

/// What the scan noted is what the tree says. A number beyond doubles has no tree.
fn noted_rightly(reply: &Reply) -> Result<(), String> {
    let Ok(message) = reply.message() else {
        return Ok(());
    };
    let built = Reply::from_message(&message);
    let noted = (reply.kind(), reply.id(), reply.method());
    ensure(noted == (built.kind(), built.id(), built.method()), || format!("noted {noted:?}, but it is {message:?}"))?;
    let _ = reply.progress_token();
    Ok(())
}
