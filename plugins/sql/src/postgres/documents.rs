//! XML and JSON inside a query: constructors, queries and tables made of them.

use pg_query::protobuf::JsonExprOp;

use super::tree::{
    JsonAggConstructor, JsonBehavior, JsonFuncExpr, JsonOutput, JsonTable, JsonTableColumn, JsonValueExpr, Node,
    NodeEnum, RangeTableFunc,
};
use super::walk::Walk;

impl<'a> Walk<'a> {
    pub(super) fn document(&mut self, node: &'a NodeEnum<'a>) {
        match node {
            NodeEnum::XmlExpr(xml) => {
                self.all(&xml.named_args);
                self.all(&xml.args);
            }
            NodeEnum::XmlSerialize(xml) => {
                self.maybe(xml.expr.as_deref());
                if let Some(to) = &xml.type_name {
                    self.cast(to, None);
                }
            }
            NodeEnum::JsonValueExpr(value) => self.json_value(Some(value)),
            NodeEnum::JsonKeyValue(pair) => {
                self.maybe(pair.key.as_deref());
                self.json_value(pair.value.as_deref());
            }
            NodeEnum::JsonArgument(argument) => self.json_value(argument.val.as_deref()),
            NodeEnum::JsonIsPredicate(test) => self.maybe(test.expr.as_deref()),
            NodeEnum::JsonParseExpr(json) => {
                self.named("json");
                self.json_value(json.expr.as_deref());
                self.json_output(json.output.as_ref());
            }
            NodeEnum::JsonScalarExpr(json) => {
                self.named("json_scalar");
                self.maybe(json.expr.as_deref());
                self.json_output(json.output.as_ref());
            }
            NodeEnum::JsonSerializeExpr(json) => {
                self.named("json_serialize");
                self.json_value(json.expr.as_deref());
                self.json_output(json.output.as_ref());
            }
            NodeEnum::JsonObjectConstructor(json) => {
                self.named("json_object");
                self.all(&json.exprs);
                self.json_output(json.output.as_ref());
            }
            NodeEnum::JsonArrayConstructor(json) => {
                self.named("json_array");
                self.all(&json.exprs);
                self.json_output(json.output.as_ref());
            }
            NodeEnum::JsonArrayQueryConstructor(json) => {
                self.named("json_array");
                self.maybe(json.query.as_deref());
                self.json_output(json.output.as_ref());
            }
            NodeEnum::JsonObjectAgg(json) => {
                self.named("json_objectagg");
                if let Some(pair) = &json.arg {
                    self.maybe(pair.key.as_deref());
                    self.json_value(pair.value.as_deref());
                }
                self.json_aggregate(json.constructor.as_deref());
            }
            NodeEnum::JsonArrayAgg(json) => {
                self.named("json_arrayagg");
                self.json_value(json.arg.as_deref());
                self.json_aggregate(json.constructor.as_deref());
            }
            NodeEnum::JsonFuncExpr(json) => self.json_function(json),
            // A write inside an expression does not parse; whatever else is here is new.
            _ => self.unknown("a part of the query"),
        }
    }

    fn json_function(&mut self, json: &'a JsonFuncExpr<'a>) {
        match JsonExprOp::try_from(json.op).unwrap_or_default() {
            JsonExprOp::JsonExistsOp => self.named("json_exists"),
            JsonExprOp::JsonQueryOp => self.named("json_query"),
            JsonExprOp::JsonValueOp => self.named("json_value"),
            JsonExprOp::JsonTableOp | JsonExprOp::Undefined => self.unknown("a JSON function"),
        }
        self.json_value(json.context_item.as_deref());
        self.maybe(json.pathspec.as_deref());
        self.all(&json.passing);
        self.json_output(json.output.as_ref());
        self.json_behaviour(json.on_empty.as_deref());
        self.json_behaviour(json.on_error.as_deref());
    }

    pub(super) fn xml_table(&mut self, table: &'a RangeTableFunc<'a>) {
        self.maybe(table.docexpr.as_deref());
        self.maybe(table.rowexpr.as_deref());
        self.all(&table.namespaces);
        for column in &table.columns {
            let Some(NodeEnum::RangeTableFuncCol(column)) = &column.node else {
                self.unknown("a column of XMLTABLE");
                continue;
            };
            if let Some(to) = &column.type_name {
                self.cast(to, None);
            }
            self.maybe(column.colexpr.as_deref());
            self.maybe(column.coldefexpr.as_deref());
        }
    }

    pub(super) fn json_table(&mut self, table: &'a JsonTable<'a>) {
        self.named("json_table");
        self.json_value(table.context_item.as_deref());
        if let Some(path) = &table.pathspec {
            self.maybe(path.string.as_deref());
        }
        self.all(&table.passing);
        self.json_behaviour(table.on_error.as_deref());
        self.json_columns(&table.columns);
    }

    fn json_columns(&mut self, columns: &'a [Node<'a>]) {
        for column in columns {
            match &column.node {
                Some(NodeEnum::JsonTableColumn(column)) => self.json_column(column),
                _ => self.unknown("a column of JSON_TABLE"),
            }
        }
    }

    fn json_column(&mut self, column: &'a JsonTableColumn<'a>) {
        if let Some(to) = &column.type_name {
            self.cast(to, None);
        }
        if let Some(path) = &column.pathspec {
            self.maybe(path.string.as_deref());
        }
        self.json_behaviour(column.on_empty.as_deref());
        self.json_behaviour(column.on_error.as_deref());
        self.json_columns(&column.columns);
    }

    fn json_value(&mut self, value: Option<&'a JsonValueExpr<'a>>) {
        if let Some(value) = value {
            self.maybe(value.raw_expr.as_deref());
            self.maybe(value.formatted_expr.as_deref());
        }
    }

    fn json_output(&mut self, output: Option<&'a JsonOutput<'a>>) {
        if let Some(to) = output.and_then(|output| output.type_name.as_ref()) {
            self.cast(to, None);
        }
    }

    fn json_behaviour(&mut self, behaviour: Option<&'a JsonBehavior<'a>>) {
        if let Some(behaviour) = behaviour {
            self.maybe(behaviour.expr.as_deref());
        }
    }

    fn json_aggregate(&mut self, aggregate: Option<&'a JsonAggConstructor<'a>>) {
        let Some(aggregate) = aggregate else { return };
        self.json_output(aggregate.output.as_ref());
        self.maybe(aggregate.agg_filter.as_deref());
        self.all(&aggregate.agg_order);
        if let Some(over) = &aggregate.over {
            self.window(over);
        }
    }
}
