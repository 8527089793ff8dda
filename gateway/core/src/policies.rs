//! The policies in force: one immutable set, read as a whole, swapped as a whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::access::{AccessRules, NoAccessRules};
use crate::chain::PluginMode;
use crate::classification::{Classification, scale};
use crate::definitions::ScanRules;
use crate::digest;
use crate::dlp::{DlpHandling, DlpSet, NoDlp};
use crate::gate::Scenario;
use crate::gate::binding::GateBinding;
use crate::injection::{InjectionAction, InjectionRules};
use crate::manifest::{AgentMode, RiskLevel, ToolManifest};
use crate::matrix::Matrix;
use crate::names::ToolName;
use crate::rules::{Condition, RuleSet};
use crate::sql::{NoSql, SqlHandling, SqlReader};

pub use crate::sql::SqlArgument;

/// Asked for every call; who needs an order makes one.
pub type ToolMap = HashMap<ToolName, Arc<ClassifiedTool>>;

/// A tool an operator has classified.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassifiedTool {
    pub manifest: ToolManifest,
    /// What a call of it counts as: the risk level's own, raised where the policy says so.
    pub classification: Classification,
    pub metadata: Option<ToolMetadata>,
    pub handling: Handling,
    /// Names everything above.
    pub digest: Arc<str>,
}

/// What an operator says of a tool for those who look for one; it decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// How calls of a tool are read beyond its manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Handling {
    pub action_type: Option<String>,
    /// Raises the call where the condition holds; empty for most.
    pub raises: Vec<Raise>,
    pub sql: SqlHandling,
    /// Context key to argument path.
    pub context: BTreeMap<String, String>,
    pub self_modifying: bool,
    /// What is done about personal data and secrets in its calls.
    pub dlp: DlpHandling,
    /// Its arguments and results are not held against its schemas: the way out where those cannot be read.
    pub schema_off: bool,
    /// What happens to answers of it that read like instructions, where that differs from `injection.yaml`.
    pub injection: Option<InjectionAction>,
    /// The run that must be where it says before a call may pass.
    pub gate: Option<Arc<GateBinding>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Raise {
    pub when: Condition,
    pub to: RiskLevel,
    pub classification: Option<Classification>,
}

scale!(
    Dialect, "postgres, sqlite, mysql, generic",
    { Postgres = "postgres", Sqlite = "sqlite", Mysql = "mysql", Generic = "generic", }
);

impl ClassifiedTool {
    pub fn new(manifest: ToolManifest, raised_to: Option<Classification>) -> Self {
        let least = manifest.risk_level.classification();
        let classification = raised_to.map_or(least, |wanted| least.raised_to(wanted));
        let made = Self { manifest, classification, metadata: None, handling: Handling::default(), digest: "".into() };
        made.named()
    }

    #[must_use]
    pub fn described(mut self, metadata: Option<ToolMetadata>) -> Self {
        self.metadata = metadata;
        self.named()
    }

    #[must_use]
    pub fn handled(mut self, handling: Handling) -> Self {
        self.handling = handling;
        self.named()
    }

    fn named(mut self) -> Self {
        let Handling { action_type, raises, sql, context, self_modifying, dlp, schema_off, injection, gate } =
            &self.handling;
        let raises: Vec<_> = raises.iter().map(|one| (one.when.written(), one.to, one.classification)).collect();
        let handling = (action_type, raises, sql, context, self_modifying, (dlp, schema_off, injection));
        // Only plain data is serialised, so this cannot fail; an empty digest would merely be a useless one.
        let parts = (&self.manifest, self.classification, &self.metadata, handling);
        let written = match gate {
            None => serde_json_canonicalizer::to_vec(&parts),
            Some(gate) => serde_json_canonicalizer::to_vec(&(parts, gate)),
        };
        self.digest = digest::named(&written.unwrap_or_default()).into();
        self
    }
}

/// What an agent must have shown before it may be promoted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromotionRules {
    /// By the mode it is promoted from.
    pub from: BTreeMap<AgentMode, Earned>,
    /// The share of refused calls that is still clean.
    pub denials: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earned {
    pub calls: u64,
    /// The share of calls that went well.
    pub success: f64,
    /// Counted over so many days.
    pub days: u32,
}

