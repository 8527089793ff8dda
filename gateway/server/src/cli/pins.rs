//! `manifest diff` and `manifest accept`: what changed in a definition, with everything hidden made visible, and letting
//! it pass.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use gateway_core::ToolName;
use gateway_core::definitions::{diff as changes, visible};
use gateway_core::ports::{PinRow, PinState};
use serde_json::{Value, json};

use super::output::{Colour, painted};
use super::{Common, Failure, kill::operator};
use crate::desk;

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The tool, as `namespace/tool`
    tool: ToolName,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// The tool, as `namespace/tool`
    tool: ToolName,
    /// Keep what was accepted before, for servers that describe a tool differently to different callers
    #[arg(long)]
    also: bool,
    /// Accept the definition with this hash, where there are several
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub async fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let rows = of_tool(store.pins().pins().await?, &args.tool);
    store.close().await;
    let document = compared(&args.tool, &rows)?;
    args.common.output().answer(&document, || shown(&args.tool, &rows))
}

pub async fn accept(args: &AcceptArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let rows = of_tool(store.pins().pins().await?, &args.tool);
    let document = compared(&args.tool, &rows)?;
    let wanted = |row: &&PinRow| match &args.hash {
        Some(hash) => row.hash == *hash,
        None => row.state == PinState::Quarantined,
    };
    let Some(row) = rows.iter().rev().find(wanted) else {
        let what = match &args.hash {
            Some(hash) => format!("no definition of {} with the hash {hash} was seen", args.tool),
            None => format!("nothing of {} is held back: its definition is accepted already", args.tool),
        };
        return Err(Failure::new(what));
    };
    if !args.yes && std::io::stdin().is_terminal() {
        let mut err = std::io::stderr();
        write!(err, "{}\nAccept this definition? [y/N] ", shown(&args.tool, &rows))?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(Failure::new("nothing was accepted"));
        }
    }
    let desk = desk::without_rules(&store, &config);
    let accepted = desk.accept_definition(&operator(), row, args.also).await;
    accepted.map_err(|error| Failure::of(&error))?;
    store.close().await;
    let told = json!({"tool": args.tool, "hash": row.hash, "changes": document.get("changes")});
    args.common.output().answer(&told, || format!("{} is accepted as {}", args.tool, row.hash))
}

/// What the list of tools says of pins: where the tool stands, and what was found in it.
pub fn describe(tool: &mut Value, pins: &[PinRow]) {
    let name = tool.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned();
    let rows = || pins.iter().filter(|row| row.tool.as_str() == name);
    let pin = match () {
        () if rows().any(|row| row.state == PinState::Quarantined) => "quarantined",
        () if rows().next().is_some() => "pinned",
        () => "-",
    };
    let mut found: Vec<_> = rows().flat_map(|row| &row.findings).map(|finding| finding.rule.as_str()).collect();
    found.sort_unstable();
    found.dedup();
    let found = if found.is_empty() { "-".into() } else { found.join(",") };
    if let Some(fields) = tool.as_object_mut() {
        fields.insert("pin".into(), pin.into());
        fields.insert("findings".into(), found.into());
    }
}

fn of_tool(rows: Vec<PinRow>, tool: &ToolName) -> Vec<PinRow> {
    rows.into_iter().filter(|row| row.tool == *tool).collect()
}

/// The accepted definition and the one that is held back; the last of each.
fn both(rows: &[PinRow]) -> (Option<&PinRow>, Option<&PinRow>) {
    let last = |state| rows.iter().rev().find(|row| row.state == state);
    (last(PinState::Accepted), last(PinState::Quarantined))
}

fn compared(tool: &ToolName, rows: &[PinRow]) -> Result<Value, Failure> {
    if rows.is_empty() {
        let hint = "definitions are pinned when a classified tool is first listed or called";
        return Err(Failure::new(format!("no definition of {tool} was seen yet")).with_hint(hint));
    }
    let (accepted, held) = both(rows);
    let nothing = Value::Null;
    let old = accepted.map_or(&nothing, |row| &row.definition);
    let new = held.or(accepted).map_or(&nothing, |row| &row.definition);
    let side = |value: &Option<Value>| value.as_ref().map(|value| visible(&value.to_string()));
    let changes: Vec<_> = changes(old, new)
        .iter()
        .map(|change| json!({"path": change.path, "old": side(&change.old), "new": side(&change.new)}))
        .collect();
    Ok(json!({
        "tool": tool,
        "state": if held.is_some() { "quarantined" } else { "pinned" },
        "accepted": accepted.map(|row| json!({"hash": row.hash, "by": row.by, "at": row.at})),
        "seen": held.map(|row| json!({"hash": row.hash, "at": row.at})),
        "changes": changes,
        "findings": held.or(accepted).map(|row| &row.findings),
    }))
}

fn shown(tool: &ToolName, rows: &[PinRow]) -> String {
    let (accepted, held) = both(rows);
    let nothing = Value::Null;
    let mut lines = vec![match accepted {
        Some(row) => format!("{tool}  accepted {} by {}  {}", row.at, row.by.as_deref().unwrap_or("-"), row.hash),
        None => format!("{tool}  never accepted"),
    }];
    let Some(held) = held else {
        lines.push("  nothing is held back".into());
        return lines.join("\n");
    };
    lines.push(format!("  now {}  {}", held.hash, painted(Colour::Red, "QUARANTINED")));
    for change in changes(accepted.map_or(&nothing, |row| &row.definition), &held.definition) {
        let side =
            |value: &Option<Value>| value.as_ref().map_or("(nothing)".into(), |value| visible(&value.to_string()));
        lines.push(format!("  {}\n      {}\n   -> {}", visible(&change.path), side(&change.old), side(&change.new)));
    }
    for finding in &held.findings {
        lines.push(format!(
            "  {} ({}) at {}: {}",
            finding.rule,
            finding.action,
            visible(&finding.path),
            visible(&finding.message)
        ));
    }
    lines.push(format!("  accept it with: portreeve manifest accept {tool}"));
    lines.join("\n")
}
