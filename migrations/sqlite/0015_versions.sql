-- Accepted definitions are versions in the registry; approvals that ended do not stay for ever.

-- Versions are kept for a tool in every tenant's registry at once.
CREATE INDEX tool_registry_by_name ON tool_registry (name, version);

-- What every node looks for, to remove it.
CREATE INDEX approvals_ended ON approvals (decided_at) WHERE status IN ('rejected', 'expired', 'used');
