//! Columns that functions of PostgreSQL put out: behind the name of such a function, or of its alias, they are no functions.

use super::names::Name;

/// Rows of a type that the first argument has.
const OPEN: [&str; 5] = [
    "json_populate_record",
    "json_populate_recordset",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "populate_record",
];

pub fn is_open(function: Name<'_>) -> bool {
    function.is_own() && OPEN.contains(&function.name)
}

/// Names, never an empty one where it counts: no column is called so.
pub fn of(function: Name<'_>) -> impl Iterator<Item = &'static str> + use<> {
    let columns = match function.name {
        _ if !function.is_own() => "",
        "aclexplode" => "grantee grantor is_grantable privilege_type",
        "json_array_elements" | "json_array_elements_text" | "jsonb_array_elements" | "jsonb_array_elements_text" => {
            "value"
        }
        "each" | "json_each" | "json_each_text" | "jsonb_each" | "jsonb_each_text" => "key value",
        "pg_cursor" => "creation_time is_binary is_holdable is_scrollable name statement",
        "pg_get_backend_memory_contexts" => {
            "free_bytes free_chunks ident level name parent total_bytes total_nblocks used_bytes"
        }
        "pg_get_catalog_foreign_keys" => "fkcols fktable is_array is_opt pkcols pktable",
        "pg_get_keywords" => "baredesc barelabel catcode catdesc word",
        "pg_get_multixact_members" => "mode xid",
        "pg_get_object_address" => "classid objid objsubid",
        "pg_get_publication_tables" => "attrs qual relid",
        "pg_get_replication_slots" => {
            "active active_pid catalog_xmin confirmed_flush_lsn datoid plugin restart_lsn safe_wal_size slot_name \
             slot_type temporary two_phase wal_status xmin"
        }
        "pg_get_shmem_allocations" => "allocated_size name off size",
        "pg_get_wal_resource_managers" => "rm_builtin rm_id rm_name",
        "pg_identify_object" => "identity name schema type",
        "pg_identify_object_as_address" => "object_args object_names type",
        "pg_last_committed_xact" => "roident timestamp xid",
        "pg_lock_status" => {
            "classid database fastpath granted locktype mode objid objsubid page pid relation transactionid tuple \
             virtualtransaction virtualxid waitstart"
        }
        "pg_mcv_list_items" => "base_frequency frequency index nulls values",
        "pg_options_to_table" => "option_name option_value",
        "pg_partition_ancestors" => "relid",
        "pg_partition_tree" => "isleaf level parentrelid relid",
        "pg_prepared_statement" => "custom_plans from_sql generic_plans name parameter_types prepare_time statement",
        "pg_prepared_xact" => "dbid gid ownerid prepared transaction",
        "pg_sequence_parameters" => {
            "cache_size cycle_option data_type increment maximum_value minimum_value start_value"
        }
        "pg_show_replication_origin_status" => "external_id local_id local_lsn remote_lsn",
        "pg_stat_get_activity" => {
            "application_name backend_start backend_type backend_xid backend_xmin client_addr client_hostname \
             client_port datid gss_auth gss_enc gss_princ leader_pid pid query query_id query_start ssl \
             ssl_client_dn ssl_client_serial ssl_issuer_dn sslbits sslcipher sslversion state state_change \
             usesysid wait_event wait_event_type xact_start"
        }
        "pg_stat_get_archiver" => {
            "archived_count failed_count last_archived_time last_archived_wal last_failed_time last_failed_wal \
             stats_reset"
        }
        "pg_stat_get_progress_info" => {
            "datid param1 param10 param11 param12 param13 param14 param15 param16 param17 param18 param19 param2 \
             param20 param3 param4 param5 param6 param7 param8 param9 pid relid"
        }
        "pg_stat_get_recovery_prefetch" => {
            "block_distance hit io_depth prefetch skip_fpw skip_init skip_new skip_rep stats_reset wal_distance"
        }
        "pg_stat_get_replication_slot" => {
            "slot_name spill_bytes spill_count spill_txns stats_reset stream_bytes stream_count stream_txns \
             total_bytes total_txns"
        }
        "pg_stat_get_slru" => {
            "blks_exists blks_hit blks_read blks_written blks_zeroed flushes name stats_reset truncates"
        }
        "pg_stat_get_subscription" => {
            "last_msg_receipt_time last_msg_send_time latest_end_lsn latest_end_time pid received_lsn relid subid"
        }
        "pg_stat_get_subscription_stats" => "apply_error_count stats_reset subid sync_error_count",
        "pg_stat_get_wal" => {
            "stats_reset wal_buffers_full wal_bytes wal_fpi wal_records wal_sync wal_sync_time wal_write \
             wal_write_time"
        }
        "pg_stat_get_wal_receiver" => {
            "conninfo flushed_lsn last_msg_receipt_time last_msg_send_time latest_end_lsn latest_end_time pid \
             receive_start_lsn receive_start_tli received_tli sender_host sender_port slot_name status \
             written_lsn"
        }
        "pg_stat_get_wal_senders" => {
            "flush_lag flush_lsn pid replay_lag replay_lsn reply_time sent_lsn state sync_priority sync_state \
             write_lag write_lsn"
        }
        "pg_timezone_abbrevs" => "abbrev is_dst utc_offset",
        "pg_timezone_names" => "abbrev is_dst name utc_offset",
        "pg_walfile_name_offset" => "file_name file_offset",
        "pg_xact_commit_timestamp_origin" => "roident timestamp",
        "ts_debug" => "alias description dictionaries dictionary lexemes token",
        "ts_parse" => "token tokid",
        "ts_token_type" => "alias description tokid",
        "unnest" => "lexeme positions weights",
        _ => "",
    };
    columns.split(' ')
}
