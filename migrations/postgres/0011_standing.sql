-- What is switched off, for one tenant or (no tenant) for all, and what was proved of the policies in force.

CREATE TABLE suspensions (
    id UUID PRIMARY KEY,
    tenant_id UUID REFERENCES tenants (id),
    kind TEXT NOT NULL CHECK (kind IN ('agent', 'tool', 'upstream', 'tenant')),
    subject TEXT NOT NULL,
    reason TEXT,
    "by" TEXT NOT NULL,
    since TIMESTAMPTZ NOT NULL DEFAULT now(),
    lifted_at TIMESTAMPTZ,
    lifted_by TEXT
);

CREATE UNIQUE INDEX suspensions_in_force
    ON suspensions (COALESCE(tenant_id, '00000000-0000-0000-0000-000000000000'), kind, subject) WHERE lifted_at IS NULL;

CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON suspensions
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();

CREATE TABLE proofs (
    id UUID PRIMARY KEY,
    tenant_id UUID REFERENCES tenants (id),
    scope JSONB NOT NULL,
    digests JSONB NOT NULL,
    holds BOOLEAN NOT NULL,
    document JSONB NOT NULL,
    trace_id TEXT,
    at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE INDEX proofs_by_tenant ON proofs (tenant_id, at);

-- A tenant sees what stands against it and what stands against everybody; only the first is its own to write.
ALTER TABLE suspensions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON suspensions
    USING (NULLIF(current_setting('portreeve.tenant', true), '') IS NOT NULL
        AND (tenant_id IS NULL OR tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid))
    WITH CHECK (tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid);

ALTER TABLE proofs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON proofs
    USING (NULLIF(current_setting('portreeve.tenant', true), '') IS NOT NULL
        AND (tenant_id IS NULL OR tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid))
    WITH CHECK (tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid);

DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'portreeve_app') THEN
        GRANT SELECT, INSERT, UPDATE ON suspensions TO portreeve_app;
        GRANT SELECT, INSERT ON proofs TO portreeve_app;
    END IF;
END
$$;
