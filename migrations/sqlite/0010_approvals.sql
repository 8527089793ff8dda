-- Calls and promotions that wait for a human. `binding` is a digest of everything the answer is about; while a row of it is
-- open there is no other, so the same question asked again finds the same row.

CREATE TABLE approvals (
    id TEXT PRIMARY KEY NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    kind TEXT NOT NULL CHECK (kind IN ('call', 'promotion')),
    agent_id TEXT NOT NULL,
    tool TEXT,
    binding TEXT NOT NULL,
    args_hash TEXT,
    manifest_hash TEXT,
    policies_hash TEXT,
    classification TEXT,
    risk_level TEXT,
    four_eyes INTEGER NOT NULL CHECK (four_eyes IN (0, 1)),
    reasons TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(reasons)),
    policy_ids TEXT NOT NULL DEFAULT '[]' CHECK (json_type(policy_ids) = 'array'),
    shown TEXT CHECK (shown IS NULL OR json_valid(shown)), -- redacted arguments, 16 KiB at most
    owner TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'used')),
    trace_id TEXT, -- of the escalation
    asked_at TEXT NOT NULL,
    deadline TEXT NOT NULL,
    decided_at TEXT,
    decided_by TEXT,
    note TEXT,
    use_by TEXT,
    used_at TEXT,
    used_trace TEXT,
    decision_trace TEXT,
    notify_after TEXT,
    notified_at TEXT
) STRICT;

CREATE UNIQUE INDEX approvals_open ON approvals (binding) WHERE status IN ('pending', 'approved');
CREATE INDEX approvals_by_binding ON approvals (binding, asked_at);
CREATE INDEX approvals_by_tenant ON approvals (tenant_id, status, deadline);
-- What every node looks for once a second.
CREATE INDEX approvals_waiting ON approvals (deadline) WHERE status = 'pending';
CREATE INDEX approvals_unused ON approvals (use_by) WHERE status = 'approved';
CREATE INDEX approvals_unrecorded ON approvals (decided_at) WHERE decision_trace IS NULL AND decided_at IS NOT NULL;
