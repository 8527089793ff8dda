//! What a called tool says of its input and output, compiled once for each definition.
//!
//! Compiling is somebody else's (`SchemaCompiler`): core knows no schema language, only what was found against one.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::names::ToolName;

/// Definitions that are kept compiled. Beyond it all are forgotten and compiled again as they are called.
const MOST_KEPT: usize = 4096;
/// How long an upstream that could not say what a tool looks like is not asked again.
const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// A tool's definition with its two schemas, each compiled when it is first needed.
pub struct Defined {
    pub hash: Arc<str>,
    pub definition: Arc<Value>,
    input: OnceLock<Schema>,
    output: OnceLock<Schema>,
}

pub enum Schema {
    /// It says nothing, so there is nothing to check.
    None,
    Compiled(Box<dyn CheckJson>),
    /// With what is wrong about it, in words for the operator.
    Unreadable(String),
}

/// A schema that values can be held against.
pub trait CheckJson: Send + Sync {
    /// The first few faults that no mask excuses, where there are any.
    fn check(&self, value: &Value, masked: &Masked<'_>) -> Result<(), Vec<SchemaFault>>;
}

/// One place at which a value does not fit its schema. Says what was expected, never what was found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// A JSON pointer into the value, without names that only its sender knows.
    pub shown: String,
    /// `expected integer, found string`
    pub expected: String,
}

/// The places of a value at which a mask stands instead of what was there: it keeps the type and nothing else.
#[derive(Debug, Default)]
pub struct Masked<'a>(BTreeSet<&'a str>);

impl<'a> Masked<'a> {
    /// `edited` are places of a whole message, in which the value stands at `at`.
    pub fn within(edited: &'a [String], at: &str) -> Self {
        let below = |path: &'a String| path.strip_prefix(at).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        Self(edited.iter().filter_map(below).collect())
    }

    /// Whether what stands exactly there was masked.
    pub fn holds(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    /// Whether it, or anything inside it, was.
    pub fn reaches(&self, path: &str) -> bool {
        // `/a-b` sorts between `/a` and `/a/b`.
        self.holds(path) || self.0.range(format!("{path}/").as_str()..).next().is_some_and(|next| is_in(next, path))
    }
}

fn is_in(place: &str, outer: &str) -> bool {
    place.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shown.as_str() {
            "" => write!(f, "`/`: {}", self.expected),
            path => write!(f, "`{path}`: {}", self.expected),
        }
    }
}

pub trait SchemaCompiler: Send + Sync {
    fn compile(&self, schema: &Value) -> Schema;
}

impl Defined {
    pub fn new(hash: Arc<str>, definition: Arc<Value>) -> Self {
        Self { hash, definition, input: OnceLock::new(), output: OnceLock::new() }
    }

    pub fn input(&self, compiler: &dyn SchemaCompiler) -> &Schema {
        self.input.get_or_init(|| {
            self.compiled("inputSchema", |schema| {
                let mut asked = schema.clone();
                forgive_defaults(&mut asked);
                compiler.compile(&asked)
            })
        })
    }

    pub fn output(&self, compiler: &dyn SchemaCompiler) -> &Schema {
        self.output.get_or_init(|| self.compiled("outputSchema", |schema| compiler.compile(schema)))
    }

    fn compiled(&self, member: &str, compile: impl FnOnce(&Value) -> Schema) -> Schema {
        match self.definition.get(member) {
            None | Some(Value::Null) => Schema::None,
            Some(schema) => compile(schema),
        }
    }
}

/// What has a default need not be said. Some servers describe arguments as they are once defaults are filled in, and so
/// list as required what nobody has to send.
fn forgive_defaults(schema: &mut Value) {
    match schema {
        Value::Array(many) => many.iter_mut().for_each(forgive_defaults),
        Value::Object(members) => {
            let defaulted: Vec<String> =
                members.get("properties").and_then(Value::as_object).map_or_else(Vec::new, |all| {
                    all.iter().filter(|(_, one)| one.get("default").is_some()).map(|(name, _)| name.clone()).collect()
                });
            if let Some(required) = members.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|name| !defaulted.iter().any(|known| name == known));
            }
            // The others hold data, in which these words mean nothing.
            let told =
                members.iter_mut().filter(|(key, _)| !["const", "enum", "default", "examples"].contains(&key.as_str()));
            told.for_each(|(_, one)| forgive_defaults(one));
        }
        _ => {}
    }
}

impl fmt::Debug for Defined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Defined({})", self.hash)
    }
}

/// A definition that is kept where it lies, and what became of it.
type Placed = (Arc<Value>, Arc<Defined>);

