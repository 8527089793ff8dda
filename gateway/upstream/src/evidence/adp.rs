//! `adp`: what the gateway itself knows. Whether a human approved, whether an agent's chain holds, what the matrix says.

mod asking;
#[cfg(test)]
mod fakes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::approvals::{ApprovalStatus, Terms};
use gateway_core::gate::contracts::{CheckContract, ValueKind};
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::matrix::{Matrix, Question};
use gateway_core::ports::{
    AgentRecord, AgentStatus, Approvals, AuditBuffer, Clock, EvidenceAsked, EvidenceProvider, Ledger, StoreError,
    TenantStore,
};
use gateway_core::verify::verify_chain;
use gateway_core::{AgentId, DecisionType, Risk};
use serde_json::{Value, json};
use uuid::Uuid;

use super::params::Params;
use super::{EQUALITY, Switches, contract};

/// A chain may be long, and a trigger waits for it.
const NEWEST: i64 = 10_000;

/// What it looks at, and whom it may ask.
#[derive(Clone)]
pub struct AdpPorts {
    pub approvals: Arc<dyn Approvals>,
    pub tenants: Arc<dyn TenantStore>,
    pub ledger: Arc<dyn Ledger>,
    pub audit: Arc<dyn AuditBuffer>,
    pub clock: Arc<dyn Clock>,
    /// As they are in force when something is asked.
    pub matrix: Arc<dyn Fn() -> Arc<Matrix> + Send + Sync>,
    pub terms: Arc<dyn Fn() -> Terms + Send + Sync>,
}

pub struct AdpRecords {
    ports: AdpPorts,
    checks: Vec<CheckContract>,
}

type Failed = (&'static str, String);

/// What was found, and what it is about.
struct Found {
    value: Value,
    about: String,
}

enum Wanted {
    Approval(Option<Uuid>),
    Chain(AgentId),
    Matrix(AgentId, DecisionType, Option<Risk>),
}

impl AdpRecords {
    pub fn new(ports: AdpPorts, switches: Switches) -> Self {
        let boolean = |check: &'static str| {
            let fits = move |params: &Value| Wanted::read(check, Some(params)).map(|_| ());
            contract(check, ValueKind::Boolean, EQUALITY.to_vec(), Some(Arc::new(fits)))
        };
        let fits = |params: &Value| Wanted::read("matrix_result", Some(params)).map(|_| ());
        let matrix = contract("matrix_result", ValueKind::Text, switches.of_texts(), Some(Arc::new(fits)));
        let approval = CheckContract { params_required: false, ..boolean("approval_granted") };
        Self { ports, checks: vec![approval, boolean("chain_valid"), matrix] }
    }

    async fn found(&self, asked: &EvidenceAsked<'_>) -> Result<Found, Failed> {
        let wanted = Wanted::read(&asked.query.check, asked.query.params.as_ref());
        match wanted.map_err(|words| ("params_invalid", words))? {
            Wanted::Approval(Some(id)) => self.approval(asked, id).await,
            Wanted::Approval(None) => asking::own_approval(&self.ports, asked).await,
            Wanted::Chain(agent) => self.chain(asked, &agent).await,
            Wanted::Matrix(agent, decision_type, risk) => {
                let AgentRecord { agent: known, status, .. } = self.agent(asked, &agent).await?;
                if status != AgentStatus::Active {
                    return Err(no_agent());
                }
                let question = Question {
                    autonomy: known.autonomy,
                    decision_type,
                    risk,
                    allowed_types: &known.allowed_types,
                    max_risk: known.max_risk,
                };
                let judgement = (self.ports.matrix)().judge(&question);
                Ok(Found { value: json!(judgement.result), about: agent.to_string() })
            }
        }
    }

    async fn approval(&self, asked: &EvidenceAsked<'_>, id: Uuid) -> Result<Found, Failed> {
        let row = self.ports.approvals.find(Some(asked.tenant), id).await.map_err(|error| away(&error))?;
        let row = row.ok_or_else(|| ("not_found", "there is no such approval".to_owned()))?;
        let now = self.ports.clock.now();
        let granted = match row.status {
            ApprovalStatus::Used => true,
            ApprovalStatus::Approved => row.use_by.is_none_or(|until| now < until),
            ApprovalStatus::Pending | ApprovalStatus::Rejected | ApprovalStatus::Expired => false,
        };
        Ok(Found { value: json!(granted), about: id.to_string() })
    }

    async fn chain(&self, asked: &EvidenceAsked<'_>, agent: &AgentId) -> Result<Found, Failed> {
        let walked = verify_chain(self.ports.ledger.as_ref(), Some(asked.tenant), agent, Some(NEWEST)).await;
        let report = walked.map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "a chain could not be verified: {error}");
            unavailable()
        })?;
        // An empty chain holds only if there is somebody whose chain it could be.
        if report.chain_length == 0 {
            self.agent(asked, agent).await?;
        }
        Ok(Found { value: json!(report.valid), about: agent.to_string() })
    }

    async fn agent(&self, asked: &EvidenceAsked<'_>, agent: &AgentId) -> Result<AgentRecord, Failed> {
        match self.ports.tenants.agent(asked.tenant, agent).await {
            Ok(record) => Ok(record),
            Err(StoreError::NotFound(_)) => Err(no_agent()),
            Err(error) => Err(away(&error)),
        }
    }
}

#[async_trait]
impl EvidenceProvider for AdpRecords {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        match self.found(asked).await {
            Ok(Found { value, about }) => EvidenceResult::json(value, "application/json").anchored("adp", about),
            Err((code, words)) => EvidenceResult::failed(code, words),
        }
    }
}

impl Wanted {
    fn read(check: &str, params: Option<&Value>) -> Result<Self, String> {
        let nothing = json!({});
        let params = params.filter(|params| !params.is_null()).unwrap_or(&nothing);
        match check {
            "approval_granted" => {
                let text = Params::of(params, &["approval_id"])?.maybe_text("approval_id")?;
                let id = text.map(|text| text.parse().map_err(|_| "`approval_id` is not an approval's id".to_owned()));
                Ok(Self::Approval(id.transpose()?))
            }
            "chain_valid" => Ok(Self::Chain(agent_id(&Params::of(params, &["agent_id"])?)?)),
            "matrix_result" => {
                let params = Params::of(params, &["agent_id", "decision_type", "risk_level"])?;
                let decision_type = params.text("decision_type")?;
                let decision_type = decision_type.parse().map_err(|_| "`decision_type` must be D1 to D4".to_owned())?;
                let risk = params.maybe_text("risk_level")?;
                let risk = risk.map(|risk| risk.parse().map_err(|_| "`risk_level` must be R1 to R4".to_owned()));
                Ok(Self::Matrix(agent_id(&params)?, decision_type, risk.transpose()?))
            }
            other => Err(format!("`adp` has no check `{other}`")),
        }
    }
}

fn agent_id(params: &Params<'_>) -> Result<AgentId, String> {
    params.text("agent_id")?.parse().map_err(|_| "`agent_id` is not an agent's name".to_owned())
}

fn no_agent() -> Failed {
    ("not_found", "Agent not found or inactive".into())
}

fn away(error: &StoreError) -> Failed {
    tracing::error!(error = error as &dyn std::error::Error, "the gateway's own records could not be read: {error}");
    unavailable()
}

fn unavailable() -> Failed {
    ("unavailable", "the gateway's own records cannot be read right now".into())
}
