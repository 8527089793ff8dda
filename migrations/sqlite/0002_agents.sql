-- Agents, their keys (hash and prefix only) and the rules they live under.
-- `agent_id` and `policy_id` are unique inside an organization: globally, one tenant could probe another's names.
-- Lists and objects are JSON texts, times are RFC 3339 in UTC with milliseconds, truth is 0 or 1.

CREATE TABLE agent_registry (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    autonomy_level TEXT NOT NULL CHECK (autonomy_level IN ('A1', 'A2', 'A3', 'A4', 'A5')),
    allowed_types TEXT DEFAULT '[]' CHECK (allowed_types IS NULL OR json_type(allowed_types) = 'array'),
    max_risk TEXT DEFAULT 'R2' CHECK (max_risk IN ('R1', 'R2', 'R3', 'R4')),
    owner_name TEXT,
    owner_email TEXT,
    status TEXT DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
    metadata TEXT DEFAULT '{}' CHECK (metadata IS NULL OR json_valid(metadata)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (organization_id, agent_id)
) STRICT;

CREATE TABLE agent_api_keys (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    agent_registry_id TEXT REFERENCES agent_registry (id) ON DELETE CASCADE,
    key_hash TEXT NOT NULL,
    key_prefix TEXT NOT NULL,
    last_used_at TEXT,
    revoked_at TEXT,
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE UNIQUE INDEX agent_api_keys_by_hash ON agent_api_keys (key_hash);
CREATE INDEX agent_api_keys_by_agent ON agent_api_keys (agent_registry_id);

CREATE TABLE agent_policies (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    organization_id TEXT REFERENCES organizations (id),
    policy_id TEXT NOT NULL,
    name TEXT NOT NULL,
    category TEXT,
    severity TEXT CHECK (severity IN ('low', 'medium', 'high', 'critical')),
    rule TEXT NOT NULL CHECK (json_valid(rule)),
    regulatory_mapping TEXT DEFAULT '[]' CHECK (regulatory_mapping IS NULL OR json_type(regulatory_mapping) = 'array'),
    active INTEGER DEFAULT 1 CHECK (active IN (0, 1)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- A policy of no organization is everybody's; its name is unique too.
CREATE UNIQUE INDEX agent_policies_by_name ON agent_policies (COALESCE(organization_id, ''), policy_id);
