//! Statements, not expressions: which of them read, and what the others are called when they are refused.

use crate::{Explain, Kind, Rule, Show};

use super::tree::{
    CopyStmt, DeleteStmt, ExplainStmt, InsertStmt, MergeStmt, Node, NodeEnum, OnConflictClause, RangeVar, RawStmt,
    ReturningClause, UpdateStmt, Val,
};
use super::walk::Walk;
use super::words::word;

/// What EXPLAIN may be told besides ANALYZE.
const EXPLAIN_OPTIONS: [&str; 11] = [
    "verbose",
    "costs",
    "settings",
    "generic_plan",
    "buffers",
    "serialize",
    "wal",
    "timing",
    "summary",
    "memory",
    "format",
];

impl<'a> Walk<'a> {
    pub(super) fn statement(&mut self, statement: &'a RawStmt<'a>) {
        let Some(node) = statement.stmt.as_ref().and_then(|node| node.node.as_ref()) else {
            return self.unknown("an empty statement");
        };
        match node {
            NodeEnum::SelectStmt(select) => self.select(select),
            NodeEnum::ExplainStmt(explain) => self.explain(explain),
            NodeEnum::VariableShowStmt => self.show(),
            other => self.writes(other),
        }
    }

    fn show(&mut self) {
        if self.list.show == Show::Deny {
            self.side_effect(Kind::Unknown, "SHOW");
        } else if self.ask.tables.is_some() {
            self.refuse(Rule::Catalogue, "`SHOW` tells of the database itself, and only listed tables may be read");
        }
    }

