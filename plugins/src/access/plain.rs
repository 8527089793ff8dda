//! Rules that are plain enough to be answered without the interpreter.
//!
//! Most rules compare parts of a call with what was written down, and most calls break none of them. What can be read of
//! such rules is kept as a small tree beside the module. The tree speaks only where the interpreter would say the same:
//! whatever it could not read, whatever fails and whatever takes long it leaves to the interpreter, errors above all.

mod reader;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use regorus::Value;
use regorus::unstable::BoolOp;

/// About a fifth of a millisecond: what needs more is for somebody who looks at the clock.
const WORK: usize = 4096;
/// Rules that name rules.
const DEPTH: usize = 16;

/// Not known here; ask the interpreter.
#[derive(Debug, Clone, Copy)]
struct Unsure;

type Found<'a> = Result<Cow<'a, Value>, Unsure>;

/// What could be read of a module.
#[derive(Debug, Default)]
pub(super) struct Plain {
    rules: Vec<Rule>,
    asked: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Rule {
    /// `rule contains …`: all outputs together. Otherwise the one output there may be.
    is_set: bool,
    ways: Vec<Way>,
    default: Option<Value>,
    /// There is no call that it is unsure of.
    is_total: bool,
}

/// One definition of a rule: its output, where every step of its body holds.
#[derive(Debug)]
struct Way {
    /// Free of variables, and in the order of the interpreter: one that does not hold ends the way, whatever follows.
    guards: Vec<Step>,
    /// Those with variables, whose order is the scheduler's, so that none may be unsure. `None`: some could not be read.
    rest: Option<Vec<Step>>,
    output: Term,
}

#[derive(Debug)]
enum Step {
    Holds(Term),
    Not(Term),
    /// The next variable.
    Let(Term),
}

#[derive(Debug)]
enum Term {
    Known(Value),
    Input,
    Variable(usize),
    Rule(usize),
    At(Box<Term>, Box<Term>),
    Compare(BoolOp, Box<Term>, Box<Term>),
    In(Box<Term>, Box<Term>),
    Call(Function, Vec<Term>),
    Unread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    StartsWith,
    EndsWith,
    Contains,
    Count,
    Lower,
}

impl Plain {
    /// What of these rules the text of a module says plainly.
    pub fn read(text: &str, asked: &[&str]) -> Self {
        reader::read(text, asked).unwrap_or_default()
    }

    /// What the rule of this name says of a call; `None` leaves it to the interpreter.
    pub fn answer(&self, name: &str, input: &Value) -> Option<Value> {
        let place = self.asked.get(name)?;
        let mut asking = Asking { plain: self, input, work: WORK, depth: 0 };
        asking.rule(*place).ok().map(Cow::into_owned)
    }
}

struct Asking<'a> {
    plain: &'a Plain,
    input: &'a Value,
    work: usize,
    depth: usize,
}

