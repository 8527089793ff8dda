//! From the syntax of a module to what is plain in it.
//!
//! The interpreter's order matters where something may fail. It takes the steps without variables first, in the order they
//! are written in, and only then the others, as its scheduler likes. So a step without variables that stands before
//! everything unread is surely taken before it, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use regorus::Value;
use regorus::unstable::{
    AssignOp, Expr, Literal, LiteralStmt, Module, Parser, Query, Rule as Written, RuleHead, Source,
};

use super::{Function, Plain, Rule, Step, Term, Way};

/// Deeper than anybody writes.
const DEPTH: usize = 32;

pub(super) fn read(text: &str, asked: &[&str]) -> Option<Plain> {
    let source = Source::from_contents("module".into(), text.into()).ok()?;
    let mut parser = Parser::new(&source).ok()?;
    parser.enable_rego_v1().ok()?;
    let module = parser.parse().ok()?;
    // What is imported may be named like anything, and `data.static` is not a rule's to be.
    let is_known = |import: &str| import.starts_with("rego.v1") || import.starts_with("future.keywords");
    let names = |expr: &Expr| path(expr).map(|names| names.join("."));
    if !module.imports.iter().all(|import| names(&import.refr).is_some_and(|name| is_known(&name))) {
        return None;
    }
    if path(&module.package.refr)?.first().is_none_or(|first| *first == "static") {
        return None;
    }
    let mut reader = Reader { written: written(&module)?, plain: Plain::default(), read: BTreeMap::new() };
    for name in asked {
        if let Some(place) = reader.rule(name) {
            reader.plain.asked.insert((*name).to_owned(), place);
        }
    }
    Some(reader.plain)
}

/// The definitions of every name.
fn written(module: &Module) -> Option<BTreeMap<&str, Vec<&Written>>> {
    let mut names: BTreeMap<&str, Vec<&Written>> = BTreeMap::new();
    for rule in &module.policy {
        let of = match &**rule {
            Written::Default { refr, .. } => refr,
            Written::Spec { head, .. } => match head {
                RuleHead::Compr { refr, .. } | RuleHead::Set { refr, .. } | RuleHead::Func { refr, .. } => refr,
            },
        };
        names.entry(path(of)?.first()?).or_default().push(rule);
    }
    Some(names)
}

/// The names of `a.b["c"]`. What is chosen by anything but a text does not matter to those who ask.
fn path(mut expr: &Expr) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    loop {
        match expr {
            Expr::Var { span, .. } => {
                names.push(span.text());
                names.reverse();
                return Some(names);
            }
            Expr::RefDot { refr, field, .. } => {
                names.push(field.0.text());
                expr = refr;
            }
            Expr::RefBrack { refr, index, .. } => {
                names.push(index.span().text());
                expr = refr;
            }
            _ => return None,
        }
    }
}

struct Reader<'t> {
    written: BTreeMap<&'t str, Vec<&'t Written>>,
    plain: Plain,
    /// Nothing where a rule cannot be read, or is being read: one that names itself.
    read: BTreeMap<&'t str, Option<usize>>,
}

