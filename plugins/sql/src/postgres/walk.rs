//! The walk over a query: every kind of node that may stand in one, and a refusal for every other.

use std::collections::{BTreeSet, HashSet};

use pg_query::protobuf::AExprKind;

use crate::{Ask, Class, DialectList, Kind, Read, Refusal, Rule};

use super::names::{Name, shown};
use super::ranges::Ranges;
use super::tables::Scope;
use super::tree::{AExpr, CommonTableExpr, Node, NodeEnum, RangeVar, SelectStmt, WindowDef, WithClause};

pub struct Walk<'a> {
    pub(super) ask: &'a Ask<'a>,
    pub(super) list: &'a DialectList,
    /// EXPLAIN without ANALYZE: nothing runs, so nothing is written or locked.
    pub(super) planned: bool,
    scope: Scope<'a>,
    pub(super) ranges: Ranges<'a>,
    /// The next node stands where what it is can be told to nothing beside it.
    pub(super) alone: bool,
    pub(super) class: Class,
    pub(super) kind: Kind,
    /// That it writes.
    pub(super) write: Option<Refusal>,
    /// Whatever else is wrong: the first that was met.
    pub(super) other: Option<Refusal>,
    pub(super) tables: BTreeSet<String>,
    pub(super) operations: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    pub fn new(ask: &'a Ask<'a>, list: &'a DialectList) -> Self {
        Self {
            ask,
            list,
            planned: false,
            scope: Scope::default(),
            ranges: Ranges::default(),
            alone: false,
            class: Class::Read,
            kind: Kind::Reads,
            write: None,
            other: None,
            tables: BTreeSet::new(),
            operations: BTreeSet::new(),
        }
    }

    /// A write is told before all else: it is what the caller must change.
    pub fn verdict(self, several: Option<Refusal>) -> Read {
        let beyond_writing = several.or(self.other);
        Read {
            class: self.class,
            kind: self.kind,
            refused: self.write.or_else(|| beyond_writing.clone()),
            beyond_writing,
            tables: self.tables.into_iter().collect(),
            operations: self.operations.into_iter().collect(),
        }
    }

    // Where names come from.

    pub(super) fn relation(&mut self, relation: &'a RangeVar<'a>, may_be_expression: bool) {
        let schema = Some(relation.schemaname).filter(|schema| !schema.is_empty());
        if may_be_expression && schema.is_none() && relation.catalogname.is_empty() && self.scope.has(relation.relname)
        {
            return;
        }
        if !relation.catalogname.is_empty() {
            self.refuse(Rule::Table, format!("table `{}` is named with its database", shown(relation.relname)));
        }
        self.table(schema, relation.relname);
    }

    pub(super) fn with(&mut self, clause: Option<&'a WithClause<'a>>, body: impl FnOnce(&mut Self)) {
        let Some(clause) = clause else {
            return body(self);
        };
        let ctes = || clause.ctes.iter().filter_map(|cte| cte.node.as_ref());
        let seen = if clause.recursive {
            ctes()
                .filter_map(|cte| if let NodeEnum::CommonTableExpr(cte) = cte { Some(cte.ctename) } else { None })
                .collect()
        } else {
            HashSet::new()
        };
        self.scope.enter(seen);
        for cte in ctes() {
            match cte {
                NodeEnum::CommonTableExpr(cte) => self.expression(cte),
                _ => self.unknown("a part of WITH"),
            }
        }
        body(self);
        self.scope.leave();
    }

    fn expression(&mut self, cte: &'a CommonTableExpr<'a>) {
        match cte.ctequery.as_ref().and_then(|query| query.node.as_ref()) {
            Some(NodeEnum::SelectStmt(select)) => self.select(select),
            Some(other) => self.writes(other),
            None => self.unknown("WITH of nothing"),
        }
        if let Some(cycle) = &cte.cycle_clause {
            self.maybe(cycle.cycle_mark_value.as_deref());
            self.maybe(cycle.cycle_mark_default.as_deref());
        }
        self.scope.define(cte.ctename);
    }

    // The query and its parts.

    pub(super) fn select(&mut self, select: &'a SelectStmt<'a>) {
        self.with(select.with_clause.as_ref(), |walk| {
            if let Some(into) = &select.into_clause {
                walk.planned = false;
                walk.write(Kind::Writes, "SELECT INTO");
                if let Some(relation) = &into.rel {
                    walk.relation(relation, false);
                }
            }
            if !select.locking_clause.is_empty() && !walk.planned {
                walk.is(Class::SideEffect, Kind::Writes);
                walk.refuse(
                    Rule::Locking,
                    "the statement locks the rows it reads (FOR UPDATE, FOR SHARE): leave that out",
                );
            }
            let entered = walk.functions_of(&select.from_clause);
            walk.all(&select.distinct_clause);
            walk.all(&select.target_list);
            walk.all(&select.from_clause);
            walk.maybe(select.where_clause.as_deref());
            walk.all(&select.group_clause);
            walk.maybe(select.having_clause.as_deref());
            walk.all(&select.window_clause);
            walk.all(&select.values_lists);
            walk.all(&select.sort_clause);
            walk.maybe(select.limit_offset.as_deref());
            walk.maybe(select.limit_count.as_deref());
            for side in [&select.larg, &select.rarg].into_iter().flatten() {
                walk.select(side);
            }
            walk.ranges.leave(entered);
        });
    }

    /// Remembers the functions in FROM until `Ranges::leave`.
    pub(super) fn functions_of(&mut self, from: impl IntoIterator<Item = &'a Node<'a>>) -> bool {
        let mut ranges = std::mem::take(&mut self.ranges);
        let entered = ranges.enter(from, |name| self.vouched(name));
        self.ranges = ranges;
        entered
    }

    pub(super) fn all(&mut self, nodes: &'a [Node<'a>]) {
        for node in nodes {
            self.node(node);
        }
    }

    pub(super) fn maybe(&mut self, node: Option<&'a Node<'a>>) {
        if let Some(node) = node {
            self.node(node);
        }
    }

    pub(super) fn node(&mut self, node: &'a Node<'a>) {
        // The parser leaves holes where a clause has no value, as in a plain DISTINCT.
        let Some(node) = node.node.as_ref() else { return };
        let alone = std::mem::take(&mut self.alone);
        match node {
            NodeEnum::AConst(_)
            | NodeEnum::AStar
            | NodeEnum::BitString
            | NodeEnum::Boolean(_)
            | NodeEnum::Float
            | NodeEnum::Integer(_)
            | NodeEnum::ParamRef
            | NodeEnum::SqlvalueFunction
            | NodeEnum::String(_) => {}
            NodeEnum::ColumnRef(column) => self.column(column),
            NodeEnum::SelectStmt(select) => self.select(select),
            NodeEnum::List(list) => self.all(&list.items),
            NodeEnum::ResTarget(target) => {
                self.all(&target.indirection);
                self.maybe(target.val.as_deref());
            }
            NodeEnum::MultiAssignRef(assigned) => self.maybe(assigned.source.as_deref()),
            // Only where a statement that is explained or may write is looked at: nowhere else does the parser leave it.
            NodeEnum::SetToDefault => {}
            // FROM
            NodeEnum::RangeVar(relation) => self.relation(relation, true),
            NodeEnum::RangeSubselect(range) => self.maybe(range.subquery.as_deref()),
            NodeEnum::RangeFunction(range) => {
                self.all(&range.functions);
                self.all(&range.coldeflist);
            }
            NodeEnum::ColumnDef(column) if column.constraints.is_empty() && column.raw_default.is_none() => {
                if let Some(to) = &column.type_name {
                    self.cast(to, None);
                }
            }
            NodeEnum::RangeTableSample(sample) => {
                let method = Name::of(&sample.method);
                if !method.is_some_and(|method| method.is_own() && ["bernoulli", "system"].contains(&method.name)) {
                    self.unlisted_function("of the sample");
                }
                self.maybe(sample.relation.as_deref());
                self.all(&sample.args);
                self.maybe(sample.repeatable.as_deref());
            }
            NodeEnum::RangeTableFunc(table) => self.xml_table(table),
            NodeEnum::JsonTable(table) => self.json_table(table),
            NodeEnum::JoinExpr(join) => {
                self.maybe(join.larg.as_deref());
                self.maybe(join.rarg.as_deref());
                self.maybe(join.quals.as_deref());
            }
            // Expressions
            NodeEnum::AExpr(expression) => self.operation(expression),
            NodeEnum::BoolExpr(expression) => self.all(&expression.args),
            NodeEnum::FuncCall(call) => self.call(call, alone),
            NodeEnum::SubLink(link) => {
                self.maybe(link.testexpr.as_deref());
                if !link.oper_name.is_empty() {
                    self.operator(&link.oper_name);
                }
                self.maybe(link.subselect.as_deref());
            }
            NodeEnum::TypeCast(cast) => self.type_cast(cast, alone),
            NodeEnum::CollateClause(collate) => self.maybe(collate.arg.as_deref()),
            NodeEnum::CaseExpr(case) => {
                self.maybe(case.arg.as_deref());
                self.all(&case.args);
                self.maybe(case.defresult.as_deref());
            }
            NodeEnum::CaseWhen(when) => {
                self.maybe(when.expr.as_deref());
                self.maybe(when.result.as_deref());
            }
            NodeEnum::CoalesceExpr(coalesce) => self.all(&coalesce.args),
            NodeEnum::MinMaxExpr(expression) => self.all(&expression.args),
            NodeEnum::NullTest(test) => {
                self.alone = true;
                self.maybe(test.arg.as_deref());
            }
            NodeEnum::BooleanTest(test) => self.maybe(test.arg.as_deref()),
            NodeEnum::RowExpr(row) => self.all(&row.args),
            NodeEnum::AArrayExpr(array) => self.all(&array.elements),
            NodeEnum::AIndirection(indirection) => self.indirection(indirection),
            NodeEnum::AIndices(indices) => {
                self.maybe(indices.lidx.as_deref());
                self.maybe(indices.uidx.as_deref());
            }
            NodeEnum::NamedArgExpr(argument) => self.maybe(argument.arg.as_deref()),
            NodeEnum::GroupingFunc(grouping) => self.all(&grouping.args),
            NodeEnum::GroupingSet(set) => self.all(&set.content),
            NodeEnum::SortBy(sort) => {
                self.maybe(sort.node.as_deref());
                if !sort.use_op.is_empty() {
                    self.operator(&sort.use_op);
                }
            }
            NodeEnum::WindowDef(window) => self.window(window),
            // XML, JSON, and whatever is new.
            other => self.document(other),
        }
    }

    fn operation(&mut self, expression: &'a AExpr<'a>) {
        match AExprKind::try_from(expression.kind).unwrap_or_default() {
            AExprKind::AexprOp | AExprKind::AexprOpAny | AExprKind::AexprOpAll => self.operator(&expression.name),
            AExprKind::Undefined => self.unknown("an operator"),
            // The grammar has put the name there.
            _ => {}
        }
        self.maybe(expression.lexpr.as_deref());
        self.maybe(expression.rexpr.as_deref());
    }

    pub(super) fn window(&mut self, window: &'a WindowDef<'a>) {
        self.all(&window.partition_clause);
        self.all(&window.order_clause);
        self.maybe(window.start_offset.as_deref());
        self.maybe(window.end_offset.as_deref());
    }
}
