-- Accepted definitions are versions in the registry; a policy's mode is its tenant's; approvals that ended do not stay for ever.

-- Versions are kept for a tool in every tenant's registry at once.
CREATE INDEX tool_registry_by_name ON tool_registry (name, version);

-- A mode belongs to whom its policy belongs to. Everybody's policies are everybody's to read, and so are their modes.
ALTER TABLE policy_modes ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON policy_modes
    USING ((kind = 'agent' AND EXISTS (SELECT 1 FROM agent_policies p
                                       WHERE p.id = policy AND p.organization_id = portreeve_tenant()))
        OR (kind = 'access' AND EXISTS (SELECT 1 FROM access_policies p
                                        WHERE p.id = policy AND p.tenant_id = portreeve_tenant())))
    WITH CHECK ((kind = 'agent' AND EXISTS (SELECT 1 FROM agent_policies p
                                            WHERE p.id = policy AND p.organization_id = portreeve_tenant()))
        OR (kind = 'access' AND EXISTS (SELECT 1 FROM access_policies p
                                        WHERE p.id = policy AND p.tenant_id = portreeve_tenant())));
CREATE POLICY everybodys_rows ON policy_modes FOR SELECT
    USING (portreeve_tenant() IS NOT NULL AND kind = 'agent'
        AND EXISTS (SELECT 1 FROM agent_policies p WHERE p.id = policy AND p.organization_id IS NULL));

-- What every node looks for, to remove it.
CREATE INDEX approvals_ended ON approvals (decided_at) WHERE status IN ('rejected', 'expired', 'used');
