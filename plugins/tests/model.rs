//! The decision held against a second opinion: fifty lines over plain numbers that share nothing with the gateway but the
//! question. Every cell of the finite domain, then a million calls drawn at random with everything else that is judged.
//!
//! Another model can be run from outside: `portreeve explain --batch` judges one JSON line a call.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

use std::collections::HashMap;
use std::sync::Arc;

use gateway_core::access::AccessRules;
use gateway_core::definitions::Standing;
use gateway_core::exchange::{Effective, ToolSubject};
use gateway_core::live::{Live, Suspended, Suspension, SuspensionKind, TenantFacts, TenantRules};
use gateway_core::matrix::Matrix;
use gateway_core::policies::{ClassifiedTool, ToolMap};
use gateway_core::ports::{AccessRow, NewAccessPolicy};
use gateway_core::rules::{AgentPolicy, RuleSet, WrittenPolicy};
use gateway_core::verdict::Objection;
use gateway_core::{
    AgentMode, Ask, Autonomy, Chain, Classification, Decision, DecisionType, Exchange, Opinion, PluginMode, Policies,
    PolicyMode, Principal, PrincipalKind, Reversibility, Risk, RiskLevel, Route, Subject, ToolManifest, TraceId,
    Verdict,
};
use gateway_protocol::Message;
use serde_json::json;
use uuid::Uuid;

/// One question in numbers: every scale counts from 0.
#[derive(Debug, Clone, Copy, Default)]
struct Case {
    admin: bool,
    autonomy: usize,
    allowed: u8,
    max_risk: usize,
    viewer: bool,
    level: Option<usize>,
    modes: u8,
    d: usize,
    r: usize,
    raised: usize,
    declared: Option<(usize, usize)>,
    governs: bool,
    watched: bool,
    standing: usize,
    suspended: bool,
    access: usize,
    rules: usize,
    manifest_observed: bool,
    matrix_observed: bool,
}

/// 0 allow, 1 approval, 2 deny. Nothing of the gateway's rules is used here.
fn model(c: &Case) -> u8 {
    if c.suspended {
        return 2;
    }
    if c.governs {
        return 0;
    }
    if c.standing >= 2 {
        return 2;
    }
    let level = c.level.map_or(3, |level| level.max(c.raised));
    let mode = [0, 1, 2, 3, 3][c.autonomy];
    let table = [[0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 0, 2], [0, 0, 0, 1]][mode][level];
    let listed = c.modes & (1 << mode) != 0;
    let gate = if c.admin || c.level.is_none() || !listed { 2 } else { table };
    let least = [0, 0, 1, 2][level];
    let (mut d, mut r) = (least, least);
    if let Some(own) = c.level {
        (d, r) = (d.max(c.d).max([0, 0, 1, 2][own]), r.max(c.r));
        if let Some((said_d, said_r)) = c.declared {
            (d, r) = (d.max(said_d), r.max(said_r));
        }
    }
    let cell = [[0, 1, 2, 2], [0, 1, 2, 2], [0, 0, 1, 2], [0, 0, 0, 1], [0, 0, 0, 1]][c.autonomy][d];
    let escalates = u8::from(d == 3 || r >= 2);
    let types = if c.allowed != 0 && c.allowed & (1 << d) == 0 { 2 } else { 0 };
    let matrix = cell.max(escalates).max(types).max(u8::from(r > c.max_risk));
    let law = if c.level.is_some() { escalates } else { 0 };
    let watched = c.level.is_none() && c.watched && !c.admin;
    let access = match c.access {
        0 => 2 * u8::from(c.viewer),
        1 => 2 * u8::from(!c.viewer),
        2 => 2,
        3 => 1,
        4 => 2,
        _ => 0,
    };
    let rules = [0, 1, 2, 0, 0, 0][c.rules];
    let gate = if c.manifest_observed || watched { 0 } else { gate };
    let matrix = if c.matrix_observed || watched { 0 } else { matrix };
    [gate, matrix, law, access, rules].into_iter().max().unwrap()
}

/// A rule whose only word is this.
struct Fixed(Verdict, PolicyMode);

impl AccessRules for Fixed {
    fn judge(&self, _: &Exchange, _: &TenantFacts, _: bool, say: &mut dyn FnMut(Opinion)) {
        say(Opinion::new(self.0.clone(), self.1));
    }

    fn decides(&self, _: &Exchange) -> bool {
        true
    }

    fn check(&self, _: &NewAccessPolicy) -> Result<(), String> {
        Ok(())
    }

    fn digest(&self) -> &'static str {
        "fixed"
    }

    fn len(&self) -> usize {
        1
    }
}

/// The gateway's side: its chain in every mode, its rows in every kind.
struct Gate {
    chains: Vec<Chain>,
    rows: Vec<Arc<TenantRules>>,
    free: Arc<Live>,
    stopped: Arc<Live>,
    template: Exchange,
    tools: HashMap<(usize, u8, usize, usize, bool), Arc<ClassifiedTool>>,
}

