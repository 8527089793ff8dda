-- What a policy's word is worth, and the manifests that tenants write themselves.

-- A policy without a row here has the mode its table's reader gives it: the seeds' tables have no column for one.
CREATE TABLE policy_modes (
    kind TEXT NOT NULL CHECK (kind IN ('agent', 'access')),
    policy UUID NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('shadow', 'advisory', 'enforce')),
    changed_by TEXT NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, policy)
);

CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON policy_modes
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();

CREATE TABLE tool_manifests (
    tenant_id UUID NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    manifest JSONB NOT NULL,
    handling JSONB,
    metadata JSONB,
    written_by TEXT NOT NULL,
    written_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, tool)
);

CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON tool_manifests
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();

ALTER TABLE tool_manifests ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON tool_manifests
    USING (tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = NULLIF(current_setting('portreeve.tenant', true), '')::uuid);

-- The role is a cluster's, and an operator without the right to make roles has none.
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'portreeve_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON tool_manifests, policy_modes TO portreeve_app;
    END IF;
END
$$;
