//! One client message on its way: what was asked, by whom, of what, and under which revision.

use std::borrow::Cow;
use std::sync::Arc;

use gateway_protocol::{Message, Revision};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::agents::RunStep;
use crate::canonical;
use crate::classification::Classification;
use crate::content::Content;
use crate::definitions::{Defined, Standing};
use crate::digest;
use crate::gate::binding::Gates;
use crate::home::Passage;
use crate::identity::Principal;
use crate::live::{Live, Suspension, TenantRules};
use crate::manifest::RiskLevel;
use crate::names::{Namespace, ToolName, TraceId};
use crate::policies::ClassifiedTool;
use crate::session::Session;

/// Which door the caller used.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Route {
    /// `/{namespace}/mcp`: one upstream under its own names.
    One(Namespace),
    /// `/mcp`: everything, under names that carry the namespace.
    All,
}

/// What the client wants of the upstream.
#[derive(Debug, Clone)]
pub enum Ask {
    Message(Message),
    /// The GET stream of the session eras.
    Listen {
        last_event_id: Option<String>,
    },
    /// DELETE of a session.
    EndSession,
}

/// What the question is about, as far as judging goes.
#[derive(Debug, Clone)]
pub enum Subject {
    Tool(ToolSubject),
    /// Reads data without naming a tool: `resources/read`, `prompts/get`, a task's result.
    Read,
    /// A method that may change something, or that nobody here knows: it passes, but not unrecorded.
    Act,
    /// Handshake, lists, pings, notifications, streams: nothing that decides.
    Plain,
}

#[derive(Debug, Clone)]
pub struct ToolSubject {
    pub name: ToolName,
    /// `None`: nobody classified it, so it counts as the worst.
    pub classified: Option<Arc<ClassifiedTool>>,
    /// The operator chose to watch this upstream's unclassified tools instead of refusing them.
    pub observed: bool,
    /// Whether its definition is the one that was accepted.
    pub standing: Standing,
    /// The hash of the accepted definition, where one is.
    pub pin: Option<Arc<str>>,
    pub effective: Effective,
}

/// What this very call counts as: the manifest's own at first, raised by what is asked of the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub risk_level: RiskLevel,
    pub classification: Classification,
    /// Empty for most: nothing raised it.
    pub why: Vec<Raised>,
}

/// One reason why a call counts for more than its tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Raised {
    pub rule: Cow<'static, str>,
    pub to: RiskLevel,
    pub message: String,
}

impl Effective {
    pub fn of(classified: Option<&ClassifiedTool>) -> Self {
        let (risk_level, classification) = match classified {
            Some(tool) => (tool.manifest.risk_level, tool.classification),
            None => (RiskLevel::HighWrite, RiskLevel::HighWrite.classification()),
        };
        Self { risk_level, classification, why: Vec::new() }
    }
}

impl ToolSubject {
    pub fn new(name: ToolName, classified: Option<Arc<ClassifiedTool>>, observed: bool) -> Self {
        let effective = Effective::of(classified.as_deref());
        Self { name, classified, observed, standing: Standing::Unpinned, pin: None, effective }
    }

    pub fn classification(&self) -> Classification {
        self.effective.classification
    }

    pub fn side_effects(&self) -> bool {
        self.classified.as_ref().is_none_or(|tool| tool.manifest.side_effects) || self.effective.risk_level.writes()
    }

    pub fn governs(&self) -> bool {
        self.classified.as_ref().is_some_and(|tool| tool.manifest.governs())
    }
}

#[derive(Debug, Clone)]
pub struct Exchange {
    pub trace_id: TraceId,
    pub principal: Arc<Principal>,
    pub route: Route,
    /// What the client speaks, where it has said so.
    pub revision: Option<Revision>,
    pub session: Option<Session>,
    pub ask: Ask,
    pub subject: Subject,
    /// Headers that travel with the body and are not derived from it: `Mcp-Param-*`, `traceparent`.
    pub carried: Vec<(String, String)>,
    /// Which upstream a message on the aggregated door goes to, where it names no tool.
    pub member: Option<Namespace>,
    /// The tool whose task this asks for.
    pub about: Option<ToolName>,
    /// The round whose `requestState` this carries.
    pub continues: Option<TraceId>,
    /// Which node was asked, where that was not this one.
    pub passage: Option<Passage>,
    /// What the rows said when it arrived: everything that judges it reads this set.
    pub live: Arc<Live>,
    /// Its tenant's part of them.
    pub rules: Arc<TenantRules>,
    /// When it arrived: whoever judges asks no clock.
    pub at: Timestamp,
    /// What the agent itself says this call is; it can only raise.
    pub declared: Option<Classification>,
    /// The approval that it goes on with.
    pub approval: Option<ApprovalShown>,
    /// What the chain found in it.
    pub content: Content,
    /// How the tool describes itself, in the form that was accepted; `None` where nobody knows.
    pub definition: Option<Arc<Defined>>,
    /// Where the runs are that stand before it.
    pub gates: Gates,
    /// The run of a tool agent that it is a step of. Said inside the process alone: nothing a client sends sets it.
    pub run: Option<Arc<RunStep>>,
}

