//! `(x).f` is the field `f` of `x`, or else the function `f` called with it: PostgreSQL lets any function of one argument be
//! written that way. Whether a table has such a column cannot be seen from here. So behind a column any name passes but those
//! of functions that are known to act; behind everything else only what is surely a column, or a function that may be called.

use crate::Rule;

use super::names::{self, Name};
use super::tree::{AIndirection, ColumnRef, Node, NodeEnum, TypeCast, Val};
use super::walk::Walk;
use super::{outputs, types};

/// What stands before the dot.
enum Base<'a> {
    /// A row, or a column that may be one.
    Row,
    /// What a function puts out.
    Call(Name<'a>),
    /// The alias of a function in FROM.
    Range(&'a str),
    /// No row that anybody could be sure of.
    Value,
}

impl<'a> Walk<'a> {
    /// `a`, `t.a`, `s.t.a`: the first part is a column or a table.
    pub(super) fn column(&mut self, column: &'a ColumnRef<'a>) {
        let Some((first, behind)) = column.fields.split_first() else { return };
        self.fields(behind);
        // The row of a table can be given to nothing of PostgreSQL's own that acts; what a function in FROM gives can.
        let ([field], Some(alias)) = (behind, names::text(first)) else { return };
        if let Some(name) = names::text(field).filter(|name| !self.ranges.is_column(alias, name)) {
            self.listed(name);
        }
    }

    pub(super) fn indirection(&mut self, indirection: &'a AIndirection<'a>) {
        self.maybe(indirection.arg.as_deref());
        self.all(&indirection.indirection);
        self.fields(&indirection.indirection);
        let base = indirection.arg.as_deref().map_or(Base::Value, |arg| self.base(arg));
        let mut fields = indirection.indirection.iter().filter_map(names::text);
        match base {
            Base::Row => {
                // Newer servers have more of them than the list, and hardly anybody calls a column so.
                for name in fields.filter(|name| name.starts_with("pg_")) {
                    self.listed(name);
                }
                return;
            }
            Base::Call(function) => {
                self.first(&mut fields, |name, _| outputs::of(function).any(|column| column == name))
            }
            Base::Range(alias) => self.first(&mut fields, |name, walk| walk.ranges.is_column(alias, name)),
            Base::Value => {}
        }
        for name in fields {
            self.listed(name);
        }
    }

    /// The first name may be a column; what stands behind it then has no fields of its own.
    fn first(&mut self, fields: &mut impl Iterator<Item = &'a str>, is_column: impl Fn(&str, &Self) -> bool) {
        if let Some(name) = fields.next().filter(|name| !is_column(name, self)) {
            self.listed(name);
        }
    }

    fn base(&self, node: &'a Node<'a>) -> Base<'a> {
        match node.node.as_ref() {
            Some(NodeEnum::ColumnRef(column)) => {
                let last = column.fields.last().and_then(names::text);
                match last {
                    Some(last) if self.ranges.is_alias(last) => Base::Range(last),
                    Some(last) if self.ranges.is_value(last) => Base::Value,
                    _ => Base::Row,
                }
            }
            Some(NodeEnum::ParamRef | NodeEnum::RowExpr(_)) => Base::Row,
            Some(NodeEnum::TypeCast(cast)) if is_row(cast) => Base::Row,
            Some(NodeEnum::FuncCall(call)) => match Name::of(&call.funcname) {
                Some(name) if outputs::is_open(name) || self.vouched(name) => Base::Row,
                Some(name) => Base::Call(name),
                None => Base::Value,
            },
            // An element of an array is what the array is made of; a field of a row may be a row.
            Some(NodeEnum::AIndirection(inner)) => match inner.arg.as_deref().map(|arg| self.base(arg)) {
                Some(Base::Row) => Base::Row,
                _ => Base::Value,
            },
            _ => Base::Value,
        }
    }

    /// Names behind dots that act wherever they stand.
    fn fields(&mut self, fields: &'a [Node<'a>]) {
        for name in fields.iter().filter_map(names::text) {
            if self.list.is_never_a_column(name) {
                self.unlisted_function(name);
            } else if self.ask.tables.is_some()
                && (self.list.is_catalogue_function(name) || self.list.table_argument(name).is_some())
            {
                self.refuse(
                    Rule::Catalogue,
                    format!("`{name}` behind a dot may be a function that tells of the database itself"),
                );
            }
        }
    }

    fn listed(&mut self, name: &str) {
        if !self.list.has_function(name, 1) {
            self.unlisted_function(name);
        }
    }
}

/// `row(1, 2)::pair`, `null::pair`: of a text such a cast could give anything.
fn is_row(cast: &TypeCast<'_>) -> bool {
    let given = match cast.arg.as_ref().and_then(|arg| arg.node.as_ref()) {
        Some(NodeEnum::RowExpr(_)) => true,
        Some(NodeEnum::AConst(constant)) => constant.isnull && !matches!(constant.val, Some(Val::Sval(_))),
        _ => false,
    };
    let to = cast.type_name.as_ref().and_then(|to| Name::of(&to.names));
    given && to.is_some_and(|to| !types::is_known(to))
}
