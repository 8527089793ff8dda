//! The tables are the seeds' tables, to the column.

use crate::people::agent;
use crate::stage::Stage;

const COLUMNS: &[(&str, &str)] = &[
    (
        "agent_registry",
        "id organization_id agent_id name description autonomy_level allowed_types max_risk owner_name owner_email status metadata created_at updated_at",
    ),
    ("agent_api_keys", "id agent_registry_id key_hash key_prefix last_used_at revoked_at created_at"),
    (
        "agent_traces",
        "id organization_id trace_id agent_id event_type decision_type risk_level reversibility classification_code description reasoning authorization context previous_hash event_hash created_at seq",
    ),
    (
        "agent_policies",
        "id organization_id policy_id name category severity rule regulatory_mapping active created_at updated_at",
    ),
    ("tenants", "id name config created_at"),
    ("tool_registry", "id tenant_id name version is_recommended schema metadata risk_level is_active created_at"),
    ("resource_usage", "id tenant_id month_year invocation_count total_execution_time_ms hard_quota"),
    (
        "audit_logs",
        "id tenant_id agent_id tool_id input_payload output_payload risk_classification execution_time_ms status_code timestamp trace_id",
    ),
    ("api_keys", "id tenant_id name key_hash scopes is_active created_at last_used_at"),
    ("access_policies", "id tenant_id name rule_type rule_definition created_at"),
    ("dlp_config", "id tenant_id name patterns severity is_active created_at"),
    ("tool_sessions", "id tenant_id agent_id status context_data started_at finished_at"),
    ("spent_tokens", "id expires_at"),
    ("live_revisions", "name revision"),
    ("policy_modes", "kind policy mode changed_by changed_at"),
    ("tool_manifests", "tenant_id tool manifest handling metadata written_by written_at"),
    ("tool_pins", "tool hash state definition findings seen_from by at"),
    (
        "approvals",
        "id tenant_id kind agent_id tool binding args_hash manifest_hash policies_hash classification risk_level four_eyes reasons policy_ids shown owner status trace_id asked_at deadline decided_at decided_by note use_by used_at used_trace decision_trace notify_after notified_at",
    ),
    ("suspensions", "id tenant_id kind subject reason by since lifted_at lifted_by"),
    ("proofs", "id tenant_id scope digests holds document trace_id at"),
    ("scenarios", "tenant_id scenario_id spec_hash spec source defined_by defined_at"),
    ("runs", "tenant_id run_id scenario_id spec_hash version status stage_id head started_by started_at changed_at"),
    ("run_events", "tenant_id run_id log seq key version entry"),
    ("runpack_dirs", "directory tenant_id at"),
    (
        "agents",
        "id tenant_id organization_slug slug display_name agent_type mode_profile status yaml description context plan_structure deliverable_structure io_schema config version agent_registry_id created_at updated_at",
    ),
    (
        "agent_tasks",
        "id tenant_id organization_slug agent_slug acts_as started_by mode status conversation_id error deliverable_id deliverable_version steps started_at deadline finished_at",
    ),
    (
        "deliverables",
        "id version tenant_id organization_slug agent_slug title type format content conversation_id task_id metadata created_at",
    ),
];

