//! JSON Schema, compiled: the draft that a schema names, nothing fetched, patterns that cannot run away.

use gateway_core::definitions::{CheckJson, Masked, Schema, SchemaCompiler, SchemaFault};
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::survey::Survey;
use super::{excused, told};

/// More faults than this help nobody to put the first ones right.
const MOST_FAULTS: usize = 5;
/// Steps that a pattern with look-around may take on one text.
const MOST_STEPS: usize = 100_000;
/// What a compiled pattern may take.
const LARGEST_PATTERN: usize = 1 << 20;

/// The stack of the thread that compiles.
const ROOM: usize = 64 << 20;

pub struct Compiler;

impl SchemaCompiler for Compiler {
    fn compile(&self, schema: &Value) -> Schema {
        if *schema == Value::Bool(true) || schema.as_object().is_some_and(serde_json::Map::is_empty) {
            return Schema::None;
        }
        let survey = match Survey::of(schema) {
            Ok(survey) => survey,
            Err(why) => return Schema::Unreadable(why),
        };
        match on_its_own(schema) {
            Some(Ok(validator)) => Schema::Compiled(Box::new(Compiled { validator, survey })),
            Some(Err(why)) => Schema::Unreadable(why),
            None => Schema::Unreadable("it could not be compiled".into()),
        }
    }
}

struct Compiled {
    validator: Validator,
    survey: Survey,
}

impl CheckJson for Compiled {
    fn check(&self, value: &Value, masked: &Masked<'_>) -> Result<(), Vec<SchemaFault>> {
        if !self.survey.is_bearable(value) {
            return whole("expected something smaller or less nested: this could not be checked in reasonable time");
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if !self.survey.is_tellable(value) {
            return self.first(value, masked);
        }
        let mut faults: Vec<SchemaFault> = Vec::new();
        // Excused before they are counted: masks of the first places must not hide what is wrong with the next.
        for error in self.validator.iter_errors(value).filter(|error| !excused::by(masked, error)) {
            let fault = told::fault(&error);
            if !faults.contains(&fault) {
                faults.push(fault);
            }
            if faults.len() == MOST_FAULTS {
                break;
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

impl Compiled {
    /// Of a value whose faults together could take more than there is: the first one, where it can be had alone and no
    /// mask excuses it. What stands behind a mask is then not known, so it does not pass.
    fn first(&self, value: &Value, masked: &Masked<'_>) -> Result<(), Vec<SchemaFault>> {
        let alone = if self.survey.chooses() { None } else { self.validator.validate(value).err() };
        match alone.filter(|error| !excused::by(masked, error)) {
            Some(error) => Err(vec![told::fault(&error)]),
            None => whole("expected what its schema says: it does not fit, and is too large to say where"),
        }
    }
}

fn whole(expected: &str) -> Result<(), Vec<SchemaFault>> {
    Err(vec![SchemaFault { shown: String::new(), expected: expected.into() }])
}

/// Compiling goes down one call for each reference that leads to another, so it gets room for as many as there may be.
/// Once for each definition, a thread is nothing.
fn on_its_own(schema: &Value) -> Option<Result<Validator, String>> {
    std::thread::scope(|scope| {
        let room = std::thread::Builder::new().name("schema".into()).stack_size(ROOM);
        room.spawn_scoped(scope, || build(schema)).ok()?.join().ok()
    })
}

/// The first way of reading the schema under which it is one.
fn build(schema: &Value) -> Result<Validator, String> {
    let mut first = None;
    for draft in drafts(schema) {
        match compile(schema, *draft) {
            Ok(validator) => return Ok(validator),
            Err(error) => first = first.or(Some(error)),
        }
    }
    let fault = first.map(|error| told::fault(&error));
    Err(fault.map_or_else(|| "it is of no known kind".into(), |fault| format!("{fault}")))
}

fn compile(schema: &Value, draft: Draft) -> Result<Validator, ValidationError<'static>> {
    let plain = PatternOptions::regex().size_limit(LARGEST_PATTERN);
    let options = jsonschema::options().offline().with_draft(draft).should_validate_formats(false);
    options.clone().with_pattern_options(plain).build(schema).or_else(|_| {
        // Look-around is only in the engine that backtracks.
        let fancy = PatternOptions::fancy_regex().backtrack_limit(MOST_STEPS).size_limit(LARGEST_PATTERN);
        options.with_pattern_options(fancy).build(schema)
    })
}

/// The draft it names. One that names none, or one that nobody knows, is read as MCP says; older servers name none and
/// mean an older one, so those are tried where it could not be the newest.
fn drafts(schema: &Value) -> &'static [Draft] {
    let named = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let named = named.trim_end_matches('#').trim_end_matches('/');
    let known = named.strip_prefix("https://").or_else(|| named.strip_prefix("http://")).unwrap_or_default();
    match known {
        "json-schema.org/draft-04/schema" => &[Draft::Draft4],
        "json-schema.org/draft-06/schema" => &[Draft::Draft6],
        "json-schema.org/draft-07/schema" => &[Draft::Draft7],
        "json-schema.org/draft/2019-09/schema" => &[Draft::Draft201909],
        "json-schema.org/draft/2020-12/schema" => &[Draft::Draft202012],
        _ => &[Draft::Draft202012, Draft::Draft7, Draft::Draft4],
    }
}
