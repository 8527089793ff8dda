//! What headers carry, and whether they say what the body says.

use gateway_protocol::headers::{self, McpHeaders, decode_value, encode_value};
use gateway_protocol::json::parse_strict;
use gateway_protocol::{Body, Message, Revision, message};

use super::{DEPTH, Outcome, ensure, taken, two_parts};

pub fn value(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let header = encode_value(&text);
    ensure(header.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')), || format!("not a header: {header:?}"))?;
    ensure(header.trim_matches([' ', '\t']) == header, || format!("a proxy would trim {header:?}"))?;
    ensure(decode_value(&header).as_deref() == Ok(&*text), || format!("{text:?} does not survive as {header:?}"))?;
    match decode_value(&text) {
        Ok(decoded) => {
            let again = encode_value(&decoded);
            ensure(decode_value(&again) == Ok(decoded.clone()), || format!("{decoded:?} does not survive"))?;
            Ok(taken((decoded.len().min(16), decoded != text, header != text)))
        }
        Err(error) => Ok(taken((error.to_string(), header != text))),
    }
}

/// The first line is a message, the rest header lines. What we derive for a message must agree with it, whatever a client sent.
pub fn agreement(input: &[u8]) -> Outcome {
    let (body, lines) = two_parts(input);
    let Ok(Body::One(message)) = message::parse(body, DEPTH) else {
        return Ok(0);
    };
    let sent = lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((std::str::from_utf8(line.get(..colon)?).ok()?, line.get(colon + 1..)?))
    });
    let sent = McpHeaders::collect(sent);
    let declared = headers::declared_revision(&sent, &message);
    let agreed = headers::check_agreement(&sent, &message);
    for refusal in [declared.as_ref().err(), agreed.as_ref().err()].into_iter().flatten() {
        ensure(refusal.message.len() <= 1024, || format!("a refusal of {} bytes", refusal.message.len()))?;
        ensure(refusal.id.as_ref() == message.id(), || format!("a refusal that answers {:?}", refusal.id))?;
    }
    if agreed.is_ok() && matches!(message, Message::Request(_)) {
        ensure(sent.method.as_deref() == message.method(), || format!("agreed on another method: {sent:?}"))?;
    }
    own_headers_agree(&message)?;
    Ok(taken((declared.ok().flatten(), agreed.is_ok(), sent.params.len().min(4), sent.repeated.is_some())))
}

fn own_headers_agree(message: &Message) -> Result<(), String> {
    let told = headers::check_meta(message).is_ok() && message.meta().is_some();
    let Some(method) = message.method().filter(|method| told && encode_value(method) == **method) else {
        return Ok(());
    };
    let derived = headers::derive(message, Revision::LATEST);
    let collected = McpHeaders::collect(derived.iter().map(|(name, value)| (*name, value.as_bytes())));
    let named = matches!(method, "tools/call" | "prompts/get" | "resources/read") || method.starts_with("tasks/");
    // A call without a name has no header for it, and is refused for that.
    if named && collected.name.is_none() {
        return Ok(());
    }
    headers::check_agreement(&collected, message).map_err(|refusal| format!("our own headers are refused: {refusal}"))
}

/// The first line is a tool's definition, the rest the arguments of a call.
pub fn mirrored(input: &[u8]) -> Outcome {
    let (definition, arguments) = two_parts(input);
    let (Ok(definition), Ok(arguments)) = (parse_strict(definition, DEPTH), parse_strict(arguments, DEPTH)) else {
        return Ok(0);
    };
    let mirrored = headers::mirrored(&definition);
    let own = headers::derive_mirrored(&mirrored, Some(&arguments));
    let check = |lines: &[(String, String)]| {
        let collected = McpHeaders::collect(lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        headers::check_mirrored(&collected, &mirrored, Some(&arguments))
    };
    check(&own).map_err(|refusal| format!("our own headers are refused: {refusal}"))?;
    for left_out in 0..own.len() {
        let mut lines = own.clone();
        let (name, value) = lines.remove(left_out);
        ensure(check(&lines).is_err(), || format!("`{name}` may be left out"))?;
        lines.push((name.clone(), format!("{value}x")));
        ensure(check(&lines).is_err(), || format!("`{name}` may say something else"))?;
    }
    Ok(taken((mirrored.len().min(8), own.len().min(8))))
}
