-- Tools as they were seen, what calls became of them, and what a tenant configures.

CREATE TABLE tool_registry (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant_id UUID REFERENCES tenants (id),
    name VARCHAR(255) NOT NULL,
    version VARCHAR(50) NOT NULL,
    is_recommended BOOLEAN DEFAULT FALSE,
    schema JSONB NOT NULL,
    metadata JSONB,
    risk_level VARCHAR(20) DEFAULT 'unclassified',
    is_active BOOLEAN DEFAULT TRUE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
    UNIQUE (tenant_id, name, version)
);

CREATE TABLE resource_usage (
    id BIGSERIAL PRIMARY KEY,
    tenant_id UUID REFERENCES tenants (id),
    month_year VARCHAR(7),
    invocation_count BIGINT DEFAULT 0,
    total_execution_time_ms BIGINT DEFAULT 0,
    hard_quota BIGINT,
    UNIQUE (tenant_id, month_year)
);

-- One row per call; `trace_id` leads to its proof, and being unique makes a replay harmless.
CREATE TABLE audit_logs (
    id BIGSERIAL PRIMARY KEY,
    tenant_id UUID REFERENCES tenants (id),
    agent_id VARCHAR(255),
    tool_id UUID REFERENCES tool_registry (id),
    input_payload JSONB,
    output_payload JSONB,
    risk_classification JSONB,
    execution_time_ms INTEGER,
    status_code VARCHAR(50),
    timestamp TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
    trace_id TEXT UNIQUE
);

CREATE TABLE api_keys (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant_id UUID REFERENCES tenants (id),
    name VARCHAR(255) NOT NULL,
    key_hash VARCHAR(255) NOT NULL,
    scopes JSONB,
    is_active BOOLEAN DEFAULT TRUE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
    last_used_at TIMESTAMP WITH TIME ZONE
);

CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);

CREATE TABLE access_policies (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant_id UUID REFERENCES tenants (id),
    name VARCHAR(255) NOT NULL,
    rule_type VARCHAR(20) NOT NULL CHECK (rule_type IN ('RBAC', 'ABAC')),
    rule_definition JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW()
);

CREATE TABLE dlp_config (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant_id UUID REFERENCES tenants (id),
    name VARCHAR(255) NOT NULL,
    patterns JSONB NOT NULL,
    severity VARCHAR(20) DEFAULT 'medium',
    is_active BOOLEAN DEFAULT TRUE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW()
);

CREATE TABLE tool_sessions (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant_id UUID REFERENCES tenants (id),
    agent_id VARCHAR(255) NOT NULL,
    status VARCHAR(20) NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    context_data JSONB,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT NOW(),
    finished_at TIMESTAMP WITH TIME ZONE
);
