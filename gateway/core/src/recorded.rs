//! What a record says of the call it is of, and whether that is enough to ask about the call again.
//!
//! A trace keeps who called what and what was decided, not the world around it: suspensions, definitions, runs and tokens as
//! they were. Whoever was refused because of those is not asked again, or the answer would be another for no reason but that
//! the world went on.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::classification::Classification;
use crate::digest;
use crate::identity::{Principal, PrincipalKind};
use crate::names::{AgentId, TenantId, ToolName};
use crate::ports::RecordedCall;
use crate::verdict::{Decision, Heard, PolicyMode, Reason};

const CLOSED: &str = "a gate was closed to it, and where its run was then is not kept";
/// Judges whose word depends on what no trace keeps.
const OF_THAT_MOMENT: [(&str, &str); 6] = [
    ("gate", CLOSED),
    ("standing", "it was stopped by a suspension, which is no policy"),
    ("pins", "its tool was not as it had been accepted, which is no policy"),
    ("schema", "its arguments did not fit the schema that its tool had then"),
    ("dlp", "what it held was not let through, and not kept"),
    ("scopes", "its token did not reach as far, and what tokens reach is not kept"),
];
/// Who speaks after the rules have: about a human's yes, or the state of a conversation.
const AFTER_THE_RULES: [&str; 2] = ["approvals", "rounds"];

/// Who called what, when.
pub(crate) struct Recorded {
    pub principal: Principal,
    pub tool: ToolName,
    pub arguments: Kept,
    pub at: Timestamp,
    /// What the agent itself called it.
    pub declared: Option<Classification>,
}

impl Recorded {
    pub fn of(call: &RecordedCall) -> Result<Self, &'static str> {
        let event = &call.trace.event;
        let text = |key: &str| event.context.get(key).and_then(Value::as_str);
        let tool: ToolName = text("tool").and_then(|tool| tool.parse().ok()).ok_or("not a tool call")?;
        let agent: AgentId = event.agent_id.parse().map_err(|_| "its agent has no readable name")?;
        let acting = text("as").ok_or("recorded before the caller's own limits were")?;
        let principal = acting_as(acting, call.tenant, agent).ok_or("the caller's own limits cannot be read")?;
        let declared = declared(&event.context)?;
        let at = event.timestamp.parse().map_err(|_| "its time cannot be read")?;
        Ok(Self { principal, arguments: arguments(call, &tool), tool, at, declared })
    }
}

/// A judge's word as a trace keeps it.
#[derive(Deserialize)]
struct Word {
    plugin: String,
    verdict: String,
    #[serde(default)]
    observed: bool,
    #[serde(default)]
    reason: Option<Reason>,
}

/// What was said and obeyed.
fn words(call: &RecordedCall) -> impl Iterator<Item = Word> {
    let verdicts = call.trace.event.context.get("verdicts").and_then(Value::as_array);
    let read = verdicts.into_iter().flatten().filter_map(|verdict| Word::deserialize(verdict).ok());
    read.filter(|word| !word.observed)
}

/// What was taken out of an answer, told beside the call or the list that it belongs to: nothing was decided there.
pub(crate) fn is_note(call: &RecordedCall) -> bool {
    let context = &call.trace.event.context;
    context.get("dlp").is_some() && context.get("decision").is_none()
}

/// What the rules decided. A human's yes or no came after them, and so did the state of a conversation.
pub(crate) fn decided(call: &RecordedCall) -> Result<Decision, &'static str> {
    let context = &call.trace.event.context;
    if context.get("tool").is_none() {
        return Err("not a tool call");
    }
    let decision = context.get("decision").and_then(|decision| Decision::deserialize(decision).ok());
    let decision = decision.ok_or("not a decision of the gateway")?;
    // What ran because a human said yes was an escalation to the rules.
    if context.get("approval").is_some() {
        return Ok(Decision::ApprovalRequired);
    }
    let (after, rules): (Vec<_>, Vec<_>) =
        words(call).partition(|word| AFTER_THE_RULES.contains(&word.plugin.as_str()));
    if after.is_empty() {
        return Ok(decision);
    }
    let strictest = rules.iter().map(|word| match word.verdict.as_str() {
        "grant" => Decision::Allow,
        "escalate" => Decision::ApprovalRequired,
        _ => Decision::Deny,
    });
    Ok(strictest.max().unwrap_or(decision))
}

