//! Expressions: whatever holds a value, a function or a query inside.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArgumentList, FunctionArguments,
    Subscript, WindowFrameBound, WindowSpec, WindowType,
};

use super::walk::Walk;

impl Walk<'_> {
    pub fn expr(&mut self, expr: &Expr) {
        match expr {
            // A sequence is a table that moves when it is asked so.
            Expr::CompoundIdentifier(path)
                if path.last().is_some_and(|last| last.value.eq_ignore_ascii_case("nextval")) =>
            {
                self.not_listed("nextval");
            }
            Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Value(_)
            | Expr::TypedString(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..)
            | Expr::MatchAgainst { .. } => {}
            Expr::IsFalse(one)
            | Expr::IsNotFalse(one)
            | Expr::IsTrue(one)
            | Expr::IsNotTrue(one)
            | Expr::IsNull(one)
            | Expr::IsNotNull(one)
            | Expr::IsUnknown(one)
            | Expr::IsNotUnknown(one)
            | Expr::Nested(one)
            | Expr::IsJson { expr: one, .. }
            | Expr::IsNormalized { expr: one, .. }
            | Expr::UnaryOp { op: _, expr: one }
            | Expr::Prefixed { prefix: _, value: one }
            | Expr::Collate { expr: one, collation: _ }
            | Expr::Cast { kind: _, expr: one, data_type: _, format: _ }
            | Expr::Extract { field: _, syntax: _, expr: one }
            | Expr::Ceil { expr: one, field: _ }
            | Expr::Floor { expr: one, field: _ } => self.expr(one),
            Expr::IsDistinctFrom(left, right)
            | Expr::IsNotDistinctFrom(left, right)
            | Expr::AtTimeZone { timestamp: left, time_zone: right }
            | Expr::RLike { negated: _, expr: left, pattern: right, regexp: _ }
            | Expr::Position { expr: left, r#in: right } => self.exprs([left.as_ref(), right]),
            Expr::InList { expr, list, negated: _ } => {
                self.expr(expr);
                self.exprs(list);
            }
            Expr::InSubquery { expr, subquery, negated: _ } => {
                self.expr(expr);
                self.query(subquery);
            }
            Expr::Between { expr, negated: _, low, high } => self.exprs([expr.as_ref(), low, high]),
            Expr::BinaryOp { left, op, right } => {
                self.operator(op);
                self.exprs([left.as_ref(), right]);
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } | Expr::AllOp { left, compare_op, right } => {
                self.operator(compare_op);
                self.exprs([left.as_ref(), right]);
            }
            Expr::Like { negated: _, any: _, expr, pattern, escape_char }
            | Expr::ILike { negated: _, any: _, expr, pattern, escape_char }
            | Expr::SimilarTo { negated: _, expr, pattern, escape_char } => {
                self.exprs([expr.as_ref(), pattern]);
                self.exprs(escape_char.as_deref());
            }
            Expr::Convert { is_try: _, expr, data_type: _, charset: _, target_before_value: _, styles } => {
                self.expr(expr);
                self.exprs(styles);
            }
            Expr::Substring { .. } | Expr::Trim { .. } | Expr::Overlay { .. } => self.part(expr),
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.exprs(operand.iter().chain(else_result).map(AsRef::as_ref));
                self.exprs(conditions.iter().flat_map(|when| [&when.condition, &when.result]));
            }
            Expr::Exists { subquery, negated: _ } | Expr::Subquery(subquery) => self.query(subquery),
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => self.exprs(sets.iter().flatten()),
            Expr::Tuple(all) => self.exprs(all),
            Expr::Interval(interval) => self.expr(&interval.value),
            Expr::Function(function) => self.called(function),
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.expr(root);
                access_chain.iter().for_each(|step| self.step(step));
            }
            Expr::JsonAccess { .. }
            | Expr::InUnnest { .. }
            | Expr::Struct { .. }
            | Expr::Named { .. }
            | Expr::Dictionary(_)
            | Expr::Map(_)
            | Expr::Array(_)
            | Expr::Lambda(_)
            | Expr::OuterJoin(_)
            | Expr::Prior(_)
            | Expr::MemberOf(_) => self.unknown("an expression"),
        }
    }

    /// A part of a text, asked for in words.
    fn part(&mut self, expr: &Expr) {
        match expr {
            Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                self.expr(expr);
                self.exprs(substring_from.iter().chain(substring_for).map(AsRef::as_ref));
            }
            Expr::Trim { trim_where: _, trim_what, expr, trim_characters } => {
                self.expr(expr);
                self.exprs(trim_what.as_deref());
                self.exprs(trim_characters.iter().flatten());
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                self.exprs([expr.as_ref(), overlay_what, overlay_from]);
                self.exprs(overlay_for.as_deref());
            }
            _ => self.unknown("an expression"),
        }
    }

    fn operator(&mut self, operator: &BinaryOperator) {
        if matches!(operator, BinaryOperator::Custom(_) | BinaryOperator::PGCustomBinaryOperator(_)) {
            self.unknown("an operator");
        }
    }

    fn step(&mut self, step: &AccessExpr) {
        match step {
            AccessExpr::Dot(expr) => self.expr(expr),
            AccessExpr::Subscript(Subscript::Index { index }) => self.expr(index),
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                self.exprs(lower_bound.iter().chain(upper_bound).chain(stride));
            }
        }
    }

    fn called(&mut self, function: &Function) {
        let Function { name, uses_odbc_syntax, parameters, args, within_group, filter, null_treatment: _, over } =
            function;
        if *uses_odbc_syntax || !matches!(parameters, FunctionArguments::None) {
            self.unknown("a function with parameters");
        }
        let count = match args {
            FunctionArguments::None => 0,
            FunctionArguments::Subquery(query) => {
                self.query(query);
                1
            }
            FunctionArguments::List(FunctionArgumentList { duplicate_treatment: _, args, clauses }) => {
                self.arguments(args);
                clauses.iter().for_each(|clause| self.clause(clause));
                args.len()
            }
        };
        self.function(name, count);
        self.ordered(within_group);
        self.exprs(filter.as_deref());
        match over {
            Some(WindowType::WindowSpec(window)) => self.window(window),
            Some(WindowType::NamedWindow(_)) | None => {}
        }
    }

    fn clause(&mut self, clause: &FunctionArgumentClause) {
        match clause {
            FunctionArgumentClause::IgnoreOrRespectNulls(_)
            | FunctionArgumentClause::Separator(_)
            | FunctionArgumentClause::JsonNullClause(_)
            | FunctionArgumentClause::JsonReturningClause(_) => {}
            FunctionArgumentClause::Where(expr) | FunctionArgumentClause::Limit(expr) => self.expr(expr),
            FunctionArgumentClause::OrderBy(by) => self.ordered(by),
            FunctionArgumentClause::Having(bound) => self.expr(&bound.1),
            FunctionArgumentClause::OnOverflow(_) => self.unknown("ON OVERFLOW"),
        }
    }

    pub fn window(&mut self, window: &WindowSpec) {
        let WindowSpec { window_name: _, partition_by, order_by, window_frame } = window;
        self.exprs(partition_by);
        self.ordered(order_by);
        let bounds = window_frame.iter().flat_map(|frame| [Some(&frame.start_bound), frame.end_bound.as_ref()]);
        for bound in bounds.flatten() {
            match bound {
                WindowFrameBound::CurrentRow => {}
                WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr) => self.exprs(expr.as_deref()),
            }
        }
    }
}