impl<'a> Asking<'a> {
    fn rule(&mut self, place: usize) -> Found<'a> {
        let rule = self.plain.rules.get(place).ok_or(Unsure)?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Unsure);
        }
        let found = if rule.is_set { self.set(&rule.ways) } else { self.one(&rule.ways) };
        self.depth -= 1;
        match (found?, &rule.default) {
            (found, Some(default)) if *found == Value::Undefined => Ok(Cow::Borrowed(default)),
            (found, _) => Ok(found),
        }
    }

    fn set(&mut self, ways: &'a [Way]) -> Found<'a> {
        let mut outputs = BTreeSet::new();
        for way in ways {
            let output = self.way(way)?;
            if *output != Value::Undefined {
                outputs.insert(output.into_owned());
            }
        }
        Ok(Cow::Owned(Value::from(outputs)))
    }

    fn one(&mut self, ways: &'a [Way]) -> Found<'a> {
        let mut found = Cow::Owned(Value::Undefined);
        for way in ways {
            let output = self.way(way)?;
            // Two answers of one rule are an error, which is not for here to word.
            if *output != Value::Undefined
                && *found != Value::Undefined
                && !self.compare(&BoolOp::Eq, &found, &output)?
            {
                return Err(Unsure);
            }
            if *output != Value::Undefined {
                found = output;
            }
        }
        Ok(found)
    }

    fn way(&mut self, way: &'a Way) -> Found<'a> {
        let mut variables = Vec::new();
        for step in &way.guards {
            if !self.step(step, &mut variables)? {
                return Ok(Cow::Owned(Value::Undefined));
            }
        }
        for step in way.rest.as_ref().ok_or(Unsure)? {
            if !self.step(step, &mut variables)? {
                return Ok(Cow::Owned(Value::Undefined));
            }
        }
        self.term(&way.output, &variables)
    }

    fn step(&mut self, step: &'a Step, variables: &mut Vec<Cow<'a, Value>>) -> Result<bool, Unsure> {
        Ok(match step {
            Step::Holds(term) => !matches!(*self.term(term, variables)?, Value::Bool(false) | Value::Undefined),
            Step::Not(term) => matches!(*self.term(term, variables)?, Value::Bool(false) | Value::Undefined),
            Step::Let(term) => {
                let value = self.term(term, variables)?;
                let is_there = *value != Value::Undefined;
                variables.push(value);
                is_there
            }
        })
    }

    fn term(&mut self, term: &'a Term, variables: &[Cow<'a, Value>]) -> Found<'a> {
        self.spend(1)?;
        match term {
            Term::Known(value) => Ok(Cow::Borrowed(value)),
            Term::Input => Ok(Cow::Borrowed(self.input)),
            Term::Variable(place) => variables.get(*place).cloned().ok_or(Unsure),
            Term::Rule(place) => self.rule(*place),
            Term::At(of, key) => {
                let key = self.term(key, variables)?;
                match self.term(of, variables)? {
                    Cow::Borrowed(value) => Ok(Cow::Borrowed(&value[&*key])),
                    Cow::Owned(value) => Ok(Cow::Owned(value[&*key].clone())),
                }
            }
            Term::Compare(how, one, other) => {
                let (one, other) = (self.term(one, variables)?, self.term(other, variables)?);
                if *one == Value::Undefined || *other == Value::Undefined {
                    return Ok(Cow::Owned(Value::Undefined));
                }
                self.compare(how, &one, &other).map(truth)
            }
            Term::In(one, many) => {
                let (one, many) = (self.term(one, variables)?, self.term(many, variables)?);
                self.is_in(&one, &many).map(truth)
            }
            Term::Call(function, terms) => {
                let mut given = Vec::with_capacity(terms.len());
                for term in terms {
                    given.push(self.term(term, variables)?);
                }
                self.call(*function, &given)
            }
            Term::Unread => Err(Unsure),
        }
    }

    fn compare(&mut self, how: &BoolOp, one: &Value, other: &Value) -> Result<bool, Unsure> {
        // How long two collections take is not known before.
        if is_many(one) && is_many(other) {
            return Err(Unsure);
        }
        self.spend(weight(one).min(weight(other)))?;
        Ok(match how {
            BoolOp::Eq => one == other,
            BoolOp::Ne => one != other,
            BoolOp::Lt => one < other,
            BoolOp::Le => one <= other,
            BoolOp::Gt => one > other,
            BoolOp::Ge => one >= other,
        })
    }

    fn is_in(&mut self, one: &Value, many: &Value) -> Result<bool, Unsure> {
        if is_many(one) {
            return Err(Unsure);
        }
        let each = 1 + weight(one);
        match many {
            Value::Array(list) => self.spend(list.len() * each).map(|()| list.contains(one)),
            Value::Set(set) => self.spend(set.len() * each).map(|()| set.contains(one)),
            Value::Object(parts) => self.spend(parts.len() * each).map(|()| parts.values().any(|value| value == one)),
            _ => Ok(false),
        }
    }

    /// Anything but texts is an error, or is about to be one.
    fn call(&mut self, function: Function, given: &[Cow<'a, Value>]) -> Found<'a> {
        if given.iter().any(|value| **value == Value::Undefined) {
            return Ok(Cow::Owned(Value::Undefined));
        }
        self.spend(given.iter().map(|value| 4 * weight(value)).sum())?;
        let mut values = given.iter().map(|value| &**value);
        match (function, values.next(), values.next()) {
            (Function::StartsWith, Some(Value::String(text)), Some(Value::String(part))) => {
                Ok(truth(text.starts_with(&**part)))
            }
            (Function::EndsWith, Some(Value::String(text)), Some(Value::String(part))) => {
                Ok(truth(text.ends_with(&**part)))
            }
            (Function::Contains, Some(Value::String(text)), Some(Value::String(part))) => {
                Ok(truth(text.contains(&**part)))
            }
            (Function::Lower, Some(Value::String(text)), None) => Ok(Cow::Owned(Value::from(text.to_lowercase()))),
            (Function::Count, Some(Value::Array(list)), None) => Ok(Cow::Owned(Value::from(list.len()))),
            (Function::Count, Some(Value::Set(set)), None) => Ok(Cow::Owned(Value::from(set.len()))),
            (Function::Count, Some(Value::Object(parts)), None) => Ok(Cow::Owned(Value::from(parts.len()))),
            _ => Err(Unsure),
        }
    }

    fn spend(&mut self, work: usize) -> Result<(), Unsure> {
        self.work = self.work.checked_sub(work).ok_or(Unsure)?;
        Ok(())
    }
}

fn truth<'a>(is_so: bool) -> Cow<'a, Value> {
    Cow::Owned(Value::Bool(is_so))
}

fn is_many(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Set(_) | Value::Object(_))
}

fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() / 64,
        _ => 0,
    }
}