/// An objection that nobody can hear again, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unrepeatable {
    pub judge: &'static str,
    pub why: &'static str,
    pub reason: Reason,
}

impl Unrepeatable {
    /// As it was heard then.
    pub fn heard(&self) -> Heard {
        let (plugin, reason) = (self.judge, Some(self.reason.clone()));
        Heard { plugin, verdict: "deny", reason, mode: PolicyMode::Enforce, observed: false, remedy: None }
    }
}

/// The refusals of a call that were not the policies' doing. `is_gate`: the policy of this id asks for a gate.
pub(crate) fn unrepeatable(call: &RecordedCall, is_gate: impl Fn(&str) -> bool) -> Vec<Unrepeatable> {
    let refused = words(call).filter(|word| word.verdict == "deny").filter_map(|word| word.reason);
    let because = |reason: &Reason| match (reason.plugin.as_str(), reason.rule.as_str()) {
        (_, "failed") => Some(("chain", "a judge failed on it")),
        ("manifest", "administrator") => Some(("manifest", "an administrator's key made it")),
        ("rules", policy) if is_gate(policy) => Some(("rules", CLOSED)),
        (plugin, _) => OF_THAT_MOMENT.into_iter().find(|(judge, _)| *judge == plugin),
    };
    refused.filter_map(|reason| because(&reason).map(|(judge, why)| Unrepeatable { judge, why, reason })).collect()
}

/// Whether somebody looked where the run of this scenario was.
pub(crate) fn looked_at_gate(call: &RecordedCall, scenario: &str) -> bool {
    let gates = call.trace.event.context.get("gate").and_then(Value::as_array);
    gates.into_iter().flatten().any(|gate| gate.get("scenario").and_then(Value::as_str) == Some(scenario))
}

/// What the agent itself called it: a call counts as no less.
fn declared(context: &Value) -> Result<Option<Classification>, &'static str> {
    if let Some(code) = context.get("declared") {
        let read = code.as_str().and_then(Classification::from_code);
        return read.map(Some).ok_or("what its agent called it cannot be read");
    }
    let raised = context.get("raised").and_then(Value::as_array).into_iter().flatten();
    match raised.into_iter().any(|why| why.get("rule").and_then(Value::as_str) == Some("declared")) {
        true => Err("recorded before what its agent called it was"),
        false => Ok(None),
    }
}

/// A call's arguments as far as they were kept.
pub(crate) enum Kept {
    Whole(Option<Value>),
    Not(&'static str),
}

/// The record is what was sent only if it has the digest that the trace has.
fn arguments(call: &RecordedCall, tool: &ToolName) -> Kept {
    let Some(input) = &call.input else {
        return Kept::Not("its arguments were erased");
    };
    if input.get("omitted_bytes").is_some() {
        return Kept::Not("its arguments were too large to be kept");
    }
    let hash = call.trace.event.context.get("args_hash").and_then(Value::as_str);
    let is_hashed = |value: &Value| {
        let canonical = serde_json_canonicalizer::to_vec(value).unwrap_or_default();
        hash == Some(digest::named(&canonical).as_str())
    };
    if is_hashed(input) {
        // Without arguments the whole question stands there, and begins with the tool's name.
        let bare = input.get("name").and_then(Value::as_str) == Some(tool.tool()) && input.get("arguments").is_none();
        return Kept::Whole((!bare).then(|| input.clone()));
    }
    match input.get("arguments").filter(|inside| is_hashed(inside)) {
        Some(inside) => Kept::Whole(Some(inside.clone())),
        None => Kept::Not("its arguments were kept only in part"),
    }
}

/// `A3 R2 D1,D2 [role]`, as a trace says what the caller was.
fn acting_as(text: &str, tenant: Option<TenantId>, agent: AgentId) -> Option<Principal> {
    let (limits, roles) = match text.split_once('[') {
        Some((limits, roles)) => (limits, roles.strip_suffix(']')?),
        None => (text, ""),
    };
    let mut limits = limits.split(' ');
    let (autonomy, max_risk) = (limits.next()?.parse().ok()?, limits.next()?.parse().ok()?);
    let types = limits.next().unwrap_or_default();
    let listed = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let allowed_types = listed(types).iter().map(|kind| kind.parse().ok()).collect::<Option<_>>()?;
    Some(Principal {
        kind: PrincipalKind::Agent,
        tenant,
        agent,
        autonomy,
        allowed_types,
        max_risk,
        roles: listed(roles),
        ..Principal::anonymous()
    })
}