impl Default for PromotionRules {
    fn default() -> Self {
        let earned = Earned { calls: 20, success: 0.95, days: 30 };
        let from = [AgentMode::Shadow, AgentMode::Advisory, AgentMode::PartialAuto].map(|mode| (mode, earned));
        Self { from: from.into(), denials: 0.05 }
    }
}

#[derive(Clone)]
pub struct Policies {
    pub tools: ToolMap,
    pub matrix: Matrix,
    pub rules: RuleSet,
    pub access: Arc<dyn AccessRules>,
    pub scan: ScanRules,
    pub promotion: PromotionRules,
    pub sql: Arc<dyn SqlReader>,
    pub dlp: Arc<dyn DlpSet>,
    pub injection: InjectionRules,
    /// The operator's own, which nobody else can define.
    pub scenarios: BTreeMap<String, Arc<Scenario>>,
    /// Plugins whose objections are not obeyed.
    pub observed: BTreeSet<String>,
    /// SHA-256 of everything above that has a word in decisions: names the rules that a trace was decided under. How agents are
    /// promoted is none of it.
    pub digest: String,
}

impl Policies {
    pub fn new(tools: impl IntoIterator<Item = (ToolName, Arc<ClassifiedTool>)>, matrix: Matrix) -> Self {
        let (rules, access) = (RuleSet::default(), Arc::new(NoAccessRules));
        let (scan, promotion) = (ScanRules::default(), PromotionRules::default());
        let tools = tools.into_iter().collect();
        let (sql, dlp, injection) = (Arc::new(NoSql), Arc::new(NoDlp), InjectionRules::default());
        let (scenarios, observed, digest) = (BTreeMap::new(), BTreeSet::new(), String::new());
        Self { tools, matrix, rules, access, scan, promotion, sql, dlp, injection, scenarios, observed, digest }.named()
    }

    #[must_use]
    pub fn with_rules(mut self, rules: RuleSet, access: Arc<dyn AccessRules>) -> Self {
        self.rules = rules;
        self.access = access;
        self.named()
    }

    #[must_use]
    pub fn with_scan(mut self, scan: ScanRules) -> Self {
        self.scan = scan;
        self.named()
    }

    #[must_use]
    pub fn with_promotion(mut self, promotion: PromotionRules) -> Self {
        self.promotion = promotion;
        self
    }

    /// What the chain is made with.
    #[must_use]
    pub fn with_modes<'a>(mut self, modes: impl IntoIterator<Item = (&'a str, PluginMode)>) -> Self {
        let observed = modes.into_iter().filter(|(_, mode)| *mode == PluginMode::Observe);
        self.observed = observed.map(|(name, _)| name.to_owned()).collect();
        self.named()
    }

    #[must_use]
    pub fn with_sql(mut self, sql: Arc<dyn SqlReader>) -> Self {
        self.sql = sql;
        self.named()
    }

    #[must_use]
    pub fn with_dlp(mut self, dlp: Arc<dyn DlpSet>) -> Self {
        self.dlp = dlp;
        self.named()
    }

    #[must_use]
    pub fn with_injection(mut self, injection: InjectionRules) -> Self {
        self.injection = injection;
        self.named()
    }

    #[must_use]
    pub fn with_scenarios(mut self, scenarios: BTreeMap<String, Arc<Scenario>>) -> Self {
        self.scenarios = scenarios;
        self.named()
    }

    fn named(mut self) -> Self {
        // Ordered here and nowhere else: the digest may not depend on how a map happens to lie.
        let tools: BTreeMap<_, _> = self.tools.iter().map(|(name, tool)| (name, &tool.digest)).collect();
        let injection = (self.injection.action, self.injection.score, self.injection.reader.digest());
        let content = (self.sql.digest(), self.dlp.digest(), injection);
        let rest = (self.rules.digest(), self.access.digest(), &self.scan, content, &self.observed);
        let scenarios: BTreeMap<_, _> = self.scenarios.iter().map(|(id, one)| (id, one.hash().hex())).collect();
        let canonical = serde_json_canonicalizer::to_vec(&(tools, &self.matrix, rest, scenarios));
        self.digest = digest::named(&canonical.unwrap_or_default());
        self
    }

    pub fn tool(&self, name: &ToolName) -> Option<&Arc<ClassifiedTool>> {
        self.tools.get(name)
    }
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policies({} tools, {})", self.tools.len(), self.digest)
    }
}
