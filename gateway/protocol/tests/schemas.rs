//! Every translated message fits the published schema of the revision it was written for, and says nothing that revision does
//! not know: the schemas themselves allow unknown members, so here they are closed first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "schemas/corpus.rs"]
mod corpus;

use corpus::{LEGACY, MODERN};
use gateway_protocol::era::up_results::{Hints, Told};
use gateway_protocol::era::{self, Filter, Greeting, Handshake, InputKind, Level, down, down_results, up, up_results};
use gateway_protocol::{Id, Message, Notification, Outcome, Request, Revision};
use serde_json::{Map, Value, json};

struct Schemas(Revision, Value);

impl Schemas {
    fn of(revision: Revision) -> Self {
        let file = format!("{}/tests/schemas/{revision}.json", env!("CARGO_MANIFEST_DIR"));
        let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        for keyword in ["$defs", "definitions"] {
            for (name, definition) in schema.get_mut(keyword).and_then(Value::as_object_mut).into_iter().flatten() {
                close(name, definition);
            }
        }
        Self(revision, schema)
    }

    fn problems(&self, definition: &str, instance: &Value) -> Vec<String> {
        let mut schema = self.1.clone();
        let keyword = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
        assert!(schema[keyword].get(definition).is_some(), "{} has no {definition}", self.0);
        schema["allOf"] = json!([{ "$ref": format!("#/{keyword}/{definition}") }]);
        let validator = jsonschema::validator_for(&schema).unwrap();
        validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    fn accept(&self, definition: &str, instance: &Value) {
        let problems = self.problems(definition, instance);
        assert!(problems.is_empty(), "{} {definition}: {problems:#?}\n{instance:#}", self.0);
    }
}

/// Forbids members the definition does not name. Envelopes and `_meta` are open by design, and so is what says so itself.
fn close(name: &str, definition: &mut Value) {
    if name.starts_with("JSON") || name.ends_with("MetaObject") || name.ends_with("Notification") {
        return;
    }
    let target =
        if name.ends_with("Request") { definition.pointer_mut("/properties/params") } else { Some(definition) };
    let Some(Value::Object(target)) = target else {
        return;
    };
    if !target.contains_key("properties") || target.contains_key("additionalProperties") {
        return;
    }
    if name.ends_with("Request") || name.ends_with("Params") {
        target["properties"].as_object_mut().unwrap().entry("_meta").or_insert(json!({}));
    }
    target.insert("additionalProperties".into(), false.into());
}

fn legacy() -> impl Iterator<Item = Schemas> {
    Revision::ALL.into_iter().filter(|revision| !revision.is_modern()).map(Schemas::of)
}

fn modern() -> Schemas {
    Schemas::of(Revision::LATEST)
}

fn value(request: Request) -> Value {
    serde_json::to_value(Message::Request(request)).unwrap()
}

fn request(method: &str, params: &Value) -> Request {
    Request { id: Id::from(1), method: method.into(), params: params.as_object().cloned() }
}

fn told(notification: Notification) -> Value {
    serde_json::to_value(Message::Notification(notification)).unwrap()
}

fn notification(method: &str, params: &Value) -> Notification {
    Notification { method: method.into(), params: params.as_object().cloned() }
}

fn handshake(revision: Revision) -> Handshake {
    let params = json!({
        "protocolVersion": revision.as_str(), "capabilities": corpus::client_capabilities(), "clientInfo": corpus::implementation(),
    });
    Handshake::of_initialize(params.as_object().unwrap())
}

fn modern_greeting() -> Greeting {
    let result = corpus::discover_result();
    modern().accept("DiscoverResult", &result);
    Greeting::of_discover(&result).unwrap()
}

#[test]
fn greetings_fit() {
    let newest = Schemas::of(Revision::LATEST_LEGACY);
    newest.accept("InitializeResult", &corpus::initialize_result());
    let legacy_greeting = Greeting::of_initialize(&corpus::initialize_result()).unwrap();
    modern().accept("DiscoverResult", &legacy_greeting.to_discover());
    modern().accept("DiscoverResult", &modern_greeting().to_discover());
    for schemas in legacy() {
        let (revision, result) = modern_greeting().to_initialize(Some(schemas.0.as_str()));
        assert_eq!(revision, schemas.0);
        schemas.accept("InitializeResult", &result);
        let nameless = Greeting { server_info: Value::Null, ..modern_greeting() };
        schemas.accept("InitializeResult", &nameless.to_initialize(Some(schemas.0.as_str())).1);
        // What a modern client says of itself; the newest revision declares all of it.
        let mut described = handshake(schemas.0);
        described.capabilities = down::capabilities(&described.capabilities);
        if schemas.0 == Revision::LATEST_LEGACY {
            let params = Value::Object(described.to_params());
            schemas.accept("InitializeRequest", &value(request("initialize", &params)));
        }
        schemas.accept("Implementation", &described.to_params()["clientInfo"]);
    }
}

#[test]
fn requests_fit() {
    let own = Id::from("own");
    for (method, definition, params) in corpus::requests() {
        let asked = request(method, &params);
        for schemas in legacy() {
            schemas.accept(definition, &value(asked.clone()));
            let risen = up::request(&asked, own.clone(), Some(&own), &handshake(schemas.0), Some(Level::Debug));
            modern().accept(definition, &value(risen.clone()));
            let described = era::described(&Message::Request(risen.clone())).unwrap();
            assert_eq!((described.level, described.token), (Some(Level::Debug), Some(own.clone())));
            let back = down::request(&risen, Id::from(1), None).unwrap();
            assert_eq!(back, asked, "up and down again");
            if era::may_ask(method) {
                let answers = Map::from_iter([("e".to_owned(), json!({ "action": "cancel" }))]);
                let again = up::retry(&risen, Id::from(3), answers, Some("s".into()));
                modern().accept(definition, &value(again.clone()));
                schemas.accept(definition, &value(down::request(&again, own.clone(), Some(&own)).unwrap()));
            }
        }
    }
}

#[test]
fn modern_results_fit_every_legacy_revision() {
    let mut changed = 0;
    for (method, definition, result) in corpus::modern_results() {
        modern().accept(definition, &result);
        for schemas in legacy() {
            changed += usize::from(!schemas.problems(definition, &result).is_empty());
            schemas.accept(definition, &down_results::result(method, result.clone(), schemas.0));
        }
    }
    assert!(changed > 20, "the schemas would notice: {changed} results did not fit before");
}

#[test]
fn legacy_results_fit_the_modern_revision() {
    let greeting = Greeting::of_initialize(&corpus::initialize_result()).unwrap();
    let newest = Schemas::of(Revision::LATEST_LEGACY);
    for (method, definition, result) in corpus::legacy_results() {
        newest.accept(definition, &result);
        let risen = up_results::result(method, result.clone(), &greeting, Hints::default());
        modern().accept(definition, &risen);
        let mut back = down_results::result(method, risen, Revision::LATEST_LEGACY);
        newest.accept(definition, &back);
        // Tasks are the one thing that does not come back.
        back["tools"] = Value::Null;
        let mut without_tools = result;
        without_tools["tools"] = Value::Null;
        assert_eq!(back, without_tools, "{method}");
    }
}

#[test]
fn notifications_fit() {
    for (method, definition, params, since) in corpus::notifications() {
        let tagged = era::tagged(notification(method, &params), &Id::from("l"));
        if since == MODERN || since == LEGACY {
            modern().accept(definition, &told(tagged.clone()));
        }
        for schemas in legacy() {
            match down_results::notification(tagged.clone(), schemas.0) {
                Some(heard) => schemas.accept(definition, &told(heard)),
                None => assert_eq!(since, MODERN, "{method} has nothing to say to {}", schemas.0),
            }
        }
        if let Some(heard) = up_results::notification(notification(method, &params)) {
            modern().accept(definition, &told(era::under_token(heard, &Id::from("p"))));
        }
    }
    let filter = Filter { tools: true, prompts: true, resources: true, uris: vec!["file:///a".into()] };
    let id = Id::from(4);
    modern().accept("SubscriptionsAcknowledgedNotification", &told(era::acknowledged(&filter, &id)));
    modern().accept("SubscriptionsListenResult", &era::listened(&id));
    modern().accept("SubscriptionFilter", &filter.to_value());
}

#[test]
fn questions_fit() {
    for (kind, definition, params, since) in corpus::modern_questions() {
        modern().accept("InputRequest", &json!({ "method": kind.method(), "params": params }));
        for schemas in legacy() {
            let asked = era::question(kind, params.as_object(), Id::from("q"), schemas.0);
            assert_eq!(asked.is_some(), schemas.0 >= since, "{params} to {}", schemas.0);
            if let Some(asked) = asked {
                schemas.accept(definition, &value(asked));
            }
        }
    }
    let greeting = Greeting::of_initialize(&corpus::initialize_result()).unwrap();
    let newest = Schemas::of(Revision::LATEST_LEGACY);
    let mut inputs = Vec::new();
    for (number, (kind, definition, params)) in corpus::legacy_questions().into_iter().enumerate() {
        newest.accept(definition, &value(request(kind.method(), &params)));
        inputs.push((format!("i-{number}"), kind, params.as_object().cloned()));
    }
    let result = era::asking(inputs.clone(), Some("state"), &greeting);
    modern().accept("InputRequiredResult", &result);
    let read = era::input_required(&result).unwrap();
    assert_eq!(read.inputs.len(), inputs.len());
    for ((_, kind, params), (_, definition, _)) in read.inputs.iter().zip(corpus::legacy_questions()) {
        let again = era::question(*kind, params.as_ref(), Id::from("q"), Revision::LATEST_LEGACY).unwrap();
        newest.accept(definition, &value(again));
    }
}

#[test]
fn answers_fit() {
    for (kind, definition, answer) in corpus::answers() {
        modern().accept(definition, &answer);
        Schemas::of(Revision::LATEST_LEGACY).accept(definition, &down::answer(kind, &answer));
        let risen = up::answer(kind, &Outcome::Result(answer.clone())).unwrap();
        modern().accept("InputResponse", &risen);
        modern().accept(definition, &risen);
    }
    let cancelled = up::answer(InputKind::Elicitation, &Outcome::Result(json!("?"))).unwrap();
    modern().accept("ElicitResult", &cancelled);
}

#[test]
fn errors_fit() {
    let newest = Schemas::of(Revision::LATEST_LEGACY);
    let required = corpus::url_required();
    let whole = |error: &gateway_protocol::RpcError| {
        serde_json::to_value(Message::error(Some(Id::from(1)), error.clone())).unwrap()
    };
    newest.accept("URLElicitationRequiredError", &whole(&required));
    let Told::Ask(inputs) = up_results::error("tools/call", &required) else { panic!("a question") };
    let greeting = Greeting::of_initialize(&corpus::initialize_result()).unwrap();
    modern().accept("InputRequiredResult", &era::asking(inputs, None, &greeting));
    let Told::Error { error, .. } = up_results::error("tools/list", &required) else { panic!("an error") };
    modern().accept("JSONRPCErrorResponse", &whole(&error));
    for schemas in legacy() {
        let definition = if schemas.0 == Revision::LATEST_LEGACY { "JSONRPCErrorResponse" } else { "JSONRPCError" };
        schemas.accept(definition, &whole(&down_results::error(error.clone())));
    }
}
