-- The chains. `seq` is dense per chain and is the only order there is; `created_at` is the hashed time, to the millisecond.
-- `chain_heads` holds the end of every chain and moves in the same transaction as its traces.
-- `id` is the identity inside `trace_id`, so one index serves both: here every index is a page more in each commit.

CREATE TABLE agent_traces (
    id TEXT NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    organization_id TEXT REFERENCES organizations (id),
    trace_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    event_type TEXT NOT NULL CHECK (event_type IN ('decision', 'approval', 'escalation')),
    decision_type TEXT CHECK (decision_type IN ('D1', 'D2', 'D3', 'D4')),
    risk_level TEXT CHECK (risk_level IN ('R1', 'R2', 'R3', 'R4')),
    reversibility TEXT CHECK (reversibility IN ('total', 'partial', 'irreversible')),
    classification_code TEXT,
    description TEXT,
    reasoning TEXT,
    "authorization" TEXT CHECK ("authorization" IS NULL OR json_valid("authorization")),
    context TEXT DEFAULT '{}' CHECK (context IS NULL OR json_valid(context)),
    previous_hash TEXT,
    event_hash TEXT NOT NULL,
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    seq INTEGER NOT NULL
) STRICT;

-- What callers without an identity did has no organization, and is a chain like any other.
CREATE UNIQUE INDEX agent_traces_chain ON agent_traces (COALESCE(organization_id, ''), agent_id, seq);

CREATE TABLE chain_heads (
    organization_key TEXT NOT NULL, -- the organization's id, or nothing
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event_hash TEXT,
    PRIMARY KEY (organization_key, agent_id)
) STRICT, WITHOUT ROWID;