/// What is known of a body while it is read.
#[derive(Default)]
struct Body<'t> {
    declared: BTreeSet<&'t str>,
    variables: Vec<&'t str>,
    /// Of the step that is being read: does it look at a variable, and may it be unsure?
    has_variable: bool,
    may_fail: bool,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rule(&mut self, name: &str) -> Option<usize> {
        let (name, written) = self.written.get_key_value(name).map(|(name, written)| (*name, written.clone()))?;
        if let Some(read) = self.read.get(name) {
            return *read;
        }
        self.read.insert(name, None);
        let rule = self.definitions(&written)?;
        let place = self.plain.rules.len();
        self.plain.rules.push(rule);
        self.read.insert(name, Some(place));
        Some(place)
    }

    fn definitions(&mut self, written: &[&'t Written]) -> Option<Rule> {
        let (mut ways, mut default, mut kinds, mut is_total) = (Vec::new(), None, BTreeSet::new(), true);
        for rule in written {
            let (refr, output, bodies) = match rule {
                Written::Default { refr, args, value, .. } => {
                    if !args.is_empty() || default.is_some() || !matches!(&**refr, Expr::Var { .. }) {
                        return None;
                    }
                    default = Some(known(value, 0)?);
                    continue;
                }
                Written::Spec { head: RuleHead::Func { .. }, .. } => return None,
                Written::Spec { head: RuleHead::Set { refr, key, .. }, bodies, .. } => {
                    kinds.insert(true);
                    (refr, Some(&**key.as_ref()?), bodies)
                }
                Written::Spec { head: RuleHead::Compr { refr, assign, .. }, bodies, .. } => {
                    kinds.insert(false);
                    (refr, assign.as_ref().map(|assign| &*assign.value), bodies)
                }
            };
            // `else` has an order of its own.
            if !matches!(&**refr, Expr::Var { .. }) || bodies.len() > 1 {
                return None;
            }
            let (way, way_is_total) = self.way(output, bodies.first().map(|body| &*body.query));
            is_total &= way_is_total;
            ways.push(way);
        }
        if kinds.len() > 1 {
            return None;
        }
        let is_set = kinds.contains(&true);
        // Two that say different things are an error.
        let same = ways.windows(2).all(|two| {
            matches!(two, [Way { output: Term::Known(one), .. }, Way { output: Term::Known(other), .. }] if one == other)
        });
        Some(Rule { is_set, ways, default, is_total: is_total && (is_set || same) })
    }

    /// The definition, and whether it is sure of every call.
    fn way(&mut self, output: Option<&'t Expr>, query: Option<&'t Query>) -> (Way, bool) {
        let unread = || Way { guards: Vec::new(), rest: None, output: Term::Unread };
        let statements = query.map_or(&[][..], |query| &query.stmts);
        let Some(declared) = declared(statements) else { return (unread(), false) };
        let mut body = Body { declared, ..Body::default() };
        let (mut way, mut is_total) = (Way { rest: Some(Vec::new()), ..unread() }, true);
        for statement in statements {
            (body.has_variable, body.may_fail) = (false, false);
            match (self.step(statement, &mut body), &mut way.rest) {
                (Some(step), _) if !body.has_variable => {
                    way.guards.push(step);
                    is_total &= !body.may_fail;
                }
                (Some(step), Some(rest)) if !body.may_fail => rest.push(step),
                _ => {
                    way.rest = None;
                    return (way, false);
                }
            }
        }
        body.may_fail = false;
        let output = match output {
            None => Some(Term::Known(Value::Bool(true))),
            Some(output) => self.term(output, &mut body),
        };
        is_total &= output.is_some() && !body.may_fail;
        way.output = output.unwrap_or(Term::Unread);
        (way, is_total)
    }

    fn step(&mut self, statement: &'t LiteralStmt, body: &mut Body<'t>) -> Option<Step> {
        if !statement.with_mods.is_empty() {
            return None;
        }
        match &statement.literal {
            Literal::Expr { expr, .. } => match &**expr {
                Expr::AssignExpr { op: AssignOp::ColEq, lhs, rhs, .. } => {
                    let Expr::Var { span, .. } = &**lhs else { return None };
                    let name = span.text();
                    if name == "_" || body.variables.contains(&name) || matches!(&**rhs, Expr::Var { .. }) {
                        return None;
                    }
                    let value = self.term(rhs, body)?;
                    body.variables.push(name);
                    body.has_variable = true;
                    Some(Step::Let(value))
                }
                _ => self.term(expr, body).map(Step::Holds),
            },
            Literal::NotExpr { expr, .. } => self.term(expr, body).map(Step::Not),
            Literal::SomeVars { .. } | Literal::SomeIn { .. } | Literal::Every { .. } => None,
        }
    }

    fn term(&mut self, expr: &'t Expr, body: &mut Body<'t>) -> Option<Term> {
        body.depth += 1;
        let term = if body.depth > DEPTH { None } else { self.shallow(expr, body) };
        body.depth -= 1;
        term
    }

    fn shallow(&mut self, expr: &'t Expr, body: &mut Body<'t>) -> Option<Term> {
        let mut both = |one, other| Some((Box::new(self.term(one, body)?), Box::new(self.term(other, body)?)));
        match expr {
            Expr::BoolExpr { op, lhs, rhs, .. } => {
                both(lhs, rhs).map(|(one, other)| Term::Compare(op.clone(), one, other))
            }
            Expr::Membership { key: None, value, collection, .. } => {
                both(value, collection).map(|(one, many)| Term::In(one, many))
            }
            Expr::Var { span, .. } => self.named(span.text(), body),
            Expr::RefDot { refr, field, .. } => {
                let of = self.term(refr, body)?;
                Some(Term::At(Box::new(of), Box::new(Term::Known(key(field.0.text(), &field.1)?))))
            }
            Expr::RefBrack { refr, index, .. } => {
                let key = match &**index {
                    Expr::String { span, value, .. } => Term::Known(key(span.text(), value)?),
                    // One that is no variable of this body makes a loop.
                    Expr::Var { span, .. } if !body.variables.contains(&span.text()) => return None,
                    index => self.term(index, body)?,
                };
                Some(Term::At(Box::new(self.term(refr, body)?), Box::new(key)))
            }
            Expr::Call { fcn, params, .. } => {
                let Expr::Var { span, .. } = &**fcn else { return None };
                let name = span.text();
                let function = function(name, params.len()).filter(|_| !self.written.contains_key(name))?;
                let mut given = Vec::new();
                for param in params {
                    given.push(self.term(param, body)?);
                }
                body.may_fail = true;
                Some(Term::Call(function, given))
            }
            _ => known(expr, 0).map(Term::Known),
        }
    }

    fn named(&mut self, name: &str, body: &mut Body<'t>) -> Option<Term> {
        if let Some(place) = body.variables.iter().position(|variable| *variable == name) {
            body.has_variable = true;
            return Some(Term::Variable(place));
        }
        match name {
            _ if body.declared.contains(name) => None,
            "input" => Some(Term::Input),
            "data" => None,
            _ => {
                let place = self.rule(name)?;
                body.may_fail |= self.plain.rules.get(place).is_none_or(|rule| !rule.is_total);
                Some(Term::Rule(place))
            }
        }
    }
}

