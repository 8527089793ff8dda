//! What a call counts as, given what is asked of the tool: at least what the manifest says, and never less.

mod statements;
#[cfg(test)]
mod tests;

use crate::classification::Classification;
use crate::exchange::{Exchange, Raised, Subject};
use crate::manifest::RiskLevel;
use crate::policies::{ClassifiedTool, Policies};
use crate::rules::{Applies, CallContext};
use crate::sql::{SqlHandling, SqlKind, SqlSeen, Writes};

/// What an argument raises a call to.
struct Up {
    to: RiskLevel,
    classification: Option<Classification>,
    why: Raised,
}

/// Between mutators and judges, so that what is classified is what is sent.
pub fn raise(policies: &Policies, exchange: &mut Exchange) {
    let Subject::Tool(tool) = &exchange.subject else { return };
    let reader = policies.sql.as_ref();
    let Some(classified) = tool.classified.clone() else {
        // It counts as the worst already. Nobody said that it may write, so whoever watches it is told of every write.
        if tool.observed {
            exchange.content.sql = statements::read(reader, &SqlHandling::Unsaid, Writes::Deny, exchange);
        }
        return;
    };
    if tool.governs() {
        return;
    }
    let usual = Writes::of(classified.manifest.risk_level);
    exchange.content.sql = statements::read(reader, &classified.handling.sql, usual, exchange);
    let mut ups: Vec<_> = exchange.content.sql.iter().filter_map(|seen| by_sql(seen, &classified)).collect();
    ups.extend(by_arguments(&classified, exchange));
    let declared = exchange.declared;
    let Subject::Tool(tool) = &mut exchange.subject else { return };
    let effective = &mut tool.effective;
    for Up { to, classification, why } in ups {
        effective.risk_level = effective.risk_level.max(to);
        let least = effective.classification.raised_to(to.classification());
        effective.classification = classification.map_or(least, |wanted| least.raised_to(wanted));
        effective.why.push(why);
    }
    if let Some(declared) = declared {
        let raised = effective.classification.raised_to(declared);
        if raised != effective.classification {
            effective.classification = raised;
            let message = format!("the agent itself calls this {}", declared.code());
            let to = effective.risk_level;
            effective.why.push(Raised { rule: "declared".into(), to, message });
        }
    }
}

fn by_arguments(classified: &ClassifiedTool, exchange: &Exchange) -> Vec<Up> {
    let mut ups = Vec::new();
    for raise in &classified.handling.raises {
        let holds = match raise.when.applies(&CallContext::new(exchange)) {
            Applies::Yes => true,
            Applies::No => false,
            // What is not there does not hold; what is there and cannot be compared may be anything.
            Applies::Unknown(keys) => keys.iter().any(|key| is_given(exchange, key)),
        };
        if holds {
            let message = format!("{} is {} where {}", classified.manifest.id, raise.to, raise.when.written());
            let why = Raised { rule: "arguments".into(), to: raise.to, message };
            ups.push(Up { to: raise.to, classification: raise.classification, why });
        }
    }
    ups
}

fn is_given(exchange: &Exchange, key: &str) -> bool {
    let path = key.strip_prefix("arguments.").unwrap_or(key);
    path.split('.').try_fold(exchange.arguments(), |at, step| at.map(|at| at.get(step))).flatten().is_some()
}

fn by_sql(seen: &SqlSeen, tool: &ClassifiedTool) -> Option<Up> {
    let kind = seen.read.kind;
    let to = kind.risk_level();
    (to > tool.manifest.risk_level).then(|| {
        let what = match (kind, &seen.read.refused) {
            (SqlKind::Unknown, Some(refusal)) if refusal.rule == "argument" => refusal.reason.as_str(),
            _ => kind.told(),
        };
        let message = format!("`{}`: {what}", seen.argument);
        Up { to, classification: None, why: Raised { rule: "sql".into(), to, message } }
    })
}
