//! The parser's tree, as far as the walk looks at it.
//!
//! The crate's own messages hold everything, each text in memory of its own: building and dropping them took longer than the
//! parser and the walk together. These are the same messages by the same names, without the fields that nobody asks for, and
//! their texts are those of the bytes they are read from. The numbers are the crate's: a field or a kind that it does not have
//! does not compile. `same` proves by the corpora that nothing is lost.

mod nodes;
#[cfg(test)]
mod same;
mod wire;

use pg_query::protobuf as pg;

#[cfg(test)]
use same::Same;
use wire::{Field, Fields, Message};

pub use nodes::{NodeEnum, Val};
pub use wire::Malformed;

/// Reads what `ParserOptions::tree` has written.
pub fn read(bytes: &[u8]) -> Result<ParseResult<'_>, Malformed> {
    ParseResult::read(bytes)
}

pub type Nodes<'t> = Vec<Node<'t>>;
pub type Child<'t> = Option<Box<Node<'t>>>;

/// Empty where the parser has left a hole.
#[derive(Debug, Default)]
pub struct Node<'t> {
    pub node: Option<NodeEnum<'t>>,
}

macro_rules! messages {
    ($($name:ident $(<$life:lifetime>)? { $($field:ident: $of:ty,)* })*) => {$(
        #[derive(Debug, Default)]
        pub struct $name $(<$life>)? {
            $(pub $field: $of,)*
        }

        impl<'t> Message<'t> for $name $(<$life>)? {
            fn read(bytes: &'t [u8]) -> Result<Self, Malformed> {
                struct Number;
                #[allow(non_upper_case_globals, reason = "named as the fields are")]
                impl Number {
                    $(const $field: u32 = pg::$name::number_of(stringify!($field));)*
                }
                let mut message = Self::default();
                let mut fields = Fields(bytes);
                while let Some((number, value)) = fields.next()? {
                    match number {
                        $(Number::$field => message.$field.put(value)?,)*
                        _ => {}
                    }
                }
                Ok(message)
            }
        }

        #[cfg(test)]
        impl $(<$life>)? Same<pg::$name> for $name $(<$life>)? {
            fn same(&self, theirs: &pg::$name) -> bool {
                true $(&& self.$field.same(&theirs.$field))*
            }
        }

        #[cfg(test)]
        impl $(<$life>)? Same<Box<pg::$name>> for $name $(<$life>)? {
            fn same(&self, theirs: &Box<pg::$name>) -> bool {
                self.same(&**theirs)
            }
        }
    )*};
}