/// Name, type, whether it must be given, and what it is otherwise: the seeds' words for every column of theirs.
const SEED_COLUMNS: &[(&str, &str)] = &[
    (
        "agent_registry",
        "id uuid required gen_random_uuid()
         organization_id uuid required -
         agent_id text required -
         name text required -
         description text optional -
         autonomy_level text required -
         allowed_types ARRAY optional '{}'
         max_risk text optional 'R2'
         owner_name text optional -
         owner_email text optional -
         status text optional 'active'
         metadata jsonb optional '{}'
         created_at timestamp_with_time_zone optional now()
         updated_at timestamp_with_time_zone optional now()",
    ),
    (
        "agent_api_keys",
        "id uuid required gen_random_uuid()
         agent_registry_id uuid optional -
         key_hash text required -
         key_prefix text required -
         last_used_at timestamp_with_time_zone optional -
         revoked_at timestamp_with_time_zone optional -
         created_at timestamp_with_time_zone optional now()",
    ),
    (
        "agent_traces",
        "id uuid required gen_random_uuid()
         organization_id uuid optional -
         trace_id text required -
         agent_id text required -
         event_type text required -
         decision_type text optional -
         risk_level text optional -
         reversibility text optional -
         classification_code text optional -
         description text optional -
         reasoning text optional -
         authorization jsonb optional -
         context jsonb optional '{}'
         previous_hash text optional -
         event_hash text required -
         created_at timestamp_with_time_zone optional now()
         seq bigint required -",
    ),
    (
        "agent_policies",
        "id uuid required gen_random_uuid()
         organization_id uuid optional -
         policy_id text required -
         name text required -
         category text optional -
         severity text optional -
         rule jsonb required -
         regulatory_mapping ARRAY optional '{}'
         active boolean optional true
         created_at timestamp_with_time_zone optional now()
         updated_at timestamp_with_time_zone optional now()",
    ),
    (
        "tenants",
        "id uuid required gen_random_uuid()
         name character_varying required -
         config jsonb optional -
         created_at timestamp_with_time_zone optional now()",
    ),
    (
        "tool_registry",
        "id uuid required gen_random_uuid()
         tenant_id uuid optional -
         name character_varying required -
         version character_varying required -
         is_recommended boolean optional false
         schema jsonb required -
         metadata jsonb optional -
         risk_level character_varying optional 'unclassified'
         is_active boolean optional true
         created_at timestamp_with_time_zone optional now()",
    ),
    (
        "resource_usage",
        "tenant_id uuid optional -
         month_year character_varying optional -
         invocation_count bigint optional 0
         total_execution_time_ms bigint optional 0
         hard_quota bigint optional -",
    ),
    (
        "audit_logs",
        "tenant_id uuid optional -
         agent_id character_varying optional -
         tool_id uuid optional -
         input_payload jsonb optional -
         output_payload jsonb optional -
         risk_classification jsonb optional -
         execution_time_ms integer optional -
         status_code character_varying optional -
         timestamp timestamp_with_time_zone optional now()",
    ),
    (
        "api_keys",
        "id uuid required gen_random_uuid()
         tenant_id uuid optional -
         name character_varying required -
         key_hash character_varying required -
         scopes jsonb optional -
         is_active boolean optional true
         created_at timestamp_with_time_zone optional now()
         last_used_at timestamp_with_time_zone optional -",
    ),
    (
        "access_policies",
        "id uuid required gen_random_uuid()
         tenant_id uuid optional -
         name character_varying required -
         rule_type character_varying required -
         rule_definition jsonb required -
         created_at timestamp_with_time_zone optional now()",
    ),
    (
        "dlp_config",
        "id uuid required gen_random_uuid()
         tenant_id uuid optional -
         name character_varying required -
         patterns jsonb required -
         severity character_varying optional 'medium'
         is_active boolean optional true
         created_at timestamp_with_time_zone optional now()",
    ),
    (
        "tool_sessions",
        "id uuid required gen_random_uuid()
         tenant_id uuid optional -
         agent_id character_varying required -
         status character_varying required -
         context_data jsonb optional -
         started_at timestamp_with_time_zone optional now()
         finished_at timestamp_with_time_zone optional -",
    ),
];

