//! The stories, one file each. A new story is a new line here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story that cannot go on should stop where it is"
)]

mod access;
mod adp;
mod adp_resources;
mod aggregate;
mod any_node;
mod approval_rounds;
mod approvals;
mod architecture;
mod bridge_legs;
mod bypasses;
mod cancelling;
mod client_suite;
mod confirmations;
mod conformance;
mod crash;
mod decisions;
mod definitions;
mod demo_agent;
mod discovery;
mod dlp;
mod dlp_config;
mod dlp_records;
mod dlp_streams;
mod doors;
mod edge;
mod explain;
mod first_sdk;
mod gate;
mod gate_evidence;
mod gate_logic;
mod gate_races;
mod gate_runpacks;
mod gate_specs;
mod gate_traffic;
mod guards;
mod identity;
mod injection;
mod keys;
mod kill;
mod ledger_away;
mod legacy_over_modern;
mod lifecycle;
mod lists;
mod manifests;
mod misbehaving;
mod modern_over_legacy;
mod policies;
mod promotion;
mod protocol;
mod prove;
mod real_clients;
mod real_eras;
mod real_manifests;
mod real_schemas;
mod real_upstreams;
mod reload;
mod replay;
mod resource_server;
mod revocation;
mod rounds;
mod schema;
mod sql_guard;
mod sql_tables;
mod stdio_command;
mod streams;
mod supabase_tools;
mod tasks;
mod telemetry;
mod tenants;
mod tls;
mod tool_agents;
mod tool_agents_api;
mod tool_agents_cli;
mod tool_agents_load;
mod tool_agents_payload;
mod tool_agents_real;
mod transports;
mod two_nodes;
mod unchanged;
mod upstreams;
