-- Tool agents, the runs of them, and what those made.

CREATE TABLE agents (
    id TEXT PRIMARY KEY NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    organization_slug TEXT NOT NULL,
    slug TEXT NOT NULL,
    display_name TEXT NOT NULL,
    agent_type TEXT NOT NULL,
    mode_profile TEXT NOT NULL,
    status TEXT NOT NULL,
    yaml TEXT NOT NULL,
    description TEXT,
    context TEXT CHECK (context IS NULL OR json_valid(context)),
    plan_structure TEXT CHECK (plan_structure IS NULL OR json_valid(plan_structure)),
    deliverable_structure TEXT CHECK (deliverable_structure IS NULL OR json_valid(deliverable_structure)),
    io_schema TEXT CHECK (io_schema IS NULL OR json_valid(io_schema)),
    config TEXT CHECK (config IS NULL OR json_valid(config)),
    version TEXT,
    -- Who a run acts as where nobody with a key of its own started it.
    agent_registry_id TEXT REFERENCES agent_registry (id) ON DELETE SET NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (tenant_id, slug)
) STRICT;

CREATE TABLE agent_tasks (
    id TEXT PRIMARY KEY NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    organization_slug TEXT NOT NULL,
    agent_slug TEXT NOT NULL,
    acts_as TEXT NOT NULL,
    started_by TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    conversation_id TEXT,
    error TEXT,
    deliverable_id TEXT,
    deliverable_version INTEGER,
    steps TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(steps)),
    started_at TEXT NOT NULL,
    deadline TEXT NOT NULL,
    finished_at TEXT
) STRICT;

CREATE INDEX agent_tasks_by_agent ON agent_tasks (tenant_id, agent_slug, started_at);
CREATE INDEX agent_tasks_by_start ON agent_tasks (tenant_id, started_at);

CREATE TABLE deliverables (
    id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    tenant_id TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    organization_slug TEXT NOT NULL,
    agent_slug TEXT NOT NULL,
    title TEXT NOT NULL,
    type TEXT NOT NULL,
    format TEXT NOT NULL CHECK (format IN ('json', 'markdown', 'text')),
    content TEXT NOT NULL,
    conversation_id TEXT,
    task_id TEXT NOT NULL,
    metadata TEXT NOT NULL CHECK (json_valid(metadata)),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (id, version)
) STRICT;

CREATE INDEX deliverables_by_agent ON deliverables (tenant_id, agent_slug, created_at);
CREATE INDEX deliverables_by_time ON deliverables (tenant_id, created_at);