/// What a caller brought back to a question of ours: which approval, and what its user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalShown {
    pub id: Uuid,
    /// The question was a form, to which yes means yes; a page is only visited.
    pub form: bool,
    pub answered: Option<Said>,
}

impl ApprovalShown {
    /// Whether its user was asked about this approval and did not want it.
    pub fn refuses(&self, approval: Uuid) -> bool {
        self.id == approval && matches!(self.answered, Some(Said::Decline | Said::Cancel))
    }
}

/// How a person may answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Accept,
    Decline,
    Cancel,
}

impl Exchange {
    /// What every exchange has; the rest is empty until somebody knows it.
    pub fn new(trace_id: TraceId, principal: Arc<Principal>, route: Route, ask: Ask, subject: Subject) -> Self {
        Self {
            trace_id,
            principal,
            route,
            revision: None,
            session: None,
            ask,
            subject,
            carried: Vec::new(),
            member: None,
            about: None,
            continues: None,
            passage: None,
            live: Live::none(),
            rules: TenantRules::none(),
            at: Timestamp::UNIX_EPOCH,
            declared: None,
            approval: None,
            content: Content::default(),
            definition: None,
            gates: Gates::NotLooked,
            run: None,
        }
    }

    pub fn message(&self) -> Option<&Message> {
        match &self.ask {
            Ask::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The message's params, to change; none are made where there were none.
    pub(crate) fn params_mut(&mut self) -> Option<&mut Map<String, Value>> {
        match &mut self.ask {
            Ask::Message(message) => message.params_mut(),
            _ => None,
        }
    }

    pub fn method(&self) -> Option<&str> {
        self.message().and_then(Message::method)
    }

    pub fn tool(&self) -> Option<&ToolSubject> {
        match &self.subject {
            Subject::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// The arguments of a tool call, where there are any.
    pub fn arguments(&self) -> Option<&Value> {
        self.tool()?;
        self.message()?.params()?.get("arguments")
    }

    pub fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments()?.get(name)
    }

    /// The digest of exactly what is sent, so that an approval can be bound to it and a copy recognised.
    pub fn arguments_hash(&self) -> Option<String> {
        let canonical = match self.arguments() {
            Some(arguments) => canonical::to_vec(arguments),
            None => serde_json_canonicalizer::to_vec(self.message()?.params()?),
        };
        Some(digest::named(&canonical.ok()?))
    }

    pub fn is_modern(&self) -> bool {
        self.revision.is_some_and(Revision::is_modern)
    }

    /// What stops this caller here, if anything does. Lists and streams are stopped as calls are.
    pub fn suspended(&self) -> Option<&Suspension> {
        let standing = &self.live.standing;
        if standing.is_empty() {
            return None;
        }
        let tool = self.tool().map(|tool| &tool.name).or(self.about.as_ref());
        let member = || Some(Route::One(self.member.clone()?));
        let by_door = standing.why(&self.principal, &self.route, tool);
        by_door.or_else(|| standing.why(&self.principal, &member()?, tool))
    }

    /// Decisions go into the chain; handshakes and lists do not, and neither do the tools that write the chain.
    pub fn is_governed(&self) -> bool {
        match &self.subject {
            Subject::Tool(tool) => !tool.governs(),
            Subject::Read | Subject::Act => true,
            Subject::Plain => false,
        }
    }

    pub fn classification(&self) -> Classification {
        match &self.subject {
            Subject::Tool(tool) => tool.classification(),
            Subject::Act => RiskLevel::LowWrite.classification(),
            Subject::Read | Subject::Plain => RiskLevel::ReadOnly.classification(),
        }
    }

    /// The worst is assumed until a manifest says otherwise.
    pub fn has_side_effects(&self) -> bool {
        match &self.subject {
            Subject::Tool(tool) => tool.side_effects(),
            Subject::Act => true,
            Subject::Read | Subject::Plain => false,
        }
    }
}
