//! The table of statements that are no queries.

use crate::Kind;

use super::tree::NodeEnum;

/// What a statement is called, and how much it changes. Whatever is not in the table is not known to be harmless.
#[expect(clippy::too_many_lines, reason = "a table: one line per family of statements")]
pub fn word(node: &NodeEnum<'_>) -> (&'static str, Kind) {
    use NodeEnum as N;
    match node {
        N::CreateStmt
        | N::CreateSchemaStmt
        | N::CreateSeqStmt
        | N::CreateEnumStmt
        | N::CompositeTypeStmt
        | N::CreateRangeStmt
        | N::CreateDomainStmt
        | N::CreateStatsStmt => ("CREATE", Kind::Writes),
        N::IndexStmt => ("CREATE INDEX", Kind::Writes),
        N::CommentStmt => ("COMMENT", Kind::Writes),
        N::RefreshMatViewStmt => ("REFRESH", Kind::Writes),
        // What is made here acts by itself later, for whoever comes.
        N::CreateFunctionStmt
        | N::CreateTrigStmt
        | N::CreateEventTrigStmt
        | N::RuleStmt
        | N::CreatePolicyStmt
        | N::CreateExtensionStmt
        | N::CreateRoleStmt
        | N::CreatedbStmt
        | N::CreateTableSpaceStmt
        | N::CreateFdwStmt
        | N::CreateForeignServerStmt
        | N::CreateForeignTableStmt
        | N::CreateUserMappingStmt
        | N::CreatePublicationStmt
        | N::CreateSubscriptionStmt
        | N::CreateAmStmt
        | N::CreateCastStmt
        | N::CreateConversionStmt
        | N::CreateOpClassStmt
        | N::CreateOpFamilyStmt
        | N::CreatePlangStmt
        | N::CreateTransformStmt
        | N::DefineStmt => ("CREATE", Kind::Destroys),
        N::DropStmt
        | N::DropRoleStmt
        | N::DropdbStmt
        | N::DropOwnedStmt
        | N::DropTableSpaceStmt
        | N::DropUserMappingStmt
        | N::DropSubscriptionStmt => ("DROP", Kind::Destroys),
        N::TruncateStmt => ("TRUNCATE", Kind::Destroys),
        N::AlterTableStmt
        | N::AlterDomainStmt
        | N::AlterEnumStmt
        | N::AlterFunctionStmt
        | N::AlterRoleStmt
        | N::AlterRoleSetStmt
        | N::AlterSeqStmt
        | N::AlterDatabaseStmt
        | N::AlterDatabaseSetStmt
        | N::AlterDatabaseRefreshCollStmt
        | N::AlterObjectSchemaStmt
        | N::AlterOwnerStmt
        | N::AlterOperatorStmt
        | N::AlterTypeStmt
        | N::AlterObjectDependsStmt
        | N::AlterDefaultPrivilegesStmt
        | N::AlterCollationStmt
        | N::AlterEventTrigStmt
        | N::AlterExtensionStmt
        | N::AlterExtensionContentsStmt
        | N::AlterFdwStmt
        | N::AlterForeignServerStmt
        | N::AlterUserMappingStmt
        | N::AlterOpFamilyStmt
        | N::AlterPolicyStmt
        | N::AlterPublicationStmt
        | N::AlterSubscriptionStmt
        | N::AlterStatsStmt
        | N::AlterTableSpaceOptionsStmt
        | N::AlterTableMoveAllStmt
        | N::AlterTsconfigurationStmt
        | N::AlterTsdictionaryStmt
        | N::RenameStmt
        | N::ReplicaIdentityStmt => ("ALTER", Kind::Destroys),
        N::GrantStmt(grant) => (if grant.is_grant { "GRANT" } else { "REVOKE" }, Kind::Destroys),
        N::GrantRoleStmt(grant) => (if grant.is_grant { "GRANT" } else { "REVOKE" }, Kind::Destroys),
        N::SecLabelStmt => ("SECURITY LABEL", Kind::Destroys),
        N::ImportForeignSchemaStmt => ("IMPORT FOREIGN SCHEMA", Kind::Destroys),
        N::ReassignOwnedStmt => ("REASSIGN", Kind::Destroys),
        N::VacuumStmt(vacuum) => (if vacuum.is_vacuumcmd { "VACUUM" } else { "ANALYZE" }, Kind::Destroys),
        N::ClusterStmt => ("CLUSTER", Kind::Destroys),
        N::ReindexStmt => ("REINDEX", Kind::Destroys),
        // Of the whole server, and for whoever comes.
        N::AlterSystemStmt => ("ALTER SYSTEM", Kind::Unknown),
        N::VariableSetStmt => ("SET", Kind::Unknown),
        N::ConstraintsSetStmt => ("SET CONSTRAINTS", Kind::Unknown),
        N::TransactionStmt => ("a transaction", Kind::Unknown),
        N::DoStmt => ("DO", Kind::Unknown),
        N::CallStmt => ("CALL", Kind::Unknown),
        N::PrepareStmt => ("PREPARE", Kind::Unknown),
        N::ExecuteStmt => ("EXECUTE", Kind::Unknown),
        N::DeallocateStmt => ("DEALLOCATE", Kind::Unknown),
        N::DeclareCursorStmt => ("DECLARE", Kind::Unknown),
        N::FetchStmt => ("FETCH", Kind::Unknown),
        N::ClosePortalStmt => ("CLOSE", Kind::Unknown),
        N::LockStmt => ("LOCK", Kind::Unknown),
        N::ListenStmt => ("LISTEN", Kind::Unknown),
        N::NotifyStmt => ("NOTIFY", Kind::Unknown),
        N::UnlistenStmt => ("UNLISTEN", Kind::Unknown),
        N::LoadStmt => ("LOAD", Kind::Unknown),
        N::CheckPointStmt => ("CHECKPOINT", Kind::Unknown),
        N::DiscardStmt => ("DISCARD", Kind::Unknown),
        _ => ("a statement that is not known here", Kind::Unknown),
    }
}
