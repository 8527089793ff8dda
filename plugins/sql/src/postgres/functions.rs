//! What may be called: functions and operators by name, and those whose argument is a table.

use crate::{Refusal, Rule};

use super::casts::constant;
use super::names::{self, Name, shown};
use super::tree::{FuncCall, Node, NodeEnum};
use super::walk::Walk;

impl<'a> Walk<'a> {
    pub(super) fn call(&mut self, call: &'a FuncCall<'a>, alone: bool) {
        let reader = match Name::of(&call.funcname) {
            Some(name) => self.callee(name, call, alone),
            None => {
                self.unlisted_function("of another database");
                None
            }
        };
        for (place, argument) in call.args.iter().enumerate() {
            // What names the table is nobody else's neighbour.
            self.alone = reader == Some(place);
            self.node(argument);
        }
        self.all(&call.agg_order);
        self.maybe(call.agg_filter.as_deref());
        if let Some(over) = &call.over {
            self.window(over);
        }
    }

    /// Whether it may be called; which of its arguments names a table.
    fn callee(&mut self, name: Name<'a>, call: &'a FuncCall<'a>, alone: bool) -> Option<usize> {
        if self.vouched(name) {
            return None;
        }
        // With VARIADIC the number of arguments is not what is written.
        let arguments = if call.func_variadic { usize::MAX } else { call.args.len() };
        if !name.is_own() || !self.list.has_function(name.name, arguments) {
            self.unlisted_function(&name.written());
            return None;
        }
        let reads = self.list.table_argument(name.name);
        if let Some(at) = reads {
            self.table_argument(name.name, call, at);
            if name.name == "to_regclass" {
                self.beside(alone);
            }
        } else if self.ask.tables.is_some() && self.list.is_catalogue_function(name.name) {
            self.refuse(
                Rule::Catalogue,
                format!(
                    "function `{}` tells of the database itself, and only listed tables may be read",
                    shown(name.name)
                ),
            );
        }
        reads
    }

    /// What the grammar spells as syntax is a function all the same, and on an older server it may be somebody else's.
    pub(super) fn named(&mut self, name: &str) {
        if !self.list.has_function(name, usize::MAX) {
            self.unlisted_function(name);
        }
    }

    /// Allowed by whoever configured the tool.
    pub(super) fn vouched(&self, name: Name<'_>) -> bool {
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

    pub(super) fn operator(&mut self, parts: &'a [Node<'a>]) {
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
    fn table_argument(&mut self, function: &str, call: &'a FuncCall<'a>, at: usize) {
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

    pub(super) fn table_in_string(&mut self, parts: &[String]) {
        match parts {
            [table] => self.table(None, table),
            [schema, table] => self.table(Some(schema), table),
            _ => {}
        }
    }
}
