//! One tenant's rows become rules. What cannot be read is kept as broken, with its reason and its worth.

use std::sync::Arc;

use gateway_core::ToolName;
use gateway_core::injection::InjectionAction;
use gateway_core::live::{Broken, TenantFacts, TenantRules};
use gateway_core::policies::{ClassifiedTool, Handling, Policies, ToolMap};
use gateway_core::ports::ManifestRow;
use gateway_core::rules::RuleSet;
use gateway_core::verdict::PolicyMode;
use gateway_plugins::{access, dlp};

use super::{Compiler, TenantRows};
use crate::policy_files::read_manifest;

/// For rows that stand beside these files.
pub fn compiler(files: &Policies) -> Compiler {
    let (tools, operator) = (files.tools.clone(), Arc::clone(&files.dlp));
    Arc::new(move |rows| {
        let rules = compile_tenant(rows, &tools);
        let (own, broken) = dlp::compile_rows(&rows.dlp, &operator);
        rules.with_broken(broken).with_dlp(own)
    })
}

/// `files` are the tools that the policy files classify, which a tenant may only tighten.
pub fn compile_tenant(rows: &TenantRows, files: &ToolMap) -> TenantRules {
    let (access, mut broken) = access::compile(&rows.access_policies, &[], None);
    let mut policies = Vec::new();
    for row in rows.agent_policies.iter().filter(|row| row.is_active) {
        match row.compile() {
            Ok(policy) => policies.push(policy),
            Err(why) => broken.push(Broken { policy: format!("policy `{}`", row.policy_id), why, mode: row.mode }),
        }
    }
    let mut tools = ToolMap::new();
    for row in &rows.manifests {
        match tool(row, files.get(&row.tool)) {
            Ok(tool) => drop(tools.insert(row.tool.clone(), Arc::new(tool))),
            Err(why) => {
                let policy = format!("the manifest of `{}`", row.tool);
                broken.push(Broken { policy, why, mode: PolicyMode::Enforce });
            }
        }
    }
    let tenant = TenantFacts { id: Some(rows.id), name: rows.name.clone() };
    TenantRules::new(tenant, RuleSet::compile(policies), access, tools, broken)
}

/// A tenant's own word on a tool: the first, or a stricter one than the file's.
pub fn tool(row: &ManifestRow, file: Option<&Arc<ClassifiedTool>>) -> Result<ClassifiedTool, String> {
    let own = read_manifest(row)?;
    let Some(file) = file else { return Ok(own) };
    looser(&row.tool, &own, file)?;
    let (mine, theirs) = (&own.handling, &file.handling);
    let mut context = mine.context.clone();
    // Where a value stands in the arguments was said by whoever wrote the file: the rules that read it are theirs too.
    context.extend(theirs.context.clone());
    let handling = Handling {
        action_type: theirs.action_type.clone().or_else(|| mine.action_type.clone()),
        raises: theirs.raises.iter().chain(&mine.raises).cloned().collect(),
        sql: theirs.sql.tightened(&mine.sql),
        context,
        self_modifying: theirs.self_modifying || mine.self_modifying,
        dlp: theirs.dlp.tightened_by(&mine.dlp),
        // Only the operator's own word loosens.
        schema_off: theirs.schema_off,
        injection: match mine.injection {
            Some(InjectionAction::Block) => mine.injection,
            _ => theirs.injection,
        },
        // The operator's stays; where there is none, a tenant may put its own before the tool.
        gate: theirs.gate.clone().or_else(|| mine.gate.clone()),
    };
    let classification = own.classification.raised_to(file.classification);
    let metadata = own.metadata.clone().or_else(|| file.metadata.clone());
    Ok(ClassifiedTool::new(own.manifest, Some(classification)).described(metadata).handled(handling))
}

fn looser(tool: &ToolName, own: &ClassifiedTool, file: &ClassifiedTool) -> Result<(), String> {
    let (own, file) = (&own.manifest, &file.manifest);
    if file.governs() {
        return Err(format!("{tool} is the gateway's own"));
    }
    if own.risk_level < file.risk_level {
        return Err(format!("risk_level: {} is below the operator's {}", own.risk_level, file.risk_level));
    }
    match own.allowed_modes.iter().find(|mode| !file.allowed_modes.contains(mode)) {
        Some(mode) => Err(format!("allowed_modes: the operator's manifest does not list {mode}")),
        None => Ok(()),
    }
}
