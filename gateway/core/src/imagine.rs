//! Calls that nobody made: what would be decided, asked of the same chain that decides.

use std::sync::Arc;

use gateway_protocol::Message;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::chain::Chain;
use crate::classification::Classification;
use crate::definitions::Defined;
use crate::exchange::{Ask, Exchange, Route, Subject, ToolSubject};
use crate::gate::binding::{GateBinding, Gates};
use crate::identity::{Principal, PrincipalKind};
use crate::live::Live;
use crate::names::{Namespace, ToolName, TraceId};
use crate::ports::AgentRecord;
use crate::reach::Reach;

/// One call to be judged.
#[derive(Debug, Clone)]
pub struct Imagined {
    pub principal: Arc<Principal>,
    pub tool: ToolSubject,
    pub arguments: Option<Value>,
    pub at: Timestamp,
    pub declared: Option<Classification>,
    /// How the tool describes itself. Replays leave it out: they ask what other policies would say, and what was recorded
    /// may have masks in it that fit no schema.
    pub definition: Option<Arc<Defined>>,
}

impl Imagined {
    /// As it would arrive at the tool's own door, under these rows.
    pub fn exchange(&self, live: &Arc<Live>) -> Exchange {
        let mut params = Map::from_iter([("name".to_owned(), Value::from(self.tool.name.tool()))]);
        params.extend(self.arguments.clone().map(|arguments| ("arguments".to_owned(), arguments)));
        let ask = Ask::Message(Message::request(0, "tools/call", Some(params)));
        let route = self.tool.name.namespace().parse::<Namespace>().map_or(Route::All, Route::One);
        let (trace, principal) = (TraceId::from_stored("trc_imagined"), Arc::clone(&self.principal));
        let mut exchange = Exchange::new(trace, principal, route, ask, Subject::Tool(self.tool.clone()));
        exchange.rules = Arc::clone(live.rules_of(self.principal.tenant));
        exchange.live = Arc::clone(live);
        exchange.at = self.at;
        exchange.declared = self.declared;
        exchange.definition.clone_from(&self.definition);
        exchange.gates = Gates::Imagined;
        exchange
    }
}

/// A tool as a call of this principal would find it: the tenant's own manifest, else the files'.
pub fn subject(chain: &Chain, live: &Live, principal: &Principal, name: &ToolName, watched: bool) -> ToolSubject {
    let own = live.rules_of(principal.tenant).tool(name);
    let classified = own.or_else(|| chain.policies().tool(name)).cloned();
    let pin = live.pins.get(name);
    ToolSubject {
        standing: live.pins.standing(name),
        pin: pin.and_then(|pinned| pinned.hash.clone()),
        ..ToolSubject::new(name.clone(), classified, watched)
    }
}

/// Every gate that would have to be open for the call, which an imagined one is not asked about.
pub(crate) fn gates(chain: &Chain, exchange: &Exchange, mut found: impl FnMut(&Arc<GateBinding>)) {
    let Some(tool) = exchange.tool().filter(|tool| !tool.governs()) else { return };
    let own = tool.classified.as_ref().and_then(|known| known.handling.gate.as_ref());
    own.into_iter().for_each(&mut found);
    chain.policies().rules.gates_obeyed(exchange, &mut found);
    exchange.rules.rules.gates_obeyed(exchange, &mut found);
}

/// What was accepted of it, as the rows know it.
pub fn definition(live: &Live, tool: &ToolSubject) -> Option<Arc<Defined>> {
    let pin = tool.pin.as_ref().filter(|_| !tool.governs())?;
    let form = live.pins.get(&tool.name)?.forms.iter().find(|form| form.hash == *pin)?;
    Some(Arc::new(Defined::new(Arc::clone(pin), Arc::clone(&form.definition))))
}

/// Who would be calling.
pub fn principal(record: &AgentRecord) -> Principal {
    let agent = &record.agent;
    Principal {
        kind: PrincipalKind::Agent,
        tenant: Some(record.tenant),
        agent: agent.agent_id.clone(),
        autonomy: agent.autonomy,
        allowed_types: agent.allowed_types.clone(),
        max_risk: agent.max_risk,
        scopes: Vec::new(),
        reach: Reach::Whole,
        roles: agent.roles.clone(),
        owner: agent.owner_email.clone().or_else(|| agent.owner_name.clone()),
    }
}