const RULE_KINDS: usize = 6;
const ACCESS_KINDS: usize = 7;

impl Gate {
    fn new() -> Self {
        let policies = Arc::new(Policies::new([], Matrix::standard()));
        let chain = |observed: usize| {
            let mode = |name: &str| match name {
                "manifest" if observed & 1 != 0 => PluginMode::Observe,
                "matrix" if observed & 2 != 0 => PluginMode::Observe,
                _ => PluginMode::Enforce,
            };
            Chain::new(gateway_plugins::all(&policies, mode), Arc::clone(&policies))
        };
        let rows = |place: usize| {
            let (access, rules) = (access(place / RULE_KINDS), rules(place % RULE_KINDS));
            Arc::new(TenantRules::new(TenantFacts::default(), rules, access, ToolMap::new(), Vec::new()))
        };
        let stop = Suspension {
            id: Uuid::nil(),
            tenant: None,
            kind: SuspensionKind::Tool,
            subject: "crm/tool".into(),
            reason: None,
            by: "somebody".into(),
            since: String::new(),
        };
        let (standing, _) = Suspended::new([stop]);
        let params = json!({ "name": "tool", "arguments": {} }).as_object().cloned();
        let ask = Ask::Message(Message::request(1, "tools/call", params));
        let (trace, nobody) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
        Self {
            chains: (0..4).map(chain).collect(),
            rows: (0..ACCESS_KINDS * RULE_KINDS).map(rows).collect(),
            free: Live::none(),
            stopped: Arc::new(Live::new(1, HashMap::new(), Arc::default(), standing)),
            template: Exchange::new(trace, nobody, Route::All, ask, Subject::Plain),
            tools: HashMap::new(),
        }
    }

    fn decide(&mut self, case: &Case) -> u8 {
        let mut tool = ToolSubject::new("crm/tool".parse().unwrap(), self.classified(case), case.watched);
        tool.standing =
            [Standing::Unpinned, Standing::Pinned, Standing::Quarantined, Standing::Unverified, Standing::Unlisted]
                [case.standing];
        if case.level.is_some() && RiskLevel::ALL[case.raised] > tool.effective.risk_level {
            let risk_level = RiskLevel::ALL[case.raised];
            let classification = tool.effective.classification.raised_to(risk_level.classification());
            tool.effective = Effective { risk_level, classification, why: Vec::new() };
        }
        let mut exchange = self.template.clone();
        exchange.principal = Arc::new(principal(case));
        exchange.subject = Subject::Tool(tool);
        exchange.rules = Arc::clone(&self.rows[case.access * RULE_KINDS + case.rules]);
        exchange.live = Arc::clone(if case.suspended { &self.stopped } else { &self.free });
        exchange.declared = case.declared.map(|(d, r)| part(d, r));
        let chain = &self.chains[usize::from(case.manifest_observed) + 2 * usize::from(case.matrix_observed)];
        match chain.judge(&mut exchange, &mut |_, run| run()).decision {
            Decision::Allow => 0,
            Decision::ApprovalRequired => 1,
            Decision::Deny => 2,
        }
    }

    fn classified(&mut self, case: &Case) -> Option<Arc<ClassifiedTool>> {
        let level = case.level?;
        let key = (level, case.modes, case.d, case.r, case.governs);
        let made = self.tools.entry(key).or_insert_with(|| {
            let modes = AgentMode::ALL.iter().copied().enumerate();
            let manifest = ToolManifest {
                id: "crm/tool".parse().unwrap(),
                domain: if case.governs { "governance" } else { "crm" }.into(),
                risk_level: RiskLevel::ALL[level],
                side_effects: level >= 2,
                allowed_modes: modes
                    .filter(|(place, _)| case.modes & (1 << place) != 0)
                    .map(|(_, mode)| mode)
                    .collect(),
            };
            Arc::new(ClassifiedTool::new(manifest, Some(part(case.d, case.r))))
        });
        Some(Arc::clone(made))
    }
}

fn part(d: usize, r: usize) -> Classification {
    Classification::new(DecisionType::ALL[d], Risk::ALL[r], Reversibility::Total)
}

fn principal(case: &Case) -> Principal {
    let types = DecisionType::ALL.iter().copied().enumerate();
    Principal {
        kind: if case.admin { PrincipalKind::Admin } else { PrincipalKind::Agent },
        autonomy: Autonomy::ALL[case.autonomy],
        allowed_types: types.filter(|(place, _)| case.allowed & (1 << place) != 0).map(|(_, kind)| kind).collect(),
        max_risk: Risk::ALL[case.max_risk],
        roles: if case.viewer { vec!["viewer".into()] } else { Vec::new() },
        ..Principal::anonymous()
    }
}

