-- Tool agents, the runs of them, and what those made.

CREATE TABLE agents (
    id UUID PRIMARY KEY,
    tenant_id UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    organization_slug TEXT NOT NULL,
    slug TEXT NOT NULL,
    display_name TEXT NOT NULL,
    agent_type TEXT NOT NULL,
    mode_profile TEXT NOT NULL,
    status TEXT NOT NULL,
    yaml TEXT NOT NULL,
    description TEXT,
    context JSONB,
    plan_structure JSONB,
    deliverable_structure JSONB,
    io_schema JSONB,
    config JSONB,
    version TEXT,
    -- Who a run acts as where nobody with a key of its own started it.
    agent_registry_id UUID REFERENCES agent_registry (id) ON DELETE SET NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, slug)
);

CREATE TABLE agent_tasks (
    id UUID PRIMARY KEY,
    tenant_id UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    organization_slug TEXT NOT NULL,
    agent_slug TEXT NOT NULL,
    acts_as TEXT NOT NULL,
    started_by TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    conversation_id TEXT,
    error TEXT,
    deliverable_id UUID,
    deliverable_version INTEGER,
    steps JSONB NOT NULL DEFAULT '[]',
    started_at TIMESTAMPTZ NOT NULL,
    deadline TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ
);

CREATE INDEX agent_tasks_by_agent ON agent_tasks (tenant_id, agent_slug, started_at);
CREATE INDEX agent_tasks_by_start ON agent_tasks (tenant_id, started_at);

CREATE TABLE deliverables (
    id UUID NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    tenant_id UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    organization_slug TEXT NOT NULL,
    agent_slug TEXT NOT NULL,
    title TEXT NOT NULL,
    type TEXT NOT NULL,
    format TEXT NOT NULL CHECK (format IN ('json', 'markdown', 'text')),
    content TEXT NOT NULL,
    conversation_id TEXT,
    task_id UUID NOT NULL,
    metadata JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (id, version)
);

CREATE INDEX deliverables_by_agent ON deliverables (tenant_id, agent_slug, created_at);
CREATE INDEX deliverables_by_time ON deliverables (tenant_id, created_at);

ALTER TABLE agents ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON agents USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());
ALTER TABLE agent_tasks ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON agent_tasks
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());
ALTER TABLE deliverables ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON deliverables
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

SELECT portreeve_share('agents', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('agent_tasks', 'SELECT, INSERT, UPDATE');
-- A version is never changed.
SELECT portreeve_share('deliverables', 'SELECT, INSERT');