    fn explain(&mut self, explain: &'a ExplainStmt<'a>) {
        let mut analyze = false;
        for option in &explain.options {
            let Some(NodeEnum::DefElem(option)) = &option.node else {
                return self.unknown("an option of EXPLAIN");
            };
            let name = option.defname.to_ascii_lowercase();
            if name == "analyze" || name == "analyse" {
                // Of several the server takes the last; any that is on is taken here.
                analyze |= option.arg.as_deref().is_none_or(|value| !is_off(value));
            } else if !EXPLAIN_OPTIONS.contains(&name.as_str()) {
                return self.unknown("an option of EXPLAIN");
            }
        }
        let Some(query) = explain.query.as_ref().and_then(|query| query.node.as_ref()) else {
            return self.unknown("EXPLAIN of nothing");
        };
        match (self.list.explain, analyze) {
            (Explain::Deny, _) => return self.side_effect(Kind::Unknown, "EXPLAIN"),
            (Explain::Plan, true) => return self.side_effect(Kind::Unknown, "EXPLAIN ANALYZE"),
            _ => {}
        }
        self.planned = !analyze;
        match query {
            NodeEnum::SelectStmt(select) => self.select(select),
            NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_) | NodeEnum::MergeStmt(_) => {
                self.writes(query);
            }
            // EXECUTE, DECLARE, CREATE TABLE AS, REFRESH: what would be planned is elsewhere, or is made.
            _ => self.side_effect(Kind::Unknown, "EXPLAIN of anything but a query"),
        }
        self.planned = false;
    }

    /// A statement that is no query, at the top or inside WITH.
    pub(super) fn writes(&mut self, node: &'a NodeEnum<'a>) {
        match node {
            NodeEnum::InsertStmt(insert) => self.insert(insert),
            NodeEnum::UpdateStmt(update) => self.update(update),
            NodeEnum::DeleteStmt(delete) => self.delete(delete),
            NodeEnum::MergeStmt(merge) => self.merge(merge),
            NodeEnum::CreateTableAsStmt(create) => {
                self.write(Kind::Writes, "CREATE");
                self.made(create.into.as_ref().and_then(|into| into.rel.as_ref()));
                self.maybe(create.query.as_deref());
            }
            NodeEnum::ViewStmt(view) => {
                self.write(Kind::Writes, "CREATE");
                self.made(view.view.as_ref());
                self.maybe(view.query.as_deref());
            }
            NodeEnum::CopyStmt(copy) => self.copy(copy),
            other => {
                let (word, kind) = word(other);
                match kind {
                    Kind::Unknown | Kind::Reads => self.side_effect(Kind::Unknown, word),
                    Kind::Writes | Kind::Destroys => {
                        self.write(kind, word);
                        self.unlistable(word);
                    }
                }
            }
        }
    }

    fn copy(&mut self, copy: &'a CopyStmt<'a>) {
        if copy.is_from && !copy.is_program && copy.filename.is_empty() {
            self.write(Kind::Writes, "COPY");
            self.made(copy.relation.as_ref());
            self.maybe(copy.where_clause.as_deref());
        } else {
            self.side_effect(Kind::Unknown, "COPY");
        }
    }

    fn insert(&mut self, insert: &'a InsertStmt<'a>) {
        self.write(Kind::Writes, "INSERT");
        self.with(insert.with_clause.as_ref(), |walk| {
            walk.made(insert.relation.as_ref());
            walk.all(&insert.cols);
            walk.maybe(insert.select_stmt.as_deref());
            walk.on_conflict(insert.on_conflict_clause.as_deref());
            walk.returning(insert.returning_clause.as_ref());
        });
    }

    fn on_conflict(&mut self, clause: Option<&'a OnConflictClause<'a>>) {
        let Some(clause) = clause else { return };
        if let Some(infer) = &clause.infer {
            for element in &infer.index_elems {
                match &element.node {
                    Some(NodeEnum::IndexElem(element)) => self.maybe(element.expr.as_deref()),
                    _ => self.unknown("a conflict target"),
                }
            }
            self.maybe(infer.where_clause.as_deref());
        }
        self.all(&clause.target_list);
        self.maybe(clause.where_clause.as_deref());
    }

    fn update(&mut self, update: &'a UpdateStmt<'a>) {
        self.write(Kind::Writes, "UPDATE");
        self.with(update.with_clause.as_ref(), |walk| {
            let entered = walk.functions_of(&update.from_clause);
            walk.made(update.relation.as_ref());
            walk.all(&update.target_list);
            walk.all(&update.from_clause);
            walk.maybe(update.where_clause.as_deref());
            walk.returning(update.returning_clause.as_ref());
            walk.ranges.leave(entered);
        });
    }

    fn delete(&mut self, delete: &'a DeleteStmt<'a>) {
        self.write(Kind::Destroys, "DELETE");
        self.with(delete.with_clause.as_ref(), |walk| {
            let entered = walk.functions_of(&delete.using_clause);
            walk.made(delete.relation.as_ref());
            walk.all(&delete.using_clause);
            walk.maybe(delete.where_clause.as_deref());
            walk.returning(delete.returning_clause.as_ref());
            walk.ranges.leave(entered);
        });
    }

    fn merge(&mut self, merge: &'a MergeStmt<'a>) {
        self.write(Kind::Destroys, "MERGE");
        self.with(merge.with_clause.as_ref(), |walk| {
            let entered = walk.functions_of(merge.source_relation.as_deref());
            walk.made(merge.relation.as_ref());
            walk.maybe(merge.source_relation.as_deref());
            walk.maybe(merge.join_condition.as_deref());
            for clause in &merge.merge_when_clauses {
                let Some(NodeEnum::MergeWhenClause(clause)) = &clause.node else {
                    walk.unknown("a clause of MERGE");
                    continue;
                };
                walk.maybe(clause.condition.as_deref());
                walk.all(&clause.target_list);
                walk.all(&clause.values);
            }
            walk.returning(merge.returning_clause.as_ref());
            walk.ranges.leave(entered);
        });
    }

    fn returning(&mut self, clause: Option<&'a ReturningClause<'a>>) {
        if let Some(clause) = clause {
            self.all(&clause.exprs);
        }
    }

    /// The table that a statement changes is never a common table expression, whatever it is called.
    fn made(&mut self, relation: Option<&'a RangeVar<'a>>) {
        if let Some(relation) = relation {
            self.relation(relation, false);
        }
    }
}

fn is_off(value: &Node<'_>) -> bool {
    let text = match value.node.as_ref() {
        Some(NodeEnum::String(string)) => string.sval,
        Some(NodeEnum::Integer(number)) => return number.ival == 0,
        Some(NodeEnum::Boolean(value)) => return !value.boolval,
        Some(NodeEnum::AConst(constant)) => match constant.val.as_ref() {
            Some(Val::Ival(number)) => return number.ival == 0,
            Some(Val::Boolval(value)) => return !value.boolval,
            Some(Val::Sval(string)) => string.sval,
            _ => return false,
        },
        _ => return false,
    };
    ["off", "false"].iter().any(|off| text.eq_ignore_ascii_case(off))
}
