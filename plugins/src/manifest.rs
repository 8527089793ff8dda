//! May an agent of this mode call a tool of this risk, and has anybody said what the tool does?

use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = "manifest";

pub struct Manifest;

impl Judge for Manifest {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let Some(tool) = exchange.tool() else {
            return Verdict::Pass;
        };
        // An administrator's key registers agents; it is not an agent and has no mode to be judged by.
        if exchange.principal.is_admin() && !tool.governs() {
            return Verdict::deny("administrator", "an administrator's key may call only the governance tools");
        }
        let Some(classified) = &tool.classified else {
            let (name, space) = (&tool.name, tool.name.namespace());
            let hint = format!("an operator can draft one with `portreeve manifest suggest {space}`");
            return Verdict::deny(
                "unclassified",
                format!("{name} has no manifest, so nobody has said what it may do; {hint}"),
            );
        };
        classified.manifest.gate_at(exchange.principal.mode(), tool.effective.risk_level)
    }
}
