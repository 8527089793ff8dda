//! `(x).f` is the field `f` of `x`, or else the function `f` called with it: PostgreSQL lets any function of one argument be
//! written that way. Whether a table has such a column cannot be seen from here, so this knows the names of functions that act,
//! and values that have no fields at all.

use pg_query::NodeEnum;
use pg_query::protobuf::Node;

use crate::Rule;

use super::names;
use super::walk::Walk;

impl<'a> Walk<'a> {
    /// What stands behind dots.
    pub(super) fn fields(&mut self, fields: &'a [Node]) {
        for name in fields.iter().filter_map(names::text) {
            // Newer servers have more of them than the list, and nobody calls a column so.
            let own = name.starts_with("pg_") && !self.list.has_function(name, 1);
            if own || self.list.is_never_a_column(name) {
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

    /// Behind a number or a text every name is a function.
    pub(super) fn fields_of_a_value(&mut self, fields: &'a [Node]) {
        if fields.iter().any(|field| matches!(field.node, Some(NodeEnum::AIndices(_)))) {
            return;
        }
        for name in fields.iter().filter_map(names::text) {
            if !self.list.has_function(name, 1) {
                self.unlisted_function(name);
            }
        }
    }
}

/// Types of PostgreSQL's own, as the parser names them, that are no rows.
const SCALARS: [&str; 34] = [
    "bool",
    "bpchar",
    "bytea",
    "char",
    "cidr",
    "date",
    "float4",
    "float8",
    "inet",
    "int2",
    "int4",
    "int8",
    "interval",
    "json",
    "jsonb",
    "money",
    "name",
    "numeric",
    "oid",
    "regclass",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "tsquery",
    "tsvector",
    "uuid",
    "varchar",
    "xml",
];

pub fn has_no_fields(node: &Node) -> bool {
    match node.node.as_ref() {
        Some(
            NodeEnum::AConst(_)
            | NodeEnum::AExpr(_)
            | NodeEnum::BoolExpr(_)
            | NodeEnum::SqlvalueFunction(_)
            | NodeEnum::NullTest(_),
        ) => true,
        Some(NodeEnum::TypeCast(cast)) => cast
            .type_name
            .as_ref()
            .and_then(|to| names::Name::of(&to.names))
            .is_some_and(|to| to.is_own() && SCALARS.contains(&to.name)),
        _ => false,
    }
}
