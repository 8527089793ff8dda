//! Casts. Most only compute; under a list of tables some would tell what else there is.

use crate::Rule;

use super::names::{self, Name, shown};
use super::tree::{Node, NodeEnum, TypeCast, TypeName, Val};
use super::walk::Walk;
use super::{tables, types};

impl<'a> Walk<'a> {
    pub(super) fn type_cast(&mut self, cast: &'a TypeCast<'a>, alone: bool) {
        // A cast of a cast: what comes between meets nothing else.
        self.alone = true;
        self.maybe(cast.arg.as_deref());
        self.alone = false;
        let Some(to) = &cast.type_name else { return };
        self.cast(to, cast.arg.as_deref());
        if Name::of(&to.names).is_some_and(|to| to.is_own() && to.name == "regclass") {
            self.beside(alone);
        }
    }

    /// A type by name. `'secrets'::regclass` asks whether a table is there, and under which number.
    pub(super) fn cast(&mut self, to: &'a TypeName<'a>, of: Option<&'a Node<'a>>) {
        if to.setof || to.pct_type {
            self.unknown("a type taken from a column");
        }
        self.all(&to.typmods);
        if self.ask.tables.is_none() {
            return;
        }
        let Some(name) = Name::of(&to.names) else {
            return self
                .refuse(Rule::Catalogue, "a type is named with its database, and only listed tables may be read");
        };
        if !types::is_known(name) {
            return self.own_type(name);
        }
        let given = of.and_then(constant);
        match (name.name, given.and_then(names::in_string)) {
            ("regclass", Some(parts)) => self.table_in_string(&parts),
            ("regtype", _) if given.is_some_and(types::is_spelled) => {}
            ("regconfig" | "regdictionary" | "regcollation", _) => {}
            (reg, _) if reg.starts_with("reg") => self.refuse(
                Rule::Catalogue,
                format!("a cast to `{reg}` looks into the catalogue, and only listed tables may be read"),
            ),
            _ => {}
        }
    }

    /// Every table is a type as well: its columns are there for whoever may name it.
    fn own_type(&mut self, name: Name<'a>) {
        if tables::refused(name.schema, name.name, self.ask, self.list).is_some() {
            let name = shown(&name.written());
            self.refuse(Rule::Table, format!("type `{name}` may be a table, and is not one of those that may be read"));
        }
    }

    /// Beside a value of type regclass a plain text becomes one: `coalesce('secrets', to_regclass('notes'))`.
    pub(super) fn beside(&mut self, alone: bool) {
        if !alone && self.ask.tables.is_some() {
            self.refuse(
                Rule::Catalogue,
                "a table as a value turns texts beside it into tables, and only listed ones may be read: cast it to text",
            );
        }
    }
}

/// The text of a constant, through casts that leave it whole: `'t'::text::regclass`, and not `'t'::varchar(5)::regclass`.
pub fn constant<'a>(node: &'a Node<'a>) -> Option<&'a str> {
    match node.node.as_ref()? {
        NodeEnum::AConst(constant) => match constant.val.as_ref()? {
            Val::Sval(string) => Some(string.sval),
            _ => None,
        },
        NodeEnum::TypeCast(cast) => {
            let to = cast.type_name.as_ref()?;
            let name = Name::of(&to.names).filter(Name::is_own)?;
            let whole = to.typmods.is_empty() && to.array_bounds.is_empty();
            (whole && ["text", "varchar", "regclass"].contains(&name.name)).then(|| constant(cast.arg.as_deref()?))?
        }
        _ => None,
    }
}