fn function(name: &str, given: usize) -> Option<Function> {
    match (name, given) {
        ("startswith", 2) => Some(Function::StartsWith),
        ("endswith", 2) => Some(Function::EndsWith),
        ("contains", 2) => Some(Function::Contains),
        ("count", 1) => Some(Function::Count),
        ("lower", 1) => Some(Function::Lower),
        _ => None,
    }
}

/// The interpreter looks for what is written, escapes and all.
fn key(text: &str, value: &Value) -> Option<Value> {
    matches!(value, Value::String(read) if **read == *text).then(|| value.clone())
}

/// A value that is written down in full.
fn known(expr: &Expr, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return None;
    }
    let known = |expr: &Expr| known(expr, depth + 1);
    match expr {
        Expr::String { value, .. }
        | Expr::RawString { value, .. }
        | Expr::Number { value, .. }
        | Expr::Bool { value, .. }
        | Expr::Null { value, .. } => Some(value.clone()),
        Expr::Array { items, .. } => items.iter().map(|item| known(item)).collect::<Option<Vec<_>>>().map(Value::from),
        Expr::Set { items, .. } => {
            items.iter().map(|item| known(item)).collect::<Option<BTreeSet<_>>>().map(Value::from)
        }
        Expr::Object { fields, .. } => {
            let fields = fields.iter().map(|(_, key, value)| Some((known(key)?, known(value)?)));
            fields.collect::<Option<BTreeMap<_, _>>>().map(Value::from)
        }
        _ => None,
    }
}

/// The names that are this body's own, wherever in it they are declared. `None`: nobody can tell.
fn declared(statements: &[LiteralStmt]) -> Option<BTreeSet<&str>> {
    let mut names = BTreeSet::new();
    for statement in statements {
        match &statement.literal {
            Literal::SomeVars { vars, .. } => names.extend(vars.iter().map(|span| span.text())),
            Literal::SomeIn { key, value, .. } => {
                key.iter().try_for_each(|key| pattern(key, &mut names, 0))?;
                pattern(value, &mut names, 0)?;
            }
            Literal::Expr { expr, .. } => {
                if let Expr::AssignExpr { lhs, .. } = &**expr {
                    pattern(lhs, &mut names, 0)?;
                }
            }
            Literal::NotExpr { .. } | Literal::Every { .. } => {}
        }
    }
    Some(names)
}

fn pattern<'t>(expr: &'t Expr, names: &mut BTreeSet<&'t str>, depth: usize) -> Option<()> {
    match expr {
        _ if depth > DEPTH => return None,
        Expr::Var { span, .. } => {
            names.insert(span.text());
        }
        Expr::Array { items, .. } => items.iter().try_for_each(|item| pattern(item, names, depth + 1))?,
        Expr::Object { fields, .. } => {
            fields.iter().try_for_each(|(_, _, value)| pattern(value, names, depth + 1))?;
        }
        _ => {}
    }
    Some(())
}
