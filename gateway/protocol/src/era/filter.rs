//! `subscriptions/listen`: which news a modern client wants, and how they are marked as belonging to one subscription.
//!
//! Nothing that was not asked for may be delivered, and progress and log messages never come this way.

use serde_json::{Map, Value, json};

use super::{Greeting, with_meta};
use crate::message::{Id, Notification};
use crate::revision::meta;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    /// The resources whose updates are wanted.
    pub uris: Vec<String>,
}

impl Filter {
    /// From the params of a `subscriptions/listen`; `None` if they are not what the revision asks for.
    pub fn of(params: &Map<String, Value>) -> Option<Self> {
        let wanted = params.get("notifications")?.as_object()?;
        let flag = |key: &str| wanted.get(key).map_or(Some(false), Value::as_bool);
        let uris = match wanted.get("resourceSubscriptions") {
            None => Vec::new(),
            Some(uris) => uris.as_array()?.iter().map(|uri| uri.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        };
        Some(Self {
            tools: flag("toolsListChanged")?,
            prompts: flag("promptsListChanged")?,
            resources: flag("resourcesListChanged")?,
            uris,
        })
    }

    pub fn wants(&self, notification: &Notification) -> bool {
        match notification.method.as_str() {
            "notifications/tools/list_changed" => self.tools,
            "notifications/prompts/list_changed" => self.prompts,
            "notifications/resources/list_changed" => self.resources,
            "notifications/resources/updated" => {
                let uri = notification.params.as_ref().and_then(|params| params.get("uri")).and_then(Value::as_str);
                uri.is_some_and(|uri| self.uris.iter().any(|wanted| lies_in(uri, wanted)))
            }
            _ => false,
        }
    }

    /// The filter as `params.notifications` carries it.
    pub fn to_value(&self) -> Value {
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        let mut wanted: Map<String, Value> =
            flags.into_iter().filter(|(_, on)| *on).map(|(key, on)| (key.to_owned(), on.into())).collect();
        if !self.uris.is_empty() {
            wanted.insert("resourceSubscriptions".into(), json!(self.uris));
        }
        Value::Object(wanted)
    }

    /// What of this the server says it can tell: only that is acknowledged.
    pub fn within(&self, server: &Greeting) -> Self {
        let can = |area: &str, what: &str| {
            let flag = server.capabilities.get(area).and_then(|area| area.get(what));
            flag.and_then(Value::as_bool).unwrap_or(false)
        };
        Self {
            tools: self.tools && can("tools", "listChanged"),
            prompts: self.prompts && can("prompts", "listChanged"),
            resources: self.resources && can("resources", "listChanged"),
            uris: if can("resources", "subscribe") { self.uris.clone() } else { Vec::new() },
        }
    }
}

/// An update may concern a part of the resource that was subscribed to.
fn lies_in(uri: &str, wanted: &str) -> bool {
    uri.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || wanted.ends_with('/') || rest.starts_with('/'))
}

/// The first message of a subscription's stream.
pub fn acknowledged(filter: &Filter, subscription: &Id) -> Notification {
    let params = Map::from_iter([("notifications".to_owned(), filter.to_value())]);
    let acknowledgement =
        Notification { method: "notifications/subscriptions/acknowledged".into(), params: Some(params) };
    tagged(acknowledgement, subscription)
}

/// The notification as one of this subscription; its id is that of the request that opened it.
pub fn tagged(mut notification: Notification, subscription: &Id) -> Notification {
    with_meta(notification.params.get_or_insert_default(), |given| {
        given.insert(meta::SUBSCRIPTION_ID.into(), subscription.into());
    });
    notification
}

/// The result with which a subscription ends.
pub fn listened(id: &Id) -> Value {
    json!({ "resultType": "complete", "_meta": { meta::SUBSCRIPTION_ID: Value::from(id) } })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::revision::Revision;

    fn news(method: &str, params: &Value) -> Notification {
        Notification { method: format!("notifications/{method}"), params: params.as_object().cloned() }
    }

    #[test]
    fn only_what_was_asked_for_is_wanted() {
        let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["file:///a", "file:///d/"] });
        let filter = Filter::of(json!({ "notifications": wanted }).as_object().unwrap()).unwrap();
        assert_eq!(filter.to_value(), wanted);
        for (method, params, expected) in [
            ("tools/list_changed", json!(null), true),
            ("prompts/list_changed", json!(null), false),
            ("resources/list_changed", json!({}), false),
            ("resources/updated", json!({ "uri": "file:///a" }), true),
            ("resources/updated", json!({ "uri": "file:///a/part" }), true),
            ("resources/updated", json!({ "uri": "file:///ab" }), false),
            ("resources/updated", json!({ "uri": "file:///d/e" }), true),
            ("resources/updated", json!({}), false),
            ("progress", json!({ "progressToken": 1 }), false),
            ("message", json!({ "level": "info" }), false),
        ] {
            assert_eq!(filter.wants(&news(method, &params)), expected, "{method} {params}");
        }
    }

    #[test]
    fn a_filter_is_read_strictly() {
        for params in [
            json!({}),
            json!({ "notifications": [] }),
            json!({ "notifications": { "toolsListChanged": "yes" } }),
            json!({ "notifications": { "resourceSubscriptions": "file:///a" } }),
            json!({ "notifications": { "resourceSubscriptions": [1] } }),
        ] {
            assert_eq!(Filter::of(params.as_object().unwrap()), None, "{params}");
        }
        let none = json!({ "notifications": { "other": 1 } });
        assert_eq!(Filter::of(none.as_object().unwrap()), Some(Filter::default()));
    }

    #[test]
    fn a_server_is_not_asked_for_more_than_it_offers() {
        let all = Filter { tools: true, prompts: true, resources: true, uris: vec!["a:b".into()] };
        let server = |capabilities: Value| Greeting {
            revision: Revision::LATEST_LEGACY,
            supported: Vec::new(),
            capabilities: capabilities.as_object().unwrap().clone(),
            server_info: Value::Null,
            instructions: None,
        };
        assert_eq!(all.within(&server(json!({}))), Filter::default());
        let some =
            server(json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true, "listChanged": 1 } }));
        assert_eq!(all.within(&some), Filter { tools: true, uris: vec!["a:b".into()], ..Filter::default() });
    }

    #[test]
    fn every_message_of_a_subscription_names_it() {
        let id = Id::from("l-1");
        let acknowledgement = acknowledged(&Filter { tools: true, ..Filter::default() }, &id);
        assert_eq!(
            Value::Object(acknowledgement.params.unwrap()),
            json!({ "notifications": { "toolsListChanged": true }, "_meta": { meta::SUBSCRIPTION_ID: "l-1" } })
        );
        let update = tagged(news("resources/updated", &json!({ "uri": "a:b", "_meta": { "v": 1 } })), &Id::from(7));
        assert_eq!(
            Value::Object(update.params.unwrap()),
            json!({ "uri": "a:b", "_meta": { "v": 1, meta::SUBSCRIPTION_ID: 7 } })
        );
        let bare = tagged(news("tools/list_changed", &json!(null)), &id);
        assert_eq!(Value::Object(bare.params.unwrap()), json!({ "_meta": { meta::SUBSCRIPTION_ID: "l-1" } }));
        assert_eq!(listened(&id), json!({ "resultType": "complete", "_meta": { meta::SUBSCRIPTION_ID: "l-1" } }));
    }
}