messages! {
    ParseResult<'t> { stmts: Vec<RawStmt<'t>>, }
    RawStmt<'t> { stmt: Child<'t>, }

    // Values and names.
    Boolean { boolval: bool, }
    ColumnRef<'t> { fields: Nodes<'t>, }
    Integer { ival: i32, }
    List<'t> { items: Nodes<'t>, }
    String<'t> { sval: &'t str, }
    TypeName<'t> { names: Nodes<'t>, setof: bool, pct_type: bool, typmods: Nodes<'t>, array_bounds: Nodes<'t>, }

    // Queries.
    Alias<'t> { aliasname: &'t str, colnames: Nodes<'t>, }
    ColumnDef<'t> { colname: &'t str, type_name: Option<TypeName<'t>>, raw_default: Child<'t>, constraints: Nodes<'t>, }
    CommonTableExpr<'t> { ctename: &'t str, ctequery: Child<'t>, cycle_clause: Option<Box<CteCycleClause<'t>>>, }
    CteCycleClause<'t> { cycle_mark_value: Child<'t>, cycle_mark_default: Child<'t>, }
    IntoClause<'t> { rel: Option<RangeVar<'t>>, }
    JoinExpr<'t> { larg: Child<'t>, rarg: Child<'t>, quals: Child<'t>, }
    RangeFunction<'t> { ordinality: bool, functions: Nodes<'t>, alias: Option<Alias<'t>>, coldeflist: Nodes<'t>, }
    RangeSubselect<'t> { subquery: Child<'t>, }
    RangeTableFunc<'t> { docexpr: Child<'t>, rowexpr: Child<'t>, namespaces: Nodes<'t>, columns: Nodes<'t>, }
    RangeTableFuncCol<'t> { type_name: Option<TypeName<'t>>, colexpr: Child<'t>, coldefexpr: Child<'t>, }
    RangeTableSample<'t> { relation: Child<'t>, method: Nodes<'t>, args: Nodes<'t>, repeatable: Child<'t>, }
    RangeVar<'t> { catalogname: &'t str, schemaname: &'t str, relname: &'t str, }
    ResTarget<'t> { indirection: Nodes<'t>, val: Child<'t>, }
    SelectStmt<'t> {
        distinct_clause: Nodes<'t>,
        into_clause: Option<Box<IntoClause<'t>>>,
        target_list: Nodes<'t>,
        from_clause: Nodes<'t>,
        where_clause: Child<'t>,
        group_clause: Nodes<'t>,
        having_clause: Child<'t>,
        window_clause: Nodes<'t>,
        values_lists: Nodes<'t>,
        sort_clause: Nodes<'t>,
        limit_offset: Child<'t>,
        limit_count: Child<'t>,
        locking_clause: Nodes<'t>,
        with_clause: Option<WithClause<'t>>,
        larg: Option<Box<SelectStmt<'t>>>,
        rarg: Option<Box<SelectStmt<'t>>>,
    }
    SortBy<'t> { node: Child<'t>, use_op: Nodes<'t>, }
    WindowDef<'t> { partition_clause: Nodes<'t>, order_clause: Nodes<'t>, start_offset: Child<'t>, end_offset: Child<'t>, }
    WithClause<'t> { ctes: Nodes<'t>, recursive: bool, }

    // Expressions.
    AArrayExpr<'t> { elements: Nodes<'t>, }
    AExpr<'t> { kind: i32, name: Nodes<'t>, lexpr: Child<'t>, rexpr: Child<'t>, }
    AIndices<'t> { lidx: Child<'t>, uidx: Child<'t>, }
    AIndirection<'t> { arg: Child<'t>, indirection: Nodes<'t>, }
    BoolExpr<'t> { args: Nodes<'t>, }
    BooleanTest<'t> { arg: Child<'t>, }
    CaseExpr<'t> { arg: Child<'t>, args: Nodes<'t>, defresult: Child<'t>, }
    CaseWhen<'t> { expr: Child<'t>, result: Child<'t>, }
    CoalesceExpr<'t> { args: Nodes<'t>, }
    CollateClause<'t> { arg: Child<'t>, }
    FuncCall<'t> {
        funcname: Nodes<'t>,
        args: Nodes<'t>,
        agg_order: Nodes<'t>,
        agg_filter: Child<'t>,
        over: Option<Box<WindowDef<'t>>>,
        func_variadic: bool,
    }
    GroupingFunc<'t> { args: Nodes<'t>, }
    GroupingSet<'t> { content: Nodes<'t>, }
    MinMaxExpr<'t> { args: Nodes<'t>, }
    MultiAssignRef<'t> { source: Child<'t>, }
    NamedArgExpr<'t> { arg: Child<'t>, }
    NullTest<'t> { arg: Child<'t>, }
    RowExpr<'t> { args: Nodes<'t>, }
    SubLink<'t> { testexpr: Child<'t>, oper_name: Nodes<'t>, subselect: Child<'t>, }
    TypeCast<'t> { arg: Child<'t>, type_name: Option<TypeName<'t>>, }

    // XML and JSON.
    JsonAggConstructor<'t> {
        output: Option<JsonOutput<'t>>,
        agg_filter: Child<'t>,
        agg_order: Nodes<'t>,
        over: Option<Box<WindowDef<'t>>>,
    }
    JsonArgument<'t> { val: Option<Box<JsonValueExpr<'t>>>, }
    JsonArrayAgg<'t> { constructor: Option<Box<JsonAggConstructor<'t>>>, arg: Option<Box<JsonValueExpr<'t>>>, }
    JsonArrayConstructor<'t> { exprs: Nodes<'t>, output: Option<JsonOutput<'t>>, }
    JsonArrayQueryConstructor<'t> { query: Child<'t>, output: Option<JsonOutput<'t>>, }
    JsonBehavior<'t> { expr: Child<'t>, }
    JsonFuncExpr<'t> {
        op: i32,
        context_item: Option<Box<JsonValueExpr<'t>>>,
        pathspec: Child<'t>,
        passing: Nodes<'t>,
        output: Option<JsonOutput<'t>>,
        on_empty: Option<Box<JsonBehavior<'t>>>,
        on_error: Option<Box<JsonBehavior<'t>>>,
    }
    JsonIsPredicate<'t> { expr: Child<'t>, }
    JsonKeyValue<'t> { key: Child<'t>, value: Option<Box<JsonValueExpr<'t>>>, }
    JsonObjectAgg<'t> { constructor: Option<Box<JsonAggConstructor<'t>>>, arg: Option<Box<JsonKeyValue<'t>>>, }
    JsonObjectConstructor<'t> { exprs: Nodes<'t>, output: Option<JsonOutput<'t>>, }
    JsonOutput<'t> { type_name: Option<TypeName<'t>>, }
    JsonParseExpr<'t> { expr: Option<Box<JsonValueExpr<'t>>>, output: Option<JsonOutput<'t>>, }
    JsonScalarExpr<'t> { expr: Child<'t>, output: Option<JsonOutput<'t>>, }
    JsonSerializeExpr<'t> { expr: Option<Box<JsonValueExpr<'t>>>, output: Option<JsonOutput<'t>>, }
    JsonTable<'t> {
        context_item: Option<Box<JsonValueExpr<'t>>>,
        pathspec: Option<Box<JsonTablePathSpec<'t>>>,
        passing: Nodes<'t>,
        columns: Nodes<'t>,
        on_error: Option<Box<JsonBehavior<'t>>>,
    }
    JsonTableColumn<'t> {
        type_name: Option<TypeName<'t>>,
        pathspec: Option<Box<JsonTablePathSpec<'t>>>,
        columns: Nodes<'t>,
        on_empty: Option<Box<JsonBehavior<'t>>>,
        on_error: Option<Box<JsonBehavior<'t>>>,
    }
    JsonTablePathSpec<'t> { string: Child<'t>, }
    JsonValueExpr<'t> { raw_expr: Child<'t>, formatted_expr: Child<'t>, }
    XmlExpr<'t> { named_args: Nodes<'t>, args: Nodes<'t>, }
    XmlSerialize<'t> { expr: Child<'t>, type_name: Option<TypeName<'t>>, }

    // Statements.
    CopyStmt<'t> {
        relation: Option<RangeVar<'t>>,
        is_from: bool,
        is_program: bool,
        filename: &'t str,
        where_clause: Child<'t>,
    }
    CreateTableAsStmt<'t> { query: Child<'t>, into: Option<Box<IntoClause<'t>>>, }
    DefElem<'t> { defname: &'t str, arg: Child<'t>, }
    DeleteStmt<'t> {
        relation: Option<RangeVar<'t>>,
        using_clause: Nodes<'t>,
        where_clause: Child<'t>,
        returning_clause: Option<ReturningClause<'t>>,
        with_clause: Option<WithClause<'t>>,
    }
    ExplainStmt<'t> { query: Child<'t>, options: Nodes<'t>, }
    GrantRoleStmt { is_grant: bool, }
    GrantStmt { is_grant: bool, }
    IndexElem<'t> { expr: Child<'t>, }
    InferClause<'t> { index_elems: Nodes<'t>, where_clause: Child<'t>, }
    InsertStmt<'t> {
        relation: Option<RangeVar<'t>>,
        cols: Nodes<'t>,
        select_stmt: Child<'t>,
        on_conflict_clause: Option<Box<OnConflictClause<'t>>>,
        returning_clause: Option<ReturningClause<'t>>,
        with_clause: Option<WithClause<'t>>,
    }
    MergeStmt<'t> {
        relation: Option<RangeVar<'t>>,
        source_relation: Child<'t>,
        join_condition: Child<'t>,
        merge_when_clauses: Nodes<'t>,
        returning_clause: Option<ReturningClause<'t>>,
        with_clause: Option<WithClause<'t>>,
    }
    MergeWhenClause<'t> { condition: Child<'t>, target_list: Nodes<'t>, values: Nodes<'t>, }
    OnConflictClause<'t> { infer: Option<Box<InferClause<'t>>>, target_list: Nodes<'t>, where_clause: Child<'t>, }
    ReturningClause<'t> { exprs: Nodes<'t>, }
    UpdateStmt<'t> {
        relation: Option<RangeVar<'t>>,
        target_list: Nodes<'t>,
        where_clause: Child<'t>,
        from_clause: Nodes<'t>,
        returning_clause: Option<ReturningClause<'t>>,
        with_clause: Option<WithClause<'t>>,
    }
    VacuumStmt { is_vacuumcmd: bool, }
    ViewStmt<'t> { view: Option<RangeVar<'t>>, query: Child<'t>, }
}
