-- What is switched off, for one tenant or (no tenant) for all, and what was proved of the policies in force.

CREATE TABLE suspensions (
    id TEXT PRIMARY KEY NOT NULL,
    tenant_id TEXT REFERENCES tenants (id),
    kind TEXT NOT NULL CHECK (kind IN ('agent', 'tool', 'upstream', 'tenant')),
    subject TEXT NOT NULL,
    reason TEXT,
    "by" TEXT NOT NULL,
    since TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    lifted_at TEXT,
    lifted_by TEXT
) STRICT;

CREATE UNIQUE INDEX suspensions_in_force
    ON suspensions (COALESCE(tenant_id, ''), kind, subject) WHERE lifted_at IS NULL;

CREATE TRIGGER live_suspensions_added AFTER INSERT ON suspensions
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_suspensions_changed AFTER UPDATE ON suspensions
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_suspensions_removed AFTER DELETE ON suspensions
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TABLE proofs (
    id TEXT PRIMARY KEY NOT NULL,
    tenant_id TEXT REFERENCES tenants (id),
    scope TEXT NOT NULL CHECK (json_valid(scope)),
    digests TEXT NOT NULL CHECK (json_valid(digests)),
    holds INTEGER NOT NULL CHECK (holds IN (0, 1)),
    document TEXT NOT NULL CHECK (json_valid(document)),
    trace_id TEXT,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE INDEX proofs_by_tenant ON proofs (tenant_id, at);