/// Definitions by their hash, and by where they lie for those that nobody pinned.
#[derive(Default)]
pub struct Compiled {
    by_hash: ArcSwap<HashMap<Arc<str>, Arc<Defined>>>,
    /// Each entry keeps its definition alive, so that no other can come to lie at the same place.
    by_place: ArcSwap<HashMap<usize, Placed>>,
    /// When nobody could last say what a tool looks like. By tool: asking for one that is not there must not keep the
    /// others from being checked.
    silent: ArcSwap<HashMap<ToolName, Timestamp>>,
}

impl Compiled {
    pub(super) fn under(&self, hash: &Arc<str>, definition: &Arc<Value>) -> Arc<Defined> {
        if let Some(known) = self.by_hash.load().get(hash) {
            return Arc::clone(known);
        }
        let fresh = Arc::new(Defined::new(Arc::clone(hash), Arc::clone(definition)));
        keep(&self.by_hash, hash, fresh)
    }

    /// What nobody pinned, as its upstream gave it: hashed when it is first seen.
    pub fn of(&self, definition: &Arc<Value>) -> Arc<Defined> {
        let place = Arc::as_ptr(definition).addr();
        if let Some((_, known)) = self.by_place.load().get(&place) {
            return Arc::clone(known);
        }
        let defined = self.under(&super::hash(definition).into(), definition);
        keep(&self.by_place, &place, (Arc::clone(definition), defined)).1
    }

    /// Whether its upstream was asked for it in vain a moment ago.
    pub fn is_silent(&self, tool: &ToolName, now: Timestamp) -> bool {
        self.silent.load().get(tool).is_some_and(|since| now.duration_since(*since) < ASK_AGAIN)
    }

    pub fn was_silent(&self, tool: &ToolName, now: Timestamp) {
        keep(&self.silent, tool, now);
    }
}

fn keep<K: Clone + Eq + Hash, V: Clone>(kept: &ArcSwap<HashMap<K, V>>, key: &K, fresh: V) -> V {
    kept.rcu(|all| {
        let mut all = if all.len() < MOST_KEPT { HashMap::clone(all) } else { HashMap::new() };
        all.insert(key.clone(), fresh.clone());
        all
    });
    fresh
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Counts(AtomicUsize);

    impl SchemaCompiler for Counts {
        fn compile(&self, _: &Value) -> Schema {
            self.0.fetch_add(1, Ordering::Relaxed);
            Schema::Unreadable("no".into())
        }
    }

    #[test]
    fn a_definition_is_compiled_once_however_often_it_is_called() {
        let (compiled, compiler) = (Compiled::default(), Counts::default());
        let hash: Arc<str> = "sha256:1".into();
        for _ in 0..3 {
            // As after every change of the rows: the same definition in another place.
            let tool = Arc::new(json!({ "name": "a", "inputSchema": { "type": "object" } }));
            let defined = compiled.under(&hash, &tool);
            assert!(matches!(defined.input(&compiler), Schema::Unreadable(_)));
            assert!(matches!(defined.output(&compiler), Schema::None), "nothing is said of its output");
        }
        assert_eq!(compiler.0.load(Ordering::Relaxed), 1);
        let unpinned = Arc::new(json!({ "name": "b", "inputSchema": {} }));
        assert!(Arc::ptr_eq(&compiled.of(&unpinned), &compiled.of(&unpinned)));
    }

    #[test]
    fn what_has_a_default_need_not_be_said() {
        let inner = json!({ "properties": { "a": { "default": 1 }, "b": {} }, "required": ["a", "b"] });
        let mut schema =
            json!({ "properties": { "a": inner, "default": { "const": inner } }, "required": ["a", "default"] });
        forgive_defaults(&mut schema);
        assert_eq!(schema["required"], json!(["a", "default"]), "a member that is called `default` has none");
        assert_eq!(schema["properties"]["a"]["required"], json!(["b"]));
        assert_eq!(schema["properties"]["default"]["const"], inner);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let compiled = Compiled::default();
        let tool = Arc::new(json!({ "name": "a" }));
        for number in 0..MOST_KEPT + 10 {
            compiled.under(&number.to_string().into(), &tool);
        }
        assert!(compiled.by_hash.load().len() <= MOST_KEPT);
    }

    #[test]
    fn what_was_masked_is_known_by_its_place() {
        let edited: Vec<String> = [
            "/result/structuredContent/who/mail",
            "/result/structuredContent/who-else",
            "/result/structuredContents/a",
        ]
        .map(String::from)
        .into();
        let masked = Masked::within(&edited, "/result/structuredContent");
        for (path, holds, reaches) in [
            ("/who/mail", true, true),
            ("/who/mailbox", false, false),
            ("/who", false, true),
            ("/wh", false, false),
            ("/who-else", true, true),
            ("/a", false, false),
            ("", false, true),
        ] {
            assert_eq!((masked.holds(path), masked.reaches(path)), (holds, reaches), "{path}");
        }
        assert!(!Masked::default().reaches(""));
    }
}
