//! One contract, two engines: every function here runs against SQLite and against a real Postgres.
//!
//! Postgres comes from `PORTREEVE_TEST_POSTGRES`, the URL of somebody who may create databases; each test makes its own and
//! drops it. Without the variable the Postgres half fails rather than pretending.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod agents;
mod approvals;
mod directory;
mod fickle;
mod gate;
mod history;
mod isolation;
mod ledger;
mod live;
mod once;
mod people;
mod pins;
mod policies;
mod readers;
mod schema;
mod spool;
mod stage;
mod tampering;
mod tenants;

macro_rules! contract {
    ($($suite:ident: $($test:ident,)*;)*) => {
        mod sqlite {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    crate::$suite::$test(&crate::stage::Stage::sqlite().await).await;
                }
            )*)*
        }

        mod postgres {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    crate::$suite::$test(&crate::stage::Stage::postgres().await).await;
                }
            )*)*
        }
    };
}

/// What only Postgres can do.
macro_rules! row_security {
    ($($test:ident,)*) => {
        mod row_security {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    crate::isolation::$test(&crate::stage::Stage::postgres().await).await;
                }
            )*
        }
    };
}

row_security! {
    a_tenants_role_sees_its_rows_alone, a_member_login_is_bound_too, without_the_role_the_queries_hold,
    many_databases_may_be_made_at_once, a_mode_is_its_policys_tenants,
}

contract! {
    agents:
        a_tool_agent_is_kept_whole_and_replaced_by_slug, a_tool_agent_acts_as_a_small_agent_of_its_own,
        a_run_ends_once_with_what_it_made, versions_follow_each_other, tool_agents_are_a_tenants_own,
        vouched_for_agents_are_looked_up_like_others,;
    readers:
        rows_come_as_they_are, what_is_too_much_is_cut, nothing_is_written, every_type_can_be_shown,
        a_database_that_is_away_says_so,;
    approvals:
        the_same_question_has_one_row, a_yes_is_used_once_of_fifty_tries, one_decision_is_taken, a_no_stands_for_a_while,
        deadlines_are_swept_and_records_repaired, what_is_stopped_is_frozen, an_agent_may_wait_for_so_many,
        people_are_told_once, what_ended_long_ago_is_removed,;
    schema:
        every_table_has_its_columns, defaults_are_the_seeds, a_registry_entry_needs_a_name_and_a_schema, what_the_checks_forbid_is_refused,
        unique_keys_hold, an_agents_keys_go_with_it, tenants_are_organizations,;
    tenants:
        tenants_are_found_by_name_and_id, an_agent_and_its_key_are_one, refused_agents_leave_nothing,
        an_agents_autonomy_and_roles_can_be_changed, names_are_a_tenants_own, keys_are_listed_and_revoked, tools_are_remembered_once, secrets_are_shared,
        two_nodes_may_start_together,;
    directory:
        keys_open_until_they_are_revoked, tenant_keys_carry_scopes, nobody_may_be_somebody, many_callers_at_once_are_served,;
    gate:
        a_scenario_is_defined_once, a_files_scenario_may_change, a_tenant_has_so_many_scenarios, a_run_is_kept_whole,
        a_run_begins_once, fifty_steps_make_one_log, runs_are_a_tenants_own, calls_are_noted_whatever_the_status,
        what_was_written_stays, packs_have_one_owner,;
    history:
        calls_are_read_in_the_order_of_their_chain, an_agents_record_is_counted, the_newest_proof_is_kept_as_it_was_made,;
    isolation:
        another_tenants_rows_are_not_there, the_newest_traces_come_first,;
    ledger:
        what_is_read_is_what_was_hashed, the_known_vector_is_stored_as_known, chains_are_apart,
        a_replay_doubles_nothing, fifty_at_once_make_one_chain, two_nodes_never_fork_a_chain,
        rows_name_their_tool, one_bad_record_does_not_stop_the_others, payloads_no_database_holds_are_left_out,
        receipts_are_for_whoever_waits, a_refused_batch_leaves_nothing, others_have_their_turn,;
    live:
        the_revision_moves_with_what_nodes_keep, live_rows_are_read_whole, a_change_is_told,
        the_same_thing_is_stopped_once,;
    once:
        a_token_is_spent_once_of_fifty_tries, what_has_expired_is_forgotten,;
    pins:
        the_first_definition_is_accepted_once, what_is_accepted_replaces_the_rest_or_stays_beside_it,
        accepted_definitions_are_versions,;
    policies:
        agent_policies_are_a_tenants_own, access_policies_start_in_shadow, a_tenants_manifests_are_its_own,
        what_a_tenant_looks_for_is_its_own,;
    tampering:
        changing_a_nested_value_shows, changing_any_column_shows, deleting_the_third_of_five_shows_at_the_fourth,
        reordering_shows, a_cut_tail_and_a_false_head_show, an_empty_chain_is_whole_and_limits_are_kept,;
}
