-- Tools as they were seen, what calls became of them, and what a tenant configures.

CREATE TABLE tool_registry (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    tenant_id TEXT REFERENCES tenants (id),
    name TEXT NOT NULL CHECK (length(name) <= 255),
    version TEXT NOT NULL CHECK (length(version) <= 50),
    is_recommended INTEGER DEFAULT 0 CHECK (is_recommended IN (0, 1)),
    schema TEXT NOT NULL CHECK (json_valid(schema)),
    metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    risk_level TEXT DEFAULT 'unclassified' CHECK (length(risk_level) <= 20),
    is_active INTEGER DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (tenant_id, name, version)
) STRICT;

CREATE TABLE resource_usage (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT REFERENCES tenants (id),
    month_year TEXT CHECK (length(month_year) <= 7),
    invocation_count INTEGER DEFAULT 0,
    total_execution_time_ms INTEGER DEFAULT 0,
    hard_quota INTEGER,
    UNIQUE (tenant_id, month_year)
) STRICT;

-- One row per call; `trace_id` leads to its proof, and being unique makes a replay harmless.
CREATE TABLE audit_logs (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT REFERENCES tenants (id),
    agent_id TEXT CHECK (length(agent_id) <= 255),
    tool_id TEXT REFERENCES tool_registry (id),
    input_payload TEXT CHECK (input_payload IS NULL OR json_valid(input_payload)),
    output_payload TEXT CHECK (output_payload IS NULL OR json_valid(output_payload)),
    risk_classification TEXT CHECK (risk_classification IS NULL OR json_valid(risk_classification)),
    execution_time_ms INTEGER,
    status_code TEXT CHECK (length(status_code) <= 50),
    timestamp TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    trace_id TEXT UNIQUE
) STRICT;

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    tenant_id TEXT REFERENCES tenants (id),
    name TEXT NOT NULL CHECK (length(name) <= 255),
    key_hash TEXT NOT NULL CHECK (length(key_hash) <= 255),
    scopes TEXT CHECK (scopes IS NULL OR json_valid(scopes)),
    is_active INTEGER DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    last_used_at TEXT
) STRICT;

CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);

CREATE TABLE access_policies (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    tenant_id TEXT REFERENCES tenants (id),
    name TEXT NOT NULL CHECK (length(name) <= 255),
    rule_type TEXT NOT NULL CHECK (rule_type IN ('RBAC', 'ABAC')),
    rule_definition TEXT NOT NULL CHECK (json_valid(rule_definition)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE dlp_config (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    tenant_id TEXT REFERENCES tenants (id),
    name TEXT NOT NULL CHECK (length(name) <= 255),
    patterns TEXT NOT NULL CHECK (json_valid(patterns)),
    severity TEXT DEFAULT 'medium' CHECK (length(severity) <= 20),
    is_active INTEGER DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE tool_sessions (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    tenant_id TEXT REFERENCES tenants (id),
    agent_id TEXT NOT NULL CHECK (length(agent_id) <= 255),
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    context_data TEXT CHECK (context_data IS NULL OR json_valid(context_data)),
    started_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    finished_at TEXT
) STRICT;
