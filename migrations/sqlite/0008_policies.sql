-- What a policy's word is worth, and the manifests that tenants write themselves.

-- A policy without a row here has the mode its table's reader gives it: the seeds' tables have no column for one.
CREATE TABLE policy_modes (
    kind TEXT NOT NULL CHECK (kind IN ('agent', 'access')),
    policy TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('shadow', 'advisory', 'enforce')),
    changed_by TEXT NOT NULL,
    changed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (kind, policy)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER live_policy_modes_added AFTER INSERT ON policy_modes
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_policy_modes_changed AFTER UPDATE ON policy_modes
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_policy_modes_removed AFTER DELETE ON policy_modes
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TABLE tool_manifests (
    tenant_id TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    manifest TEXT NOT NULL CHECK (json_valid(manifest)),
    handling TEXT CHECK (handling IS NULL OR json_valid(handling)),
    metadata TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    written_by TEXT NOT NULL,
    written_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (tenant_id, tool)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER live_tool_manifests_added AFTER INSERT ON tool_manifests
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tool_manifests_changed AFTER UPDATE ON tool_manifests
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tool_manifests_removed AFTER DELETE ON tool_manifests
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;
