-- The chains. `seq` is dense per chain and is the only order there is; `created_at` is the hashed time, to the millisecond.
-- `chain_heads` holds the end of every chain and is what a node locks before it appends.

CREATE TABLE agent_traces (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    organization_id UUID REFERENCES organizations (id),
    trace_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    event_type TEXT NOT NULL CHECK (event_type IN ('decision', 'approval', 'escalation')),
    decision_type TEXT CHECK (decision_type IN ('D1', 'D2', 'D3', 'D4')),
    risk_level TEXT CHECK (risk_level IN ('R1', 'R2', 'R3', 'R4')),
    reversibility TEXT CHECK (reversibility IN ('total', 'partial', 'irreversible')),
    classification_code TEXT,
    description TEXT,
    reasoning TEXT,
    "authorization" JSONB,
    context JSONB DEFAULT '{}',
    previous_hash TEXT,
    event_hash TEXT NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now(),
    seq BIGINT NOT NULL
);

-- What callers without an identity did has no organization, and is a chain like any other.
CREATE UNIQUE INDEX agent_traces_chain
    ON agent_traces (COALESCE(organization_id, '00000000-0000-0000-0000-000000000000'), agent_id, seq);

CREATE TABLE chain_heads (
    organization_key TEXT NOT NULL, -- the organization's id, or nothing
    agent_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    event_hash TEXT,
    PRIMARY KEY (organization_key, agent_id)
);
