-- Calls and promotions that wait for a human. `binding` is a digest of everything the answer is about; while a row of it is
-- open there is no other, so the same question asked again, on any node, finds the same row.

CREATE TABLE approvals (
    id UUID PRIMARY KEY,
    tenant_id UUID NOT NULL REFERENCES tenants (id),
    kind TEXT NOT NULL CHECK (kind IN ('call', 'promotion')),
    agent_id TEXT NOT NULL,
    tool TEXT,
    binding TEXT NOT NULL,
    args_hash TEXT,
    manifest_hash TEXT,
    policies_hash TEXT,
    classification TEXT,
    risk_level TEXT,
    four_eyes BOOLEAN NOT NULL,
    reasons JSONB NOT NULL DEFAULT '[]',
    policy_ids TEXT[] NOT NULL DEFAULT '{}',
    shown JSONB, -- redacted arguments, 16 KiB at most
    owner TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'used')),
    trace_id TEXT, -- of the escalation
    asked_at TIMESTAMPTZ NOT NULL,
    deadline TIMESTAMPTZ NOT NULL,
    decided_at TIMESTAMPTZ,
    decided_by TEXT,
    note TEXT,
    use_by TIMESTAMPTZ,
    used_at TIMESTAMPTZ,
    used_trace TEXT,
    decision_trace TEXT,
    notify_after TIMESTAMPTZ,
    notified_at TIMESTAMPTZ
);

CREATE UNIQUE INDEX approvals_open ON approvals (binding) WHERE status IN ('pending', 'approved');
CREATE INDEX approvals_by_binding ON approvals (binding, asked_at);
CREATE INDEX approvals_by_tenant ON approvals (tenant_id, status, deadline);
-- What every node looks for once a second.
CREATE INDEX approvals_waiting ON approvals (deadline) WHERE status = 'pending';
CREATE INDEX approvals_unused ON approvals (use_by) WHERE status = 'approved';
CREATE INDEX approvals_unrecorded ON approvals (decided_at) WHERE decision_trace IS NULL AND decided_at IS NOT NULL;

ALTER TABLE approvals ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON approvals
    USING (tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid);

SELECT portreeve_share('approvals', 'SELECT, INSERT, UPDATE');
