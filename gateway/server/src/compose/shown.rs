//! How an upstream looks to a person: what is known of it, in the words of the console and of `doctor`.

use gateway_console::ShownUpstream;
use gateway_core::Namespace;
use gateway_core::ports::{Health, Spoken};
use gateway_protocol::Revision;

/// `address` is where the configuration has it; what runs inside the gateway has none, and is there as long as it is.
pub fn shown(namespace: &Namespace, address: Option<String>, spoken: &Spoken) -> ShownUpstream {
    let built_in = spoken.transport.is_empty();
    let (state, reason) = match &spoken.health {
        Health::Unknown if built_in => ("up", None),
        Health::Unknown => ("unknown", Some("nobody has asked it anything yet".to_owned())),
        Health::Up => ("up", None),
        Health::Down(why) => ("down", Some(why.clone())),
    };
    let found = match (spoken.fixed, spoken.found_at) {
        (true, _) => Some("configured"),
        (false, Some(_)) => Some("probed"),
        (false, None) => None,
    };
    let modern = (spoken.modern == Some(true)).then_some(Revision::LATEST);
    let revisions = modern.into_iter().chain(spoken.legacy).map(|revision| revision.as_str().to_owned()).collect();
    ShownUpstream {
        namespace: namespace.to_string(),
        transport: if built_in { "built_in" } else { spoken.transport },
        address,
        era: era(spoken),
        revisions,
        found,
        found_at: spoken.found_at.map(|at| at.to_string()),
        seen_at: spoken.seen_at.map(|at| at.to_string()),
        state,
        reason,
    }
}

fn era(spoken: &Spoken) -> Option<&'static str> {
    match (spoken.modern, spoken.legacy) {
        (Some(true), Some(_)) => Some("both"),
        (Some(true), None) => Some("modern"),
        (Some(false), _) | (None, Some(_)) => Some("legacy"),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_known_is_shown_and_nothing_is_guessed() {
        let crm: Namespace = "crm".parse().unwrap();
        let http = || Spoken { transport: "streamable_http", ..Spoken::default() };
        let old = Some(Revision::V2025_06_18);
        for (spoken, era, revisions, found, state) in [
            (Spoken::default(), None, &[][..], None, "up"),
            (http(), None, &[], None, "unknown"),
            (
                Spoken { modern: Some(true), fixed: true, ..http() },
                Some("modern"),
                &["2026-07-28"],
                Some("configured"),
                "unknown",
            ),
            (
                Spoken {
                    modern: Some(false),
                    legacy: old,
                    found_at: Some(Timestamp::UNIX_EPOCH),
                    health: Health::Up,
                    ..http()
                },
                Some("legacy"),
                &["2025-06-18"],
                Some("probed"),
                "up",
            ),
            (
                Spoken { modern: Some(true), legacy: old, health: Health::Down("is not reachable".into()), ..http() },
                Some("both"),
                &["2026-07-28", "2025-06-18"],
                None,
                "down",
            ),
        ] {
            let shown = shown(&crm, None, &spoken);
            assert_eq!((shown.era, shown.found, shown.state), (era, found, state), "{spoken:?}");
            assert_eq!(shown.revisions, revisions, "{spoken:?}");
            assert_eq!(shown.reason.is_some(), state != "up", "{spoken:?}");
        }
    }
}
