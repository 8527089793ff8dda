//! Queries: every part of one is named here, so that what the parser may learn later is no silent pass.

use std::collections::{BTreeSet, HashSet};

use sqlparser::ast::{
    Distinct, Expr, FunctionArg, FunctionArgExpr, GroupByExpr, GroupByWithModifier, Join, JoinConstraint, JoinOperator,
    JsonTableColumn, LimitClause, NamedWindowExpr, ObjectName, ObjectNamePart, OrderBy, OrderByExpr, OrderByKind,
    OrderBySort, Query, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement,
    TableFactor, TableSample, TableSampleKind, TableWithJoins, TopQuantity, WildcardAdditionalOptions,
};

use super::acts;
use crate::{Ask, Class, DialectList, Refusal, Rule};

/// What was found on the way.
pub struct Walk<'a> {
    pub ask: &'a Ask<'a>,
    pub list: &'a DialectList,
    pub scopes: Vec<HashSet<String>>,
    pub tables: BTreeSet<String>,
    pub class: Class,
    /// The first reason counts; the walk goes on for the tables.
    pub refused: Option<Refusal>,
    /// The first that is not that it writes.
    pub beyond_writing: Option<Refusal>,
}

impl<'a> Walk<'a> {
    pub fn new(ask: &'a Ask<'a>, list: &'a DialectList) -> Self {
        let (scopes, tables) = (Vec::new(), BTreeSet::new());
        Self { ask, list, scopes, tables, class: Class::Read, refused: None, beyond_writing: None }
    }

    pub fn refuse(&mut self, class: Class, rule: Rule, reason: impl Into<String>) {
        self.class = self.class.max(class);
        let refusal = Refusal { rule, reason: reason.into() };
        if (class, rule) != (Class::Write, Rule::Statement) && self.beyond_writing.is_none() {
            self.beyond_writing = Some(refusal.clone());
        }
        self.refused.get_or_insert(refusal);
    }

    pub fn unknown(&mut self, what: &str) {
        self.refuse(Class::Invalid, Rule::Syntax, format!("{what} is not understood"));
    }

    pub fn query(&mut self, query: &Query) {
        let Query {
            with: _,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        if !locks.is_empty() {
            self.refuse(Class::SideEffect, Rule::Locking, "rows are not locked by a read");
        }
        if for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty() {
            self.unknown("what follows the query");
        }
        self.with(query, |walk| {
            walk.body(body);
            order_by.iter().for_each(|order| walk.order(order));
            match limit_clause {
                Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                    walk.exprs(limit.iter().chain(limit_by).chain(offset.iter().map(|offset| &offset.value)));
                }
                Some(LimitClause::OffsetCommaLimit { offset, limit }) => walk.exprs([offset, limit]),
                None => {}
            }
            walk.exprs(fetch.iter().flat_map(|fetch| &fetch.quantity));
        });
    }

