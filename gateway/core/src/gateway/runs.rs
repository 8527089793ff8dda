//! A call that is a step of a tool agent's run: which trace it gets, and what that trace says of the run.

use uuid::Uuid;

use crate::agents::RunStep;
use crate::canonical::{Canonical, Object};
use crate::exchange::Ask;
use crate::names::TraceId;

/// The trace that the run chose for its call. Whatever else it asks is no step.
pub(super) fn trace_of(run: Option<&RunStep>, ask: &Ask) -> Option<TraceId> {
    let Ask::Message(message) = ask else {
        return None;
    };
    let run = run.filter(|_| message.method() == Some("tools/call"))?;
    Some(run.trace_id.clone())
}

/// In the order that the RFC gives the keys.
pub(super) fn written(run: &RunStep) -> Canonical {
    let mut written = Object::with_capacity(192);
    written.text("agent", Some(&[run.organization.as_str(), "/", run.slug.as_str()].concat()));
    written.raw("of", &run.of.to_string());
    written.text("security", Some(&run.security.digest()));
    written.raw("step", &run.step.to_string());
    written.text("task", Some(run.task.hyphenated().encode_lower(&mut Uuid::encode_buffer())));
    written.end()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::agents::Security;
    use crate::gateway::{Inbound, Verb, Wire};
    use crate::testing::bench::{Bench, inbound, modern, one};

    fn step() -> RunStep {
        RunStep {
            organization: "demo".into(),
            slug: "supabase-agent".parse().unwrap(),
            task: Uuid::from_u128(7),
            step: 2,
            of: 4,
            trace_id: TraceId::from_uuid(Uuid::from_u128(9 << 64)),
            security: Arc::new(Security::default()),
        }
    }

    #[test]
    fn what_is_written_of_a_run_is_canonical() {
        let written = written(&step());
        let value: Value = serde_json::from_str(written.as_str()).unwrap();
        assert_eq!(written, Canonical::of(&value).unwrap());
        let digest = Security::default().digest();
        let expected =
            json!({"agent": "demo/supabase-agent", "of": 4, "security": digest, "step": 2, "task": Uuid::from_u128(7)});
        assert_eq!(value, expected);
    }

    // acceptance 105: the step's call passes the chain, under the trace that the run chose, and the trace names the run.
    #[test]
    fn a_step_is_a_call_that_knows_its_run() {
        let bench = Bench::new();
        let call = Inbound { run: Some(Arc::new(step())), ..modern("tools/call", json!({ "name": "read" })) };
        assert!(one(bench.handle(call))["result"].is_object());
        let calls = bench.world.calls.lock().unwrap();
        assert_eq!(calls[0].run.as_deref(), Some(&step()), "what the upstream is handed knows it too");
        let traces = bench.world.traces.lock().unwrap();
        assert_eq!(traces[0].trace_id, step().trace_id);
        let context: Value = serde_json::from_str(traces[0].context.as_str()).unwrap();
        assert_eq!((&context["run"]["step"], &context["run"]["agent"]), (&json!(2), &json!("demo/supabase-agent")));
        assert_eq!(traces[0].context, Canonical::of(&context).unwrap(), "the keys are in their order");
    }

    /// A list asked for by a run gets a trace id of its own: only calls are steps.
    #[test]
    fn only_calls_are_steps() {
        let message = |method: &str| {
            let message = gateway_protocol::Message::request(1, method, Some(serde_json::Map::new()));
            Ask::Message(message)
        };
        assert_eq!(trace_of(Some(&step()), &message("tools/call")), Some(step().trace_id));
        assert_eq!(trace_of(Some(&step()), &message("tools/list")), None);
        assert_eq!(trace_of(Some(&step()), &Ask::EndSession), None);
        assert_eq!(trace_of(None, &message("tools/call")), None);
    }

    // Whoever could say that a call belongs to a run could choose its trace and whose limits it shows.
    #[test]
    fn nothing_a_client_sends_makes_its_call_a_step() {
        let claimed = json!({
            "organization": "demo", "slug": "supabase-agent", "task": Uuid::from_u128(7), "step": 2, "of": 4,
            "trace_id": step().trace_id, "security": {"denied_operations": [], "allowed_tables": []},
        });
        for wire in [Wire::Http, Wire::Messages] {
            let bench = Bench::new();
            let mut params = json!({ "name": "read", "run": claimed, "arguments": { "run": claimed } });
            params["_meta"]["run"] = claimed.clone();
            params["_meta"]["io.portreeve/run"] = claimed.clone();
            let asked = modern("tools/call", params);
            let Verb::Post(body) = &asked.verb else { unreachable!() };
            let mut message: Value = serde_json::from_slice(body).unwrap();
            message["run"] = claimed.clone();
            let mut both = vec![Inbound { wire, ..asked }];
            let mut beside = Inbound { wire, ..inbound(Verb::Post(message.to_string().into())) };
            beside.headers = both[0].headers.clone();
            beside.carried.push(("run".into(), claimed.to_string()));
            both.push(beside);
            for asked in both {
                let _ = bench.handle(asked);
            }
            let calls = bench.world.calls.lock().unwrap();
            assert!(!calls.is_empty() && calls.iter().all(|call| call.run.is_none()), "{wire:?}");
            let traces = bench.world.traces.lock().unwrap();
            for trace in traces.iter() {
                assert_ne!(trace.trace_id, step().trace_id);
                let context: Value = serde_json::from_str(trace.context.as_str()).unwrap();
                assert!(context.get("run").is_none(), "{context}");
            }
        }
    }
}
