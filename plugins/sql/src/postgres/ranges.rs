//! Functions in FROM: what they are called, and which names behind that are columns of theirs. Every other name there would be
//! a function again, called with what the first one gave: `select f.g from concat('x') f` calls `g`.

use std::collections::{HashMap, HashSet};

use super::names::{self, Name};
use super::tree::{Node, NodeEnum, RangeFunction};
use super::{outputs, types};

/// The functions of the queries around a place, innermost last.
#[derive(Debug, Default)]
pub struct Ranges<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Debug, Default)]
struct Frame<'a> {
    /// By what they are called.
    named: HashMap<&'a str, Range<'a>>,
    /// Some function is called as only the server knows.
    nameless: bool,
    /// Columns that hold a value which need not be a row.
    values: HashSet<&'a str>,
}

#[derive(Debug, Default)]
struct Range<'a> {
    columns: HashSet<&'a str>,
    /// A row whose columns cannot be known here.
    open: bool,
}

impl<'a> Ranges<'a> {
    /// Looks through what stands in FROM; whether there was a function, and so something to leave again.
    pub fn enter(&mut self, from: impl IntoIterator<Item = &'a Node<'a>>, vouched: impl Fn(Name<'a>) -> bool) -> bool {
        let mut frame = Frame::default();
        let mut left: Vec<&'a Node<'a>> = from.into_iter().collect();
        while let Some(node) = left.pop() {
            match node.node.as_ref() {
                Some(NodeEnum::JoinExpr(join)) => left.extend(join.larg.iter().chain(&join.rarg).map(AsRef::as_ref)),
                Some(NodeEnum::RangeTableSample(sample)) => left.extend(sample.relation.as_deref()),
                Some(NodeEnum::RangeFunction(range)) => frame.add(range, &vouched),
                _ => {}
            }
        }
        let any = frame.nameless || !frame.named.is_empty();
        if any {
            self.frames.push(frame);
        }
        any
    }

    pub fn leave(&mut self, entered: bool) {
        if entered {
            self.frames.pop();
        }
    }

    /// Whether `alias.name` can only be a column, as far as functions in FROM go. A name of an outer query counts as well:
    /// what hides it is not followed here.
    pub fn is_column(&self, alias: &str, name: &str) -> bool {
        self.frames.iter().all(|frame| match frame.named.get(alias) {
            Some(range) => range.open || name == alias || range.columns.contains(name),
            None => !frame.nameless,
        })
    }

    pub fn is_alias(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.named.contains_key(name))
    }

    /// Whether a column of that name is a function's, and need not be a row.
    pub fn is_value(&self, column: &str) -> bool {
        self.frames.iter().any(|frame| frame.nameless || frame.values.contains(column))
    }
}

impl<'a> Frame<'a> {
    fn add(&mut self, function: &'a RangeFunction<'a>, vouched: &impl Fn(Name<'a>) -> bool) {
        let mut range = Range::default();
        let mut first = None;
        let items = function.functions.iter().filter_map(|item| match item.node.as_ref() {
            Some(NodeEnum::List(pair)) => Some(&pair.items),
            _ => None,
        });
        for (place, parts) in items.enumerate() {
            let called = parts.first().and_then(called);
            if place == 0 {
                first = called.map(|name| name.name);
            }
            if let Some(name) = called {
                range.columns.insert(name.name);
                for column in outputs::of(name) {
                    range.columns.insert(column);
                }
                range.open |= outputs::is_open(name) || vouched(name);
            }
            if let Some(NodeEnum::List(columns)) = parts.get(1).and_then(|columns| columns.node.as_ref()) {
                self.defined(&columns.items, &mut range);
            }
        }
        self.defined(&function.coldeflist, &mut range);
        if function.ordinality {
            range.columns.insert("ordinality");
        }
        let alias = function.alias.as_ref();
        for column in alias.iter().flat_map(|alias| &alias.colnames).filter_map(names::text) {
            range.columns.insert(column);
            self.values.insert(column);
        }
        match alias.map(|alias| alias.aliasname).or(first) {
            Some(name) => {
                if !range.open {
                    self.values.insert(name);
                }
                self.named.insert(name, range);
            }
            None => self.nameless = true,
        }
    }

    /// `AS x(a int, b pair)`: a type of somebody's own may be a row.
    fn defined(&mut self, columns: &'a [Node<'a>], range: &mut Range<'a>) {
        for column in columns {
            let Some(NodeEnum::ColumnDef(column)) = column.node.as_ref() else { continue };
            range.columns.insert(column.colname);
            let to = column.type_name.as_ref().and_then(|to| Name::of(&to.names));
            if to.is_none_or(types::is_known) {
                self.values.insert(column.colname);
            }
        }
    }
}

fn called<'a>(node: &'a Node<'a>) -> Option<Name<'a>> {
    match node.node.as_ref()? {
        NodeEnum::FuncCall(call) => Name::of(&call.funcname),
        _ => None,
    }
}