/// None; a role that may; a role that may something else; asks; refuses; refuses in shadow; refuses as advice.
fn access(kind: usize) -> Arc<dyn AccessRules> {
    let role = |permission: &str| {
        let row = AccessRow {
            id: Uuid::nil(),
            tenant: None,
            name: "viewers".into(),
            rule_type: "RBAC".into(),
            rule_definition: json!({ "role": "viewer", "permissions": [permission] }),
            is_active: true,
            mode: Some(PolicyMode::Enforce),
        };
        let (compiled, broken) = gateway_plugins::access::compile(&[row], &[], None);
        assert!(broken.is_empty(), "{broken:?}");
        compiled
    };
    let objection = || Objection::new("fixed", "says so");
    match kind {
        0 => Arc::new(gateway_core::access::NoAccessRules),
        1 => role("crm/*"),
        2 => role("notes/*"),
        3 => Arc::new(Fixed(Verdict::Escalate(objection()), PolicyMode::Enforce)),
        4 => Arc::new(Fixed(Verdict::Deny(objection()), PolicyMode::Enforce)),
        5 => Arc::new(Fixed(Verdict::Deny(objection()), PolicyMode::Shadow)),
        _ => Arc::new(Fixed(Verdict::Deny(objection()), PolicyMode::Advisory)),
    }
}

/// None; asks; refuses; refuses in shadow; asks as advice; only mentions.
fn rules(kind: usize) -> RuleSet {
    let policy = |requirement: &str, mode| {
        let written = WrittenPolicy {
            id: None,
            policy_id: "POL-1".into(),
            name: "one".into(),
            category: None,
            severity: None,
            rule: json!({ "condition": { "tool": "crm/tool" }, "requirement": requirement }),
            regulatory_mapping: Vec::new(),
            mode: Some(mode),
        };
        RuleSet::compile(vec![AgentPolicy::compile(&written).unwrap()])
    };
    match kind {
        0 => RuleSet::default(),
        1 => policy("human_approval", PolicyMode::Enforce),
        2 => policy("prohibited", PolicyMode::Enforce),
        3 => policy("prohibited", PolicyMode::Shadow),
        4 => policy("human_approval", PolicyMode::Advisory),
        _ => policy("log", PolicyMode::Enforce),
    }
}

fn hold(gate: &mut Gate, case: &Case) {
    let (said, expected) = (gate.decide(case), model(case));
    assert_eq!(said, expected, "the gateway and the model differ: {case:?}");
}

#[test]
fn every_cell_of_the_finite_domain_is_decided_as_the_model_says() {
    let mut gate = Gate::new();
    let mut cells = 0_u64;
    for who in 0..6 {
        for allowed in 0..16 {
            for max_risk in 0..4 {
                for level in [None, Some(0), Some(1), Some(2), Some(3)] {
                    for modes in 1..16 {
                        for (d, r) in (0..16).map(|part| (part / 4, part % 4)) {
                            let (admin, autonomy) = (who == 5, who % 5);
                            hold(
                                &mut gate,
                                &Case { admin, autonomy, allowed, max_risk, level, modes, d, r, ..Case::default() },
                            );
                            cells += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(cells, 460_800, "(5 autonomies + administrator) x 16 x 4 x (4 levels + none) x 15 x 16");
}

/// The same numbers every time (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

#[test]
fn a_million_calls_at_random_are_decided_as_the_model_says() {
    let mut gate = Gate::new();
    let mut dice = Dice(0x5eed_0f90_7265_6576);
    let mut decided = [0_u64; 3];
    for _ in 0..1_000_000 {
        let level = (!dice.one_in(8)).then(|| dice.below(4));
        let case = Case {
            admin: dice.one_in(20),
            autonomy: dice.below(5),
            allowed: if dice.one_in(2) { 0 } else { dice.below(16) as u8 },
            max_risk: if dice.one_in(2) { 3 } else { dice.below(4) },
            viewer: dice.one_in(3),
            level,
            modes: if dice.one_in(2) { 15 } else { 1 + dice.below(15) as u8 },
            d: if dice.one_in(2) { 0 } else { dice.below(4) },
            r: if dice.one_in(2) { 0 } else { dice.below(4) },
            raised: if dice.one_in(3) { dice.below(4) } else { 0 },
            declared: dice.one_in(4).then(|| (dice.below(4), dice.below(4))),
            governs: level.is_some() && dice.one_in(20),
            watched: dice.one_in(2),
            standing: if dice.one_in(5) { dice.below(5) } else { 0 },
            suspended: dice.one_in(20),
            access: if dice.one_in(2) { 0 } else { dice.below(ACCESS_KINDS) },
            rules: if dice.one_in(2) { 0 } else { dice.below(RULE_KINDS) },
            manifest_observed: dice.one_in(10),
            matrix_observed: dice.one_in(10),
        };
        hold(&mut gate, &case);
        decided[usize::from(model(&case))] += 1;
    }
    // A draw that always ended in one answer would show nothing.
    assert!(decided.iter().all(|count| *count > 50_000), "{decided:?}");
}