// acceptance 1, acceptance 2, acceptance 3, acceptance 4, acceptance 38: the columns, and on Postgres what each is.
pub async fn every_table_has_its_columns(stage: &Stage) {
    for (table, columns) in COLUMNS {
        assert_eq!(stage.columns(table).await, columns.split(' ').collect::<Vec<_>>(), "{table}");
    }
    if !stage.is_postgres() {
        return;
    }
    for (table, columns) in SEED_COLUMNS {
        for column in columns.lines().map(str::trim) {
            let words: Vec<&str> = column.splitn(4, ' ').collect();
            let [name, kind, presence, default] = words[..] else { panic!("{table}: {column}") };
            let sql = format!(
                "SELECT replace(data_type, ' ', '_') || ' ' || CASE is_nullable WHEN 'NO' THEN 'required' ELSE 'optional' END \
                 || ' ' || COALESCE(split_part(column_default, '::', 1), '-') \
                 FROM information_schema.columns WHERE table_name = '{table}' AND column_name = '{name}'"
            );
            assert_eq!(stage.text(sql).await, Some(format!("{kind} {presence} {default}")), "{table}.{name}");
        }
    }
}

async fn tenant(stage: &Stage) -> String {
    stage.store.tenants().add_tenant("acme").await.unwrap().id.to_string()
}

// acceptance 1, acceptance 4, acceptance 38: what a row is when only the required fields are given.
pub async fn defaults_are_the_seeds(stage: &Stage) {
    let tenant = tenant(stage).await;
    let inserts = [
        format!(
            "INSERT INTO agent_registry (organization_id, agent_id, name, autonomy_level) VALUES ('{tenant}', 'a', 'A', 'A1')"
        ),
        format!(
            "INSERT INTO agent_policies (organization_id, policy_id, name, rule) VALUES ('{tenant}', 'p', 'P', '{{}}')"
        ),
        format!("INSERT INTO tool_registry (tenant_id, name, version, schema) VALUES ('{tenant}', 't', '1', '{{}}')"),
        format!("INSERT INTO resource_usage (tenant_id, month_year) VALUES ('{tenant}', '2026-02')"),
        format!("INSERT INTO api_keys (tenant_id, name, key_hash) VALUES ('{tenant}', 'k', 'h')"),
        format!("INSERT INTO dlp_config (tenant_id, name, patterns) VALUES ('{tenant}', 'd', '[]')"),
        format!("INSERT INTO tool_sessions (tenant_id, agent_id, status) VALUES ('{tenant}', 'a', 'running')"),
        format!(
            "INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) VALUES ('{tenant}', 'r', 'RBAC', '{{}}')"
        ),
    ];
    for insert in inserts {
        stage.execute(insert.clone()).await.unwrap_or_else(|error| panic!("{insert}: {error}"));
    }
    let (yes, no, list) = if stage.is_postgres() { ("true", "false", "{}") } else { ("1", "0", "[]") };
    for (column, table, expected) in [
        ("max_risk", "agent_registry", "R2"),
        ("status", "agent_registry", "active"),
        ("allowed_types", "agent_registry", list),
        ("metadata", "agent_registry", "{}"),
        ("active", "agent_policies", yes),
        ("regulatory_mapping", "agent_policies", list),
        ("is_recommended", "tool_registry", no),
        ("risk_level", "tool_registry", "unclassified"),
        ("is_active", "tool_registry", yes),
        ("invocation_count", "resource_usage", "0"),
        ("total_execution_time_ms", "resource_usage", "0"),
        ("is_active", "api_keys", yes),
        ("severity", "dlp_config", "medium"),
    ] {
        let found = stage.text(format!("SELECT CAST({column} AS TEXT) FROM {table}")).await;
        assert_eq!(found.as_deref(), Some(expected), "{table}.{column}");
    }
    for table in ["agent_registry", "agent_policies", "tool_registry", "api_keys", "tool_sessions", "access_policies"] {
        let id = stage.text(format!("SELECT CAST(id AS TEXT) FROM {table}")).await.unwrap();
        assert!(uuid::Uuid::try_parse(&id).is_ok(), "{table}: {id}");
    }
    for table in ["tenants", "organizations", "agent_registry", "tool_registry"] {
        assert!(stage.text(format!("SELECT CAST(created_at AS TEXT) FROM {table}")).await.is_some(), "{table}");
    }
}

