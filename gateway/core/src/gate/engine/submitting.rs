//! What is added to a run without moving it: submissions, and the transcript of calls.

use serde::Serialize;

use super::super::records::{CallError, Entry, Submission, ToolCall};
use super::super::requests::SubmitRequest;
use super::super::run::Head;
use super::super::{Correlation, Digest, GateTime, PAYLOAD_BYTES, Refusal};
use super::Step;

/// `existing`: what is stored under the same submission id.
pub fn submit(head: &Head, request: &SubmitRequest, existing: Option<&Submission>) -> Result<Submitted, Refusal> {
    let (actual, content_hash) = request.payload.measured()?;
    if actual > PAYLOAD_BYTES {
        return Err(Refusal::TooLarge { what: "the payload in bytes".into(), limit: PAYLOAD_BYTES, actual });
    }
    if let Some(existing) = existing {
        let same = existing.content_hash == content_hash
            && existing.content_type == request.content_type
            && existing.payload == request.payload;
        return if same {
            Ok(Submitted::Again(Recorded { record: existing.clone() }))
        } else {
            Err(Refusal::SubmissionConflict(request.submission_id.to_string()))
        };
    }
    let record = Submission {
        submission_id: request.submission_id.clone(),
        run_id: head.run_id.clone(),
        payload: request.payload.clone(),
        content_type: request.content_type.clone(),
        content_hash,
        submitted_at: request.submitted_at,
        correlation_id: request.correlation_id.clone(),
    };
    let mut head = head.clone();
    let entry = Entry::Submission(record.clone());
    head.count(&entry)?;
    Ok(Submitted::New(Box::new(Step { head, entries: vec![entry], answer: Recorded { record } })))
}

#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    Again(Recorded),
    New(Box<Step<Recorded>>),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    pub record: Submission,
}

/// A call of somebody's, for the transcript.
pub struct Call<'a, R: Serialize> {
    pub method: &'a str,
    pub request: &'a R,
    pub at: GateTime,
    pub correlation_id: Option<Correlation>,
}

impl<A: Serialize> Step<A> {
    /// The call itself, written last: its response is the answer that was just made.
    pub fn with_call(mut self, call: &Call<'_, impl Serialize>) -> Result<Self, Refusal> {
        let hashes = (Digest::of_json(call.request)?, Digest::of_json(&self.answer)?);
        let entry = noted(&mut self.head, call.method, hashes, call.at, call.correlation_id.clone(), None)?;
        self.entries.push(entry);
        Ok(self)
    }
}

/// One more line of the transcript; also for a call that went through the gateway under this run. Such calls are noted
/// whatever the run's status is.
pub fn noted(
    head: &mut Head,
    method: &str,
    (request_hash, response_hash): (Digest, Digest),
    called_at: GateTime,
    correlation_id: Option<Correlation>,
    error: Option<CallError>,
) -> Result<Entry, Refusal> {
    let call_id = format!("call-{}", head.counts.tool_calls.entries + 1);
    let method = method.to_owned();
    let call = ToolCall { call_id, method, request_hash, response_hash, called_at, correlation_id, error };
    let entry = Entry::ToolCall(call);
    head.count(&entry)?;
    Ok(entry)
}
