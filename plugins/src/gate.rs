//! Is the run that stands before this tool where it must be? The facts were looked up before; here they are only weighed.

use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = "gate";

pub struct Gate;

impl Judge for Gate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let Some(tool) = exchange.tool() else {
            return Verdict::Pass;
        };
        let Some(binding) = tool.classified.as_ref().and_then(|known| known.handling.gate.as_ref()) else {
            return Verdict::Pass;
        };
        // Gates that rules ask for are the rules' to weigh: theirs may be in shadow.
        match exchange.gates.objection(binding, tool.name.as_str()) {
            None => Verdict::Pass,
            Some((rule, words)) => Verdict::deny(rule, words),
        }
    }

    /// A tool that waits for its run is listed: whoever sees it learns from a call what it waits for.
    fn judges_lists(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use gateway_core::exchange::{Ask, Route, Subject, ToolSubject};
    use gateway_core::gate::binding::{GateBinding, GateFacts, Gates, RunFacts, RunFrom};
    use gateway_core::gate::{Digest, Id, RunStatus};
    use gateway_core::policies::{ClassifiedTool, Handling};
    use gateway_core::{AgentMode, Principal, RiskLevel, ToolManifest, TraceId};
    use gateway_protocol::Message;
    use uuid::Uuid;

    use super::*;

    fn id(text: &str) -> Id {
        Id::try_from(text).unwrap()
    }

    fn binding() -> Arc<GateBinding> {
        Arc::new(GateBinding {
            scenario: id("release"),
            spec_hash: Digest::of_bytes(b"spec"),
            run_from: RunFrom::Meta,
            stages: vec![id("write")],
            anyone: false,
        })
    }

    fn call(gated: bool, gates: Gates) -> Exchange {
        let manifest = ToolManifest {
            id: "crm/update".parse().unwrap(),
            domain: "crm".into(),
            risk_level: RiskLevel::LowWrite,
            side_effects: true,
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        let handling = Handling { gate: gated.then(binding), ..Handling::default() };
        let tool = ClassifiedTool::new(manifest, None).handled(handling);
        let subject = Subject::Tool(ToolSubject::new("crm/update".parse().unwrap(), Some(Arc::new(tool)), false));
        let ask = Ask::Message(Message::request(1, "tools/call", None));
        let nobody = Arc::new(Principal::anonymous());
        let exchange = Exchange::new(TraceId::from_uuid(Uuid::nil()), nobody, Route::All, ask, subject);
        Exchange { gates, ..exchange }
    }

    fn looked(stage: &str) -> Gates {
        let run = RunFacts {
            run_id: id("run-7"),
            spec_hash: Digest::of_bytes(b"spec"),
            stage: id(stage),
            status: RunStatus::Active,
            names_caller: true,
            decision: None,
            unmet: vec![id("tests")],
        };
        Gates::Looked(vec![GateFacts { binding: binding(), named: Some("run-7".into()), run: Some(run) }])
    }

    fn rule(exchange: &Exchange) -> String {
        match Gate.on_request(exchange) {
            Verdict::Pass => "pass".into(),
            Verdict::Deny(objection) => objection.rule.into_owned(),
            _ => "other".into(),
        }
    }

    #[test]
    fn a_gate_opens_only_where_its_run_was_found_where_it_must_be() {
        assert_eq!(rule(&call(true, looked("write"))), "pass");
        assert_eq!(rule(&call(true, looked("read"))), "stage");
        assert_eq!(rule(&call(true, Gates::NotLooked)), "unknown", "what nobody looked at is closed");
        assert_eq!(rule(&call(true, Gates::Looked(Vec::new()))), "unknown");
        assert_eq!(rule(&call(true, Gates::Imagined)), "pass", "what is only imagined is under no run");
        assert_eq!(rule(&call(false, Gates::NotLooked)), "pass", "most tools have none");
    }
}
