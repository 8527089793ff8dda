//! What a credential was made for. An agent's key reaches as far as its agent; a tenant's key reaches the tools its scopes
//! name, and nothing else.

use std::sync::Arc;

use gateway_protocol::Message;

use crate::exchange::{Exchange, Route};
use crate::names::{Namespace, ToolName};
use crate::permission::Pattern;

/// The scope that makes a tenant key an administrator's.
pub const ADMIN: &str = "admin";
/// The rule by which a call outside a key's scopes is refused. No wider token is asked for: keys cannot be widened by asking.
pub const RULE: &str = "outside_the_key";
/// What a tenant key's scopes say of roles, beside its tools.
const ROLE: &str = "role:";
/// Words of one key.
const MOST: usize = 100;
const LONGEST: usize = 512;

/// What somebody who may use some tool of an upstream needs to begin at all. Everything else that is no tool call reaches what
/// no tool names, and needs the whole namespace.
const OPENING: [&str; 6] =
    ["initialize", "ping", "server/discover", "tools/list", "subscriptions/listen", "logging/setLevel"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Bound by its agent alone, or by being an administrator's.
    Whole,
    /// A token: the levels of risk that its scopes name.
    Levels,
    /// A tenant's key: these tools.
    Tools(Arc<[Pattern]>),
}

impl Reach {
    /// Whether tools that this does not name stay out of it. Levels are a token's, and answered in their own way.
    pub fn holds(&self, exchange: &Exchange) -> bool {
        let Self::Tools(tools) = self else { return true };
        let named = |tool: &ToolName| tools.iter().any(|pattern| pattern.matches(tool));
        if let Some(tool) = exchange.tool().map(|tool| &tool.name).or(exchange.about.as_ref()) {
            return named(tool);
        }
        let namespace = match &exchange.route {
            Route::One(namespace) => Some(namespace),
            Route::All => exchange.member.as_ref(),
        };
        match opens(exchange) {
            true => namespace.is_none_or(|at| tools.iter().any(|pattern| pattern.touches(at))),
            false => covers(tools, namespace),
        }
    }
}

fn covers(tools: &[Pattern], namespace: Option<&Namespace>) -> bool {
    tools.iter().any(|pattern| match namespace {
        Some(namespace) => pattern.covers(namespace),
        None => *pattern == Pattern::Any,
    })
}

/// Handshakes, lists of tools, streams, and what is no question.
fn opens(exchange: &Exchange) -> bool {
    match exchange.message() {
        Some(Message::Request(request)) => OPENING.contains(&request.method.as_str()),
        _ => true,
    }
}

/// What stands in `api_keys.scopes`, told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyScopes {
    pub admin: bool,
    pub reach: Reach,
    pub roles: Vec<String>,
    /// As they are shown: without the roles.
    pub words: Vec<String>,
}

impl KeyScopes {
    /// What cannot be read reaches nothing, and neither does a key without scopes.
    pub fn stored(stored: Vec<String>) -> Self {
        let (roles, words): (Vec<_>, Vec<_>) = stored.into_iter().partition(|word| word.starts_with(ROLE));
        let roles = roles.iter().filter_map(|word| word.strip_prefix(ROLE)).map(str::to_owned).collect();
        let admin = words.iter().any(|word| word == ADMIN);
        let reach = match admin {
            true => Reach::Whole,
            false => Reach::Tools(words.iter().filter_map(|word| Pattern::read(word).ok()).collect()),
        };
        Self { admin, reach, roles, words }
    }

    /// The words of a new key for these tools and roles, or what is wrong with them.
    pub fn written(tools: &[String], roles: &[String]) -> Result<Vec<String>, String> {
        if tools.is_empty() {
            return Err("a key without scopes opens nothing: name its tools, such as `notes/*,crm/get_*`".into());
        }
        if tools.len() + roles.len() > MOST {
            return Err(format!("a key has at most {MOST} scopes and roles"));
        }
        for word in tools {
            known(word)?;
        }
        Ok(tools.iter().cloned().chain(roles.iter().map(|role| format!("{ROLE}{role}"))).collect())
    }
}