// acceptance 55: a registry entry needs a name, a version and a schema; whatever else it says, it has an id, and without a risk it
// is `unclassified`.
pub async fn a_registry_entry_needs_a_name_and_a_schema(stage: &Stage) {
    let tenant = tenant(stage).await;
    for (columns, values, good) in [
        ("name, version, schema", "'crm/find', '1', '{}'", true),
        ("version, schema", "'2', '{}'", false),
        ("name, schema", "'crm/find', '{}'", false),
        ("name, version", "'crm/find', '3'", false),
        ("name, version, schema", "NULL, '4', '{}'", false),
        ("name, version, schema", "'crm/find', NULL, '{}'", false),
        ("name, version, schema", "'crm/find', '5', NULL", false),
        ("name, version, schema", "'crm/find', '6', 'no json'", false),
        ("id, name, version, schema", "NULL, 'crm/find', '7', '{}'", false),
        ("name, version, schema, risk_level", "'crm/find', '8', '{}', 'LOW_WRITE'", true),
    ] {
        let insert = format!("INSERT INTO tool_registry (tenant_id, {columns}) VALUES ('{tenant}', {values})");
        assert_eq!(stage.execute(insert.clone()).await.is_ok(), good, "{insert}");
    }
    let levels = stage.texts("SELECT risk_level FROM tool_registry ORDER BY version").await;
    assert_eq!(levels, [Some("unclassified".to_owned()), Some("LOW_WRITE".to_owned())]);
    assert_eq!(stage.count("tool_registry WHERE id IS NULL").await, 0);
}

// acceptance 1, acceptance 3, acceptance 4: autonomy A6, max_risk R5, status x, and the enums of traces and policies.
pub async fn what_the_checks_forbid_is_refused(stage: &Stage) {
    let tenant = tenant(stage).await;
    let agent = |column: &str, value: &str| {
        format!(
            "INSERT INTO agent_registry (organization_id, agent_id, name, autonomy_level, {column}) VALUES ('{tenant}', 'a', 'A', 'A1', '{value}')"
        )
    };
    let trace = |column: &str, value: &str| {
        format!(
            "INSERT INTO agent_traces (trace_id, agent_id, event_type, event_hash, seq, {column}) VALUES ('t', 'a', 'decision', 'h', 1, '{value}')"
        )
    };
    let bad = [
        agent("max_risk", "R5"),
        agent("status", "x"),
        format!("INSERT INTO agent_registry (organization_id, agent_id, name, autonomy_level) VALUES ('{tenant}', 'a', 'A', 'A6')"),
        "INSERT INTO agent_registry (organization_id, agent_id, name, autonomy_level) VALUES ('00000000-0000-0000-0000-000000000001', 'a', 'A', 'A1')".into(),
        "INSERT INTO agent_registry (agent_id, name, autonomy_level) VALUES ('a', 'A', 'A1')".into(),
        format!("INSERT INTO agent_registry (organization_id, name, autonomy_level) VALUES ('{tenant}', 'A', 'A1')"),
        trace("decision_type", "D5"),
        trace("risk_level", "R0"),
        trace("reversibility", "never"),
        "INSERT INTO agent_traces (trace_id, agent_id, event_type, event_hash, seq) VALUES ('t', 'a', 'note', 'h', 1)".into(),
        "INSERT INTO agent_traces (trace_id, agent_id, event_type, seq) VALUES ('t', 'a', 'decision', 1)".into(),
        format!("INSERT INTO agent_policies (organization_id, policy_id, name, rule, severity) VALUES ('{tenant}', 'p', 'P', '{{}}', 'huge')"),
        format!("INSERT INTO agent_policies (organization_id, policy_id, name, rule) VALUES ('{tenant}', 'p', 'P', 'no json')"),
        format!("INSERT INTO tool_sessions (tenant_id, agent_id, status) VALUES ('{tenant}', 'a', 'asleep')"),
        format!("INSERT INTO access_policies (tenant_id, name, rule_type, rule_definition) VALUES ('{tenant}', 'r', 'MAC', '{{}}')"),
        format!("INSERT INTO tenants (name) VALUES ('{}')", "x".repeat(256)),
    ];
    for insert in bad {
        assert!(stage.execute(insert.clone()).await.is_err(), "{insert}");
    }
    stage.execute(agent("max_risk", "R4")).await.unwrap();
    stage.execute(trace("risk_level", "R4")).await.unwrap();
}

