//! The table of statements that are no queries.

use pg_query::NodeEnum;

use crate::Kind;

/// What a statement is called, and how much it changes. Whatever is not in the table is not known to be harmless.
#[expect(clippy::too_many_lines, reason = "a table: one line per family of statements")]
pub fn word(node: &NodeEnum) -> (&'static str, Kind) {
    use NodeEnum as N;
    match node {
        N::CreateStmt(_)
        | N::CreateSchemaStmt(_)
        | N::CreateSeqStmt(_)
        | N::CreateEnumStmt(_)
        | N::CompositeTypeStmt(_)
        | N::CreateRangeStmt(_)
        | N::CreateDomainStmt(_)
        | N::CreateStatsStmt(_) => ("CREATE", Kind::Writes),
        N::IndexStmt(_) => ("CREATE INDEX", Kind::Writes),
        N::CommentStmt(_) => ("COMMENT", Kind::Writes),
        N::RefreshMatViewStmt(_) => ("REFRESH", Kind::Writes),
        // What is made here acts by itself later, for whoever comes.
        N::CreateFunctionStmt(_)
        | N::CreateTrigStmt(_)
        | N::CreateEventTrigStmt(_)
        | N::RuleStmt(_)
        | N::CreatePolicyStmt(_)
        | N::CreateExtensionStmt(_)
        | N::CreateRoleStmt(_)
        | N::CreatedbStmt(_)
        | N::CreateTableSpaceStmt(_)
        | N::CreateFdwStmt(_)
        | N::CreateForeignServerStmt(_)
        | N::CreateForeignTableStmt(_)
        | N::CreateUserMappingStmt(_)
        | N::CreatePublicationStmt(_)
        | N::CreateSubscriptionStmt(_)
        | N::CreateAmStmt(_)
        | N::CreateCastStmt(_)
        | N::CreateConversionStmt(_)
        | N::CreateOpClassStmt(_)
        | N::CreateOpFamilyStmt(_)
        | N::CreatePlangStmt(_)
        | N::CreateTransformStmt(_)
        | N::DefineStmt(_) => ("CREATE", Kind::Destroys),
        N::DropStmt(_)
        | N::DropRoleStmt(_)
        | N::DropdbStmt(_)
        | N::DropOwnedStmt(_)
        | N::DropTableSpaceStmt(_)
        | N::DropUserMappingStmt(_)
        | N::DropSubscriptionStmt(_) => ("DROP", Kind::Destroys),
        N::TruncateStmt(_) => ("TRUNCATE", Kind::Destroys),
        N::AlterTableStmt(_)
        | N::AlterDomainStmt(_)
        | N::AlterEnumStmt(_)
        | N::AlterFunctionStmt(_)
        | N::AlterRoleStmt(_)
        | N::AlterRoleSetStmt(_)
        | N::AlterSeqStmt(_)
        | N::AlterDatabaseStmt(_)
        | N::AlterDatabaseSetStmt(_)
        | N::AlterDatabaseRefreshCollStmt(_)
        | N::AlterObjectSchemaStmt(_)
        | N::AlterOwnerStmt(_)
        | N::AlterOperatorStmt(_)
        | N::AlterTypeStmt(_)
        | N::AlterObjectDependsStmt(_)
        | N::AlterDefaultPrivilegesStmt(_)
        | N::AlterCollationStmt(_)
        | N::AlterEventTrigStmt(_)
        | N::AlterExtensionStmt(_)
        | N::AlterExtensionContentsStmt(_)
        | N::AlterFdwStmt(_)
        | N::AlterForeignServerStmt(_)
        | N::AlterUserMappingStmt(_)
        | N::AlterOpFamilyStmt(_)
        | N::AlterPolicyStmt(_)
        | N::AlterPublicationStmt(_)
        | N::AlterSubscriptionStmt(_)
        | N::AlterStatsStmt(_)
        | N::AlterTableSpaceOptionsStmt(_)
        | N::AlterTableMoveAllStmt(_)
        | N::AlterTsconfigurationStmt(_)
        | N::AlterTsdictionaryStmt(_)
        | N::RenameStmt(_)
        | N::ReplicaIdentityStmt(_) => ("ALTER", Kind::Destroys),
        N::GrantStmt(grant) => (if grant.is_grant { "GRANT" } else { "REVOKE" }, Kind::Destroys),
        N::GrantRoleStmt(grant) => (if grant.is_grant { "GRANT" } else { "REVOKE" }, Kind::Destroys),
        N::SecLabelStmt(_) => ("SECURITY LABEL", Kind::Destroys),
        N::ImportForeignSchemaStmt(_) => ("IMPORT FOREIGN SCHEMA", Kind::Destroys),
        N::ReassignOwnedStmt(_) => ("REASSIGN", Kind::Destroys),
        N::VacuumStmt(vacuum) => (if vacuum.is_vacuumcmd { "VACUUM" } else { "ANALYZE" }, Kind::Destroys),
        N::ClusterStmt(_) => ("CLUSTER", Kind::Destroys),
        N::ReindexStmt(_) => ("REINDEX", Kind::Destroys),
        // Of the whole server, and for whoever comes.
        N::AlterSystemStmt(_) => ("ALTER SYSTEM", Kind::Unknown),
        N::VariableSetStmt(_) => ("SET", Kind::Unknown),
        N::ConstraintsSetStmt(_) => ("SET CONSTRAINTS", Kind::Unknown),
        N::TransactionStmt(_) => ("a transaction", Kind::Unknown),
        N::DoStmt(_) => ("DO", Kind::Unknown),
        N::CallStmt(_) => ("CALL", Kind::Unknown),
        N::PrepareStmt(_) => ("PREPARE", Kind::Unknown),
        N::ExecuteStmt(_) => ("EXECUTE", Kind::Unknown),
        N::DeallocateStmt(_) => ("DEALLOCATE", Kind::Unknown),
        N::DeclareCursorStmt(_) => ("DECLARE", Kind::Unknown),
        N::FetchStmt(_) => ("FETCH", Kind::Unknown),
        N::ClosePortalStmt(_) => ("CLOSE", Kind::Unknown),
        N::LockStmt(_) => ("LOCK", Kind::Unknown),
        N::ListenStmt(_) => ("LISTEN", Kind::Unknown),
        N::NotifyStmt(_) => ("NOTIFY", Kind::Unknown),
        N::UnlistenStmt(_) => ("UNLISTEN", Kind::Unknown),
        N::LoadStmt(_) => ("LOAD", Kind::Unknown),
        N::CheckPointStmt(_) => ("CHECKPOINT", Kind::Unknown),
        N::DiscardStmt(_) => ("DISCARD", Kind::Unknown),
        _ => ("a statement that is not known here", Kind::Unknown),
    }
}
