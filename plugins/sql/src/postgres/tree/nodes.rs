//! The kinds of nodes that the walk tells apart.

use pg_query::protobuf as pg;

use super::wire::{Field, Fields, Malformed, Message, Value};
use super::*;

macro_rules! nodes {
    (looked_into { $($kind:ident($of:ty),)* } only_named { $($bare:ident,)* }) => {
        #[derive(Debug)]
        pub enum NodeEnum<'t> {
            $($kind($of),)*
            $($bare,)*
            /// None of these.
            Other,
        }

        impl<'t> Message<'t> for Node<'t> {
            fn read(bytes: &'t [u8]) -> Result<Self, Malformed> {
                struct Number;
                #[allow(non_upper_case_globals, reason = "named as the kinds are")]
                impl Number {
                    $(const $kind: u32 = pg::Node::number_of(stringify!($kind));)*
                    $(const $bare: u32 = pg::Node::number_of(stringify!($bare));)*
                }
                let Some((number, value)) = Fields(bytes).next()? else {
                    return Ok(Self { node: None });
                };
                let Value::Bytes(bytes) = value else { return Err(Malformed) };
                let node = match number {
                    $(Number::$kind => NodeEnum::$kind(Message::read(bytes)?),)*
                    $(Number::$bare => NodeEnum::$bare,)*
                    _ => NodeEnum::Other,
                };
                Ok(Self { node: Some(node) })
            }
        }

        #[cfg(test)]
        impl Same<pg_query::NodeEnum> for NodeEnum<'_> {
            fn same(&self, theirs: &pg_query::NodeEnum) -> bool {
                match (self, theirs) {
                    $((Self::$kind(ours), pg_query::NodeEnum::$kind(theirs)) => ours.same(theirs),)*
                    $((Self::$bare, pg_query::NodeEnum::$bare(_)) => true,)*
                    $((Self::Other, pg_query::NodeEnum::$kind(_)) => false,)*
                    $((Self::Other, pg_query::NodeEnum::$bare(_)) => false,)*
                    (Self::Other, _) => true,
                    _ => false,
                }
            }
        }
    };
}