// acceptance 3, acceptance 38: unique trace ids, tool versions, months; a chain has each place once, also nobody's chain.
pub async fn unique_keys_hold(stage: &Stage) {
    let tenant = tenant(stage).await;
    let trace = |id: &str, organization: &str, seq: u32| {
        format!(
            "INSERT INTO agent_traces (trace_id, organization_id, agent_id, event_type, event_hash, seq) VALUES ('{id}', {organization}, 'a', 'decision', 'h', {seq})"
        )
    };
    let own = format!("'{tenant}'");
    for (sql, good) in [
        (
            format!(
                "INSERT INTO tool_registry (tenant_id, name, version, schema) VALUES ('{tenant}', 't', '1', '{{}}')"
            ),
            true,
        ),
        (
            format!(
                "INSERT INTO tool_registry (tenant_id, name, version, schema) VALUES ('{tenant}', 't', '2', '{{}}')"
            ),
            true,
        ),
        (
            format!(
                "INSERT INTO tool_registry (tenant_id, name, version, schema) VALUES ('{tenant}', 't', '1', '{{}}')"
            ),
            false,
        ),
        (format!("INSERT INTO resource_usage (tenant_id, month_year) VALUES ('{tenant}', '2026-02')"), true),
        (format!("INSERT INTO resource_usage (tenant_id, month_year) VALUES ('{tenant}', '2026-02')"), false),
        (trace("t1", "NULL", 1), true),
        (trace("t1", "NULL", 2), false),
        (trace("t2", "NULL", 1), false),
        (trace("t3", &own, 1), true),
        (trace("t4", &own, 1), false),
        (
            format!(
                "INSERT INTO agent_policies (organization_id, policy_id, name, rule) VALUES ({own}, 'p', 'P', '{{}}')"
            ),
            true,
        ),
        (
            format!(
                "INSERT INTO agent_policies (organization_id, policy_id, name, rule) VALUES ({own}, 'p', 'P', '{{}}')"
            ),
            false,
        ),
        ("INSERT INTO agent_policies (policy_id, name, rule) VALUES ('p', 'P', '{}')".into(), true),
        ("INSERT INTO agent_policies (policy_id, name, rule) VALUES ('p', 'P', '{}')".into(), false),
    ] {
        assert_eq!(stage.execute(sql.clone()).await.is_ok(), good, "{sql}");
    }
}

// acceptance 2
pub async fn an_agents_keys_go_with_it(stage: &Stage) {
    let (record, _) = agent(stage, "acme", "a-1", 1).await;
    stage.store.tenants().add_key(record.tenant, &record.agent.agent_id, "another", "adp_sk_a").await.unwrap();
    assert_eq!(stage.count("agent_api_keys").await, 2);
    stage.execute(format!("DELETE FROM agent_registry WHERE id = '{}'", record.id)).await.unwrap();
    assert_eq!(stage.count("agent_api_keys").await, 0);
}

pub async fn tenants_are_organizations(stage: &Stage) {
    let id = tenant(stage).await;
    assert_eq!(stage.text("SELECT CAST(id AS TEXT) FROM organizations").await, Some(id));
    stage.execute("INSERT INTO tenants (name) VALUES ('by hand')").await.unwrap();
    assert_eq!(stage.count("tenants JOIN organizations ON organizations.id = tenants.id").await, 2);
}