/// A word that means nothing would look like a limit and be none, or look like a permission and be none.
fn known(word: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("scope `{}`: {what}", word.escape_debug()));
    if word == ADMIN {
        return wrong("an administrator's key is made with `--admin --name WHO`, and calls no tools");
    }
    if word.len() > LONGEST {
        return wrong("is too long");
    }
    let what = "is not known: name tools, such as `notes/search`, `notes/*`, `*/search` or `*`";
    let Ok(pattern) = Pattern::read(word) else { return wrong(what) };
    let is_namespace = |text: &str| text.split_once('/').is_some_and(|(space, _)| space.parse::<Namespace>().is_ok());
    let fits = match &pattern {
        Pattern::Any => true,
        Pattern::Exact(whole) => whole.parse::<ToolName>().is_ok(),
        Pattern::Starts(front) => is_namespace(front),
        Pattern::Ends(part) | Pattern::Holds(part) => !part.chars().any(char::is_control),
    };
    if fits { Ok(()) } else { wrong(what) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::exchange::{Ask, Subject, ToolSubject};
    use crate::identity::Principal;
    use crate::names::TraceId;

    fn words(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    // acceptance 52: words that mean nothing are refused when the key is made.
    #[test]
    fn a_new_key_says_what_it_is_for() {
        for (tools, roles, expected) in [
            (&["notes/*", "crm/get_*"][..], &[][..], Ok(words(&["notes/*", "crm/get_*"]))),
            (&["notes/search"], &["viewer"], Ok(words(&["notes/search", "role:viewer"]))),
            (&["*"], &[], Ok(words(&["*"]))),
            (&["tools:call:*/search"], &[], Ok(words(&["tools:call:*/search"]))),
            (&[], &["viewer"], Err("opens nothing")),
            (&["admin"], &[], Err("--admin")),
            (&["notes/*", "admin"], &[], Err("--admin")),
            (&["write"], &[], Err("`write`: is not known")),
            (&["mcp:read"], &[], Err("is not known")),
            (&["role:admin"], &[], Err("is not known")),
            (&["role:a/b"], &[], Err("is not known")),
            (&["notes/"], &[], Err("is not known")),
            (&["/*"], &[], Err("is not known")),
            (&["notes*"], &[], Err("is not known")),
            (&["no tes/*"], &[], Err("is not known")),
            (&["a/*/b"], &[], Err("is not known")),
            (&["**"], &[], Err("is not known")),
            (&[""], &[], Err("is not known")),
        ] {
            match (KeyScopes::written(&words(tools), &words(roles)), expected) {
                (Ok(made), Ok(wanted)) => assert_eq!(made, wanted, "{tools:?}"),
                (Err(said), Err(part)) => assert!(said.contains(part), "{tools:?}: {said}"),
                (made, _) => unreachable!("{tools:?}: {made:?}"),
            }
        }
        assert!(KeyScopes::written(&vec!["a/b".into(); MOST + 1], &[]).is_err());
    }

    #[test]
    fn what_is_stored_is_read_at_its_narrowest() {
        for (stored, admin, patterns, roles) in [
            (&["admin"][..], true, None, &[][..]),
            (&["notes/*"], false, Some(1), &[]),
            (&["notes/*", "role:viewer", "role:a/b"], false, Some(1), &["viewer", "a/b"]),
            (&["Admin", "mcp:read"], false, Some(0), &[]),
            (&[], false, Some(0), &[]),
        ] {
            let read = KeyScopes::stored(words(stored));
            let count = match &read.reach {
                Reach::Tools(tools) => Some(tools.len()),
                _ => None,
            };
            assert_eq!((read.admin, count, read.roles), (admin, patterns, words(roles)), "{stored:?}");
        }
    }

    /// `crm/read` is a call of that tool; anything else is a method, at the aggregated door where nothing stands before `@`.
    fn exchange(what: &str) -> Exchange {
        let (method, at) = what.split_once('@').unwrap_or(("tools/call", ""));
        let route = if at.is_empty() { Route::All } else { Route::One(at.parse().unwrap()) };
        let principal = Arc::new(Principal::anonymous());
        let (ask, subject) = match method {
            "tools/call" => {
                let params = json!({ "name": what }).as_object().cloned();
                let tool = ToolSubject::new(what.parse().unwrap(), None, false);
                (Ask::Message(Message::request(1, method, params)), Subject::Tool(tool))
            }
            "GET" => (Ask::Listen { last_event_id: None }, Subject::Plain),
            method => (Ask::Message(Message::request(1, method, None)), Subject::Plain),
        };
        Exchange::new(TraceId::from_stored("trc_1"), principal, route, ask, subject)
    }

    // acceptance 52: what a key with tool scopes reaches.
    #[test]
    fn a_key_reaches_the_tools_it_names() {
        for (scopes, inside, outside) in [
            (
                &["notes/*", "crm/get_*"][..],
                &[
                    "notes/search",
                    "crm/get_one",
                    "tools/list@notes",
                    "tools/list@crm",
                    "tools/list@",
                    "initialize@",
                    "GET@crm",
                    "resources/read@notes",
                    "what/ever@notes",
                ][..],
                &[
                    "crm/set",
                    "notes2/search",
                    "adp/adp_verify_chain",
                    "tools/list@adp",
                    "initialize@mail",
                    "GET@mail",
                    "resources/read@crm",
                    "resources/list@",
                    "what/ever@crm",
                    "tasks/list@",
                ][..],
            ),
            (&["*"], &["crm/set", "resources/list@", "tools/list@adp"], &[]),
            (&[], &["initialize@", "tools/list@"], &["crm/set", "initialize@crm", "resources/list@"]),
        ] {
            let reach = KeyScopes::stored(words(scopes)).reach;
            for (what, expected) in inside.iter().map(|it| (it, true)).chain(outside.iter().map(|it| (it, false))) {
                assert_eq!(reach.holds(&exchange(what)), expected, "{scopes:?} {what}");
            }
        }
    }
}
