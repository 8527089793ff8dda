-- Agents, their keys (hash and prefix only) and the rules they live under.
-- `agent_id` and `policy_id` are unique inside an organization: globally, one tenant could probe another's names.

CREATE TABLE agent_registry (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id UUID NOT NULL REFERENCES organizations (id),
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    autonomy_level TEXT NOT NULL CHECK (autonomy_level IN ('A1', 'A2', 'A3', 'A4', 'A5')),
    allowed_types TEXT[] DEFAULT '{}' CHECK (allowed_types <@ ARRAY['D1', 'D2', 'D3', 'D4']),
    max_risk TEXT DEFAULT 'R2' CHECK (max_risk IN ('R1', 'R2', 'R3', 'R4')),
    owner_name TEXT,
    owner_email TEXT,
    status TEXT DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'revoked')),
    metadata JSONB DEFAULT '{}',
    created_at TIMESTAMPTZ DEFAULT now(),
    updated_at TIMESTAMPTZ DEFAULT now(),
    UNIQUE (organization_id, agent_id)
);

CREATE TABLE agent_api_keys (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    agent_registry_id UUID REFERENCES agent_registry (id) ON DELETE CASCADE,
    key_hash TEXT NOT NULL,
    key_prefix TEXT NOT NULL,
    last_used_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ DEFAULT now()
);

CREATE UNIQUE INDEX agent_api_keys_by_hash ON agent_api_keys (key_hash);
CREATE INDEX agent_api_keys_by_agent ON agent_api_keys (agent_registry_id);

CREATE TABLE agent_policies (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id UUID REFERENCES organizations (id),
    policy_id TEXT NOT NULL,
    name TEXT NOT NULL,
    category TEXT,
    severity TEXT CHECK (severity IN ('low', 'medium', 'high', 'critical')),
    rule JSONB NOT NULL,
    regulatory_mapping TEXT[] DEFAULT '{}',
    active BOOLEAN DEFAULT true,
    created_at TIMESTAMPTZ DEFAULT now(),
    updated_at TIMESTAMPTZ DEFAULT now()
);

-- A policy of no organization is everybody's; its name is unique too.
CREATE UNIQUE INDEX agent_policies_by_name
    ON agent_policies (COALESCE(organization_id, '00000000-0000-0000-0000-000000000000'), policy_id);
