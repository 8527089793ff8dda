//! What may be called: functions and operators by name, and those whose argument is a table.

use pg_query::NodeEnum;
use pg_query::protobuf::{FuncCall, Node, TypeName, a_const};

use crate::{Refusal, Rule};

use super::names::{self, Name, shown};
use super::walk::Walk;

impl<'a> Walk<'a> {
    pub(super) fn call(&mut self, call: &'a FuncCall) {
        match Name::of(&call.funcname) {
            Some(name) => self.callee(name, call),
            None => self.unlisted_function("of another database"),
        }
        self.all(&call.args);
        self.all(&call.agg_order);
        self.maybe(call.agg_filter.as_deref());
        if let Some(over) = &call.over {
            self.window(over);
        }
    }

    fn callee(&mut self, name: Name<'a>, call: &'a FuncCall) {
        if self.vouched(name) {
            return;
        }
        // With VARIADIC the number of arguments is not what is written.
        let arguments = if call.func_variadic { usize::MAX } else { call.args.len() };
        if !name.is_own() || !self.list.has_function(name.name, arguments) {
            self.unlisted_function(&name.written());
            return;
        }
        if let Some(at) = self.list.table_argument(name.name) {
            self.table_argument(name.name, call, at);
        } else if self.ask.tables.is_some() && self.list.is_catalogue_function(name.name) {
            self.refuse(
                Rule::Catalogue,
                format!(
                    "function `{}` tells of the database itself, and only listed tables may be read",
                    shown(name.name)
                ),
            );
        }
    }

    /// What the grammar spells as syntax is a function all the same, and on an older server it may be somebody else's.
    pub(super) fn named(&mut self, name: &str) {
        if !self.list.has_function(name, usize::MAX) {
            self.unlisted_function(name);
        }
    }

    /// Allowed by whoever configured the tool.
    fn vouched(&self, name: Name<'_>) -> bool {
        self.ask.functions.iter().any(|entry| match (entry.split_once('.'), name.schema) {
            (Some((in_schema, function)), Some(schema)) => in_schema == schema && function == name.name,
            (None, None | Some("public")) => entry == name.name,
            _ => false,
        })
    }

    pub(super) fn unlisted_function(&mut self, name: &str) {
        self.unvouched(Refusal {
            rule: Rule::Function,
            reason: format!("function `{}` is not one of those that may be called", shown(name)),
        });
    }

    pub(super) fn operator(&mut self, parts: &'a [Node]) {
        let known = Name::of(parts).filter(|name| name.is_own() && self.list.has_operator(name.name));
        if known.is_none() {
            let name = Name::of(parts).map_or_else(|| "of another database".to_owned(), |name| name.written());
            self.unvouched(Refusal {
                rule: Rule::Function,
                reason: format!("operator `{}` is not one of those that may be used", shown(&name)),
            });
        }
    }

    /// Some functions read a table whose name is a string. Where only some tables may be read it must be a constant.
    fn table_argument(&mut self, function: &str, call: &'a FuncCall, at: usize) {
        let plain = !call.func_variadic
            && !call.args.iter().any(|argument| matches!(argument.node, Some(NodeEnum::NamedArgExpr(_))));
        let constant = call.args.get(at).filter(|_| plain).and_then(constant);
        match constant.and_then(names::in_string) {
            Some(parts) => self.table_in_string(&parts),
            None if self.ask.tables.is_some() => self.refuse(
                Rule::Table,
                format!(
                    "`{}` must be given the name of a table as a plain constant: only listed tables may be read",
                    shown(function)
                ),
            ),
            None => {}
        }
    }

    fn table_in_string(&mut self, parts: &[String]) {
        match parts {
            [table] => self.table(None, table),
            [schema, table] => self.table(Some(schema), table),
            _ => {}
        }
    }

    /// A type by name. `'secrets'::regclass` asks whether a table is there, and under which number.
    pub(super) fn cast(&mut self, to: &'a TypeName, of: Option<&'a Node>) {
        if to.setof || to.pct_type {
            self.unknown("a type taken from a column");
        }
        self.all(&to.typmods);
        let Some(name) = Name::of(&to.names) else {
            return;
        };
        if !name.name.starts_with("reg") || !name.is_own() || self.ask.tables.is_none() {
            return;
        }
        match (name.name, of.and_then(constant).and_then(names::in_string)) {
            ("regclass", Some(parts)) => self.table_in_string(&parts),
            ("regtype" | "regconfig" | "regdictionary" | "regcollation", _) => {}
            ("regclass" | "regproc" | "regprocedure" | "regoper" | "regoperator" | "regrole" | "regnamespace", _) => {
                self.refuse(
                    Rule::Catalogue,
                    format!("a cast to `{}` looks into the catalogue, and only listed tables may be read", name.name),
                );
            }
            _ => {}
        }
    }
}

/// The text of a constant, through casts such as `'t'::text::regclass`.
fn constant(node: &Node) -> Option<&str> {
    match node.node.as_ref()? {
        NodeEnum::AConst(constant) => match constant.val.as_ref()? {
            a_const::Val::Sval(string) => Some(&string.sval),
            _ => None,
        },
        NodeEnum::TypeCast(cast) => constant(cast.arg.as_deref()?),
        _ => None,
    }
}