nodes! {
    looked_into {
        AArrayExpr(Box<AArrayExpr<'t>>),
        AConst(AConst<'t>),
        AExpr(Box<AExpr<'t>>),
        AIndices(Box<AIndices<'t>>),
        AIndirection(Box<AIndirection<'t>>),
        BoolExpr(Box<BoolExpr<'t>>),
        Boolean(Boolean),
        BooleanTest(Box<BooleanTest<'t>>),
        CaseExpr(Box<CaseExpr<'t>>),
        CaseWhen(Box<CaseWhen<'t>>),
        CoalesceExpr(Box<CoalesceExpr<'t>>),
        CollateClause(Box<CollateClause<'t>>),
        ColumnDef(Box<ColumnDef<'t>>),
        ColumnRef(ColumnRef<'t>),
        CommonTableExpr(Box<CommonTableExpr<'t>>),
        CopyStmt(Box<CopyStmt<'t>>),
        CreateTableAsStmt(Box<CreateTableAsStmt<'t>>),
        DefElem(Box<DefElem<'t>>),
        DeleteStmt(Box<DeleteStmt<'t>>),
        ExplainStmt(Box<ExplainStmt<'t>>),
        FuncCall(Box<FuncCall<'t>>),
        GrantRoleStmt(GrantRoleStmt),
        GrantStmt(GrantStmt),
        GroupingFunc(Box<GroupingFunc<'t>>),
        GroupingSet(Box<GroupingSet<'t>>),
        IndexElem(Box<IndexElem<'t>>),
        InsertStmt(Box<InsertStmt<'t>>),
        Integer(Integer),
        JoinExpr(Box<JoinExpr<'t>>),
        JsonArgument(Box<JsonArgument<'t>>),
        JsonArrayAgg(Box<JsonArrayAgg<'t>>),
        JsonArrayConstructor(Box<JsonArrayConstructor<'t>>),
        JsonArrayQueryConstructor(Box<JsonArrayQueryConstructor<'t>>),
        JsonFuncExpr(Box<JsonFuncExpr<'t>>),
        JsonIsPredicate(Box<JsonIsPredicate<'t>>),
        JsonKeyValue(Box<JsonKeyValue<'t>>),
        JsonObjectAgg(Box<JsonObjectAgg<'t>>),
        JsonObjectConstructor(Box<JsonObjectConstructor<'t>>),
        JsonParseExpr(Box<JsonParseExpr<'t>>),
        JsonScalarExpr(Box<JsonScalarExpr<'t>>),
        JsonSerializeExpr(Box<JsonSerializeExpr<'t>>),
        JsonTable(Box<JsonTable<'t>>),
        JsonTableColumn(Box<JsonTableColumn<'t>>),
        JsonValueExpr(Box<JsonValueExpr<'t>>),
        List(List<'t>),
        MergeStmt(Box<MergeStmt<'t>>),
        MergeWhenClause(Box<MergeWhenClause<'t>>),
        MinMaxExpr(Box<MinMaxExpr<'t>>),
        MultiAssignRef(Box<MultiAssignRef<'t>>),
        NamedArgExpr(Box<NamedArgExpr<'t>>),
        NullTest(Box<NullTest<'t>>),
        RangeFunction(Box<RangeFunction<'t>>),
        RangeSubselect(Box<RangeSubselect<'t>>),
        RangeTableFunc(Box<RangeTableFunc<'t>>),
        RangeTableFuncCol(Box<RangeTableFuncCol<'t>>),
        RangeTableSample(Box<RangeTableSample<'t>>),
        RangeVar(Box<RangeVar<'t>>),
        ResTarget(Box<ResTarget<'t>>),
        RowExpr(Box<RowExpr<'t>>),
        SelectStmt(Box<SelectStmt<'t>>),
        SortBy(Box<SortBy<'t>>),
        String(String<'t>),
        SubLink(Box<SubLink<'t>>),
        TypeCast(Box<TypeCast<'t>>),
        UpdateStmt(Box<UpdateStmt<'t>>),
        VacuumStmt(VacuumStmt),
        ViewStmt(Box<ViewStmt<'t>>),
        WindowDef(Box<WindowDef<'t>>),
        XmlExpr(Box<XmlExpr<'t>>),
        XmlSerialize(Box<XmlSerialize<'t>>),
    }
    only_named {
        AStar, AlterCollationStmt, AlterDatabaseRefreshCollStmt, AlterDatabaseSetStmt, AlterDatabaseStmt,
        AlterDefaultPrivilegesStmt, AlterDomainStmt, AlterEnumStmt, AlterEventTrigStmt, AlterExtensionContentsStmt,
        AlterExtensionStmt, AlterFdwStmt, AlterForeignServerStmt, AlterFunctionStmt, AlterObjectDependsStmt,
        AlterObjectSchemaStmt, AlterOpFamilyStmt, AlterOperatorStmt, AlterOwnerStmt, AlterPolicyStmt,
        AlterPublicationStmt, AlterRoleSetStmt, AlterRoleStmt, AlterSeqStmt, AlterStatsStmt, AlterSubscriptionStmt,
        AlterSystemStmt, AlterTableMoveAllStmt, AlterTableSpaceOptionsStmt, AlterTableStmt, AlterTsconfigurationStmt,
        AlterTsdictionaryStmt, AlterTypeStmt, AlterUserMappingStmt, BitString, CallStmt, CheckPointStmt,
        ClosePortalStmt, ClusterStmt, CommentStmt, CompositeTypeStmt, ConstraintsSetStmt, CreateAmStmt,
        CreateCastStmt, CreateConversionStmt, CreateDomainStmt, CreateEnumStmt, CreateEventTrigStmt,
        CreateExtensionStmt, CreateFdwStmt, CreateForeignServerStmt, CreateForeignTableStmt, CreateFunctionStmt,
        CreateOpClassStmt, CreateOpFamilyStmt, CreatePlangStmt, CreatePolicyStmt, CreatePublicationStmt,
        CreateRangeStmt, CreateRoleStmt, CreateSchemaStmt, CreateSeqStmt, CreateStatsStmt, CreateStmt,
        CreateSubscriptionStmt, CreateTableSpaceStmt, CreateTransformStmt, CreateTrigStmt, CreateUserMappingStmt,
        CreatedbStmt, DeallocateStmt, DeclareCursorStmt, DefineStmt, DiscardStmt, DoStmt, DropOwnedStmt, DropRoleStmt,
        DropStmt, DropSubscriptionStmt, DropTableSpaceStmt, DropUserMappingStmt, DropdbStmt, ExecuteStmt, FetchStmt,
        Float, ImportForeignSchemaStmt, IndexStmt, ListenStmt, LoadStmt, LockStmt, NotifyStmt, ParamRef, PrepareStmt,
        ReassignOwnedStmt, RefreshMatViewStmt, ReindexStmt, RenameStmt, ReplicaIdentityStmt, RuleStmt, SecLabelStmt,
        SetToDefault, SqlvalueFunction, TransactionStmt, TruncateStmt, UnlistenStmt, VariableSetStmt,
        VariableShowStmt,
    }
}

/// A constant: of a number only a part is looked at.
#[derive(Debug, Default)]
pub struct AConst<'t> {
    pub isnull: bool,
    pub val: Option<Val<'t>>,
}

#[derive(Debug)]
pub enum Val<'t> {
    Ival(Integer),
    Fval,
    Boolval(Boolean),
    Sval(String<'t>),
    Bsval,
}

impl<'t> Message<'t> for AConst<'t> {
    fn read(bytes: &'t [u8]) -> Result<Self, Malformed> {
        const ISNULL: u32 = pg::AConst::number_of("isnull");
        const IVAL: u32 = pg::AConst::number_of("Ival");
        const FVAL: u32 = pg::AConst::number_of("Fval");
        const BOOLVAL: u32 = pg::AConst::number_of("Boolval");
        const SVAL: u32 = pg::AConst::number_of("Sval");
        const BSVAL: u32 = pg::AConst::number_of("Bsval");
        let mut constant = Self::default();
        let mut fields = Fields(bytes);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (ISNULL, value) => constant.isnull.put(value)?,
                (IVAL, Value::Bytes(bytes)) => constant.val = Some(Val::Ival(Message::read(bytes)?)),
                (FVAL, Value::Bytes(_)) => constant.val = Some(Val::Fval),
                (BOOLVAL, Value::Bytes(bytes)) => constant.val = Some(Val::Boolval(Message::read(bytes)?)),
                (SVAL, Value::Bytes(bytes)) => constant.val = Some(Val::Sval(Message::read(bytes)?)),
                (BSVAL, Value::Bytes(_)) => constant.val = Some(Val::Bsval),
                (IVAL | FVAL | BOOLVAL | SVAL | BSVAL, _) => return Err(Malformed),
                _ => {}
            }
        }
        Ok(constant)
    }
}

#[cfg(test)]
impl Same<pg::AConst> for AConst<'_> {
    fn same(&self, theirs: &pg::AConst) -> bool {
        use pg::a_const::Val as Theirs;
        let value = match (&self.val, &theirs.val) {
            (None, None) => true,
            (Some(Val::Ival(ours)), Some(Theirs::Ival(theirs))) => ours.same(theirs),
            (Some(Val::Boolval(ours)), Some(Theirs::Boolval(theirs))) => ours.same(theirs),
            (Some(Val::Sval(ours)), Some(Theirs::Sval(theirs))) => ours.same(theirs),
            (Some(Val::Fval), Some(Theirs::Fval(_))) | (Some(Val::Bsval), Some(Theirs::Bsval(_))) => true,
            _ => false,
        };
        value && self.isnull == theirs.isnull
    }
}