    fn body(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, op: _, set_quantifier: _, right } => {
                self.body(left);
                self.body(right);
            }
            SetExpr::Values(values) => values.rows.iter().for_each(|row| self.exprs(&row.content)),
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => self.act(statement),
            SetExpr::Table(table) => {
                let names = table.schema_name.iter().chain(&table.table_name);
                let parts = names.map(|name| ObjectNamePart::Identifier(name.as_str().into())).collect();
                self.table(&ObjectName(parts));
            }
        }
    }

    /// Something that acts where a query was expected.
    fn act(&mut self, statement: &Statement) {
        let word = match statement {
            Statement::Insert(_) => "INSERT",
            Statement::Update(_) => "UPDATE",
            Statement::Delete(_) => "DELETE",
            _ => "MERGE",
        };
        self.refuse(Class::Write, Rule::Statement, acts::told(word));
    }

    fn select(&mut self, select: &Select) {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers: _,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        if into.is_some() {
            self.refuse(Class::Write, Rule::Statement, acts::told("SELECT INTO"));
        }
        let rare = !optimizer_hints.is_empty()
            || exclude.is_some()
            || !lateral_views.is_empty()
            || prewhere.is_some()
            || !connect_by.is_empty()
            || !cluster_by.is_empty()
            || !distribute_by.is_empty()
            || !sort_by.is_empty()
            || value_table_mode.is_some()
            || *flavor != SelectFlavor::Standard;
        if rare {
            self.unknown("this form of SELECT");
        }
        if let Some(Distinct::On(on)) = distinct {
            self.exprs(on);
        }
        if let Some(TopQuantity::Expr(expr)) = top.as_ref().and_then(|top| top.quantity.as_ref()) {
            self.expr(expr);
        }
        projection.iter().for_each(|item| self.item(item));
        from.iter().for_each(|table| self.joined(table));
        self.exprs(selection.iter().chain(having).chain(qualify));
        let modifiers = match group_by {
            GroupByExpr::All(modifiers) => modifiers,
            GroupByExpr::Expressions(by, modifiers) => {
                self.exprs(by);
                modifiers
            }
        };
        for modifier in modifiers {
            match modifier {
                GroupByWithModifier::Rollup | GroupByWithModifier::Cube | GroupByWithModifier::Totals => {}
                GroupByWithModifier::GroupingSets(sets) => self.expr(sets),
            }
        }
        for window in named_window {
            match &window.1 {
                NamedWindowExpr::NamedWindow(_) => {}
                NamedWindowExpr::WindowSpec(window) => self.window(window),
            }
        }
    }

    fn item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::UnnamedExpr(expr)
            | SelectItem::ExprWithAlias { expr, alias: _ }
            | SelectItem::ExprWithAliases { expr, aliases: _ } => self.expr(expr),
            SelectItem::QualifiedWildcard(kind, options) => {
                match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(_) => {}
                    SelectItemQualifiedWildcardKind::Expr(expr) => self.expr(expr),
                }
                self.wildcard(options);
            }
            SelectItem::Wildcard(options) => self.wildcard(options),
        }
    }

    pub fn wildcard(&mut self, options: &WildcardAdditionalOptions) {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        let any = opt_ilike.is_some() || opt_exclude.is_some() || opt_except.is_some();
        if any || opt_replace.is_some() || opt_rename.is_some() || opt_alias.is_some() {
            self.unknown("what follows the `*`");
        }
    }

    fn joined(&mut self, table: &TableWithJoins) {
        self.factor(&table.relation);
        for Join { relation, global, join_operator } in &table.joins {
            if *global {
                self.unknown("a global join");
            }
            self.factor(relation);
            match join_operator {
                JoinOperator::Join(on)
                | JoinOperator::Inner(on)
                | JoinOperator::Left(on)
                | JoinOperator::LeftOuter(on)
                | JoinOperator::Right(on)
                | JoinOperator::RightOuter(on)
                | JoinOperator::FullOuter(on)
                | JoinOperator::CrossJoin(on)
                | JoinOperator::StraightJoin(on) => match on {
                    JoinConstraint::On(on) => self.expr(on),
                    JoinConstraint::Using(_) | JoinConstraint::Natural | JoinConstraint::None => {}
                },
                _ => self.unknown("this kind of join"),
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table {
                name,
                alias: _,
                args,
                with_hints,
                version,
                with_ordinality: _,
                partitions: _,
                json_path,
                sample,
                index_hints: _,
            } => {
                if !with_hints.is_empty() || version.is_some() || json_path.is_some() {
                    self.unknown("what follows a table's name");
                }
                sample.iter().for_each(|sample| self.sample(sample));
                match args {
                    None => self.table(name),
                    Some(args) if args.settings.is_none() => {
                        self.table_function(name);
                        self.arguments(&args.args);
                    }
                    Some(_) => self.unknown("a function with settings"),
                }
            }
            TableFactor::Derived { lateral: _, subquery, alias: _, sample } => {
                sample.iter().for_each(|sample| self.sample(sample));
                self.query(subquery);
            }
            TableFactor::Function { lateral: _, name, args, with_ordinality: _, alias: _ } => {
                self.table_function(name);
                self.arguments(args);
            }
            TableFactor::JsonTable { json_expr, json_path: _, columns, alias: _ } => {
                self.expr(json_expr);
                columns.iter().for_each(|column| self.column(column));
            }
            TableFactor::NestedJoin { table_with_joins, alias: _ } => self.joined(table_with_joins),
            _ => self.unknown("what stands in FROM"),
        }
    }

    fn sample(&mut self, sample: &TableSampleKind) {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
        let TableSample { modifier: _, name: _, quantity, seed: _, bucket, offset } = sample.as_ref();
        if bucket.is_some() {
            self.unknown("this form of a sample");
        }
        self.exprs(quantity.iter().map(|quantity| &quantity.value).chain(offset));
    }

    fn column(&mut self, column: &JsonTableColumn) {
        match column {
            JsonTableColumn::Named(_) | JsonTableColumn::ForOrdinality(_) => {}
            JsonTableColumn::Nested(nested) => nested.columns.iter().for_each(|column| self.column(column)),
        }
    }

    pub fn arguments(&mut self, arguments: &[FunctionArg]) {
        for argument in arguments {
            let given = match argument {
                FunctionArg::Named { name: _, arg, operator: _ } | FunctionArg::Unnamed(arg) => arg,
                FunctionArg::ExprNamed { name, arg, operator: _ } => {
                    self.expr(name);
                    arg
                }
            };
            match given {
                FunctionArgExpr::Expr(expr) => self.expr(expr),
                FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::Wildcard => {}
                FunctionArgExpr::WildcardWithOptions(options) => self.wildcard(options),
            }
        }
    }

    pub fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn order(&mut self, order: &OrderBy) {
        match &order.kind {
            OrderByKind::All(_) => {}
            OrderByKind::Expressions(by) => self.ordered(by),
        }
        if order.interpolate.is_some() {
            self.unknown("this form of ORDER BY");
        }
    }

    pub fn ordered(&mut self, by: &[OrderByExpr]) {
        for OrderByExpr { expr, options, with_fill } in by {
            if with_fill.is_some() || matches!(options.sort, Some(OrderBySort::Using(_))) {
                self.unknown("this form of ORDER BY");
            }
            self.expr(expr);
        }
    }
}
