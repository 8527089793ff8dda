//! What enforcing a policy would have changed, before it changes anything: the recorded calls are judged with it and without.

use std::io::{BufRead, IsTerminal};

use gateway_core::TenantId;
use gateway_core::desk::{Desk, PolicyLine, ReplayScope};
use gateway_core::replay::Report;
use gateway_store::Store;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::kill::operator;
use super::super::output::plain;
use super::super::replay::told;
use super::super::{Common, Failure};
use crate::desk::judging_with;
use crate::policy_files::load_for;

/// Somebody waits for the answer.
const RECENT: SignedDuration = SignedDuration::from_hours(7 * 24);

pub(super) async fn tried(
    store: &Store,
    desk: &Desk,
    common: &Common,
    policy: &PolicyLine,
    (tenant, since): (TenantId, Option<Timestamp>),
) -> Result<Report, Failure> {
    let since = since.or_else(|| Timestamp::now().checked_sub(RECENT).ok());
    let scope = ReplayScope { tenant: Some(tenant), since };
    let loaded = load_for(&common.place.config()?)?;
    let (chain, now, then) = judging_with(store, loaded, policy.id).await?;
    desk.replay_against(&operator(), &scope, &chain, (&now, &then)).await.map_err(|error| Failure::of(&error))
}

/// A person is asked, and shown what about. A script is told what turned in the answer, as every other command tells it.
pub(super) fn agreed(policy: &str, report: &Report) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(());
    }
    eprintln!("{}", told(report));
    eprint!("{} will be obeyed on every node within a second. Enforce it? [y/N] ", plain(policy));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new("nothing was changed")),
    }
}

/// The policy as it is now, and what it was found to turn.
pub(super) fn beside(changed: &PolicyLine, tried: Option<&Report>) -> Result<Value, Failure> {
    let mut document = serde_json::to_value(changed).map_err(|error| Failure::of(&error))?;
    if let (Some(fields), Some(report)) = (document.as_object_mut(), tried) {
        fields.insert("trial".into(), json!(report));
    }
    Ok(document)
}
