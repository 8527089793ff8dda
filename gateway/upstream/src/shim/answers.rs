//! What the gateway answered, whichever form it has.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use gateway_core::BoxError;
use gateway_protocol::json::DEFAULT_MAX_DEPTH;
use gateway_protocol::{Id, Message, Reply, wire};
use serde_json::Value;

use crate::http::carrier::Carried;

pub(super) fn answers(message: &[u8], question: &Message) -> bool {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let id = message.get("id").cloned().and_then(|id| Id::try_from(id).ok());
    message.get("method").is_none() && id.is_some() && id.as_ref() == question.id()
}

/// The messages of an answer, whichever form it has. Only JSON is passed on: nothing else may reach the output.
pub(super) async fn messages(answer: Carried) -> Result<BoxStream<'static, Result<Bytes, BoxError>>, BoxError> {
    if answer.is_stream() {
        let frames = answer.events().filter_map(|frame| async { frame.map(wire::message_of).transpose() });
        return Ok(frames.boxed());
    }
    let status = answer.status();
    let whole = answer.whole().await?;
    if whole.is_empty() {
        return Ok(stream::empty().boxed());
    }
    if Reply::scan_all(&whole, DEFAULT_MAX_DEPTH).is_err() {
        return Err(format!("status {status}, and no message").into());
    }
    Ok(stream::iter([Ok(whole)]).boxed())
}
