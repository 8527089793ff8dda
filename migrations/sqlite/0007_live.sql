-- One number that moves whenever something moves that nodes keep in memory: rules, agents, keys, and what later files add.
-- Nodes read it several times a second, so that a change by another process is in force within a second.
-- What every call touches (a key's last use, traces, audit rows) does not move it.

CREATE TABLE live_revisions (
    name TEXT PRIMARY KEY NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO live_revisions (name, revision) VALUES ('live', 1);

CREATE TRIGGER live_agent_policies_added AFTER INSERT ON agent_policies
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_agent_policies_changed AFTER UPDATE ON agent_policies
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_agent_policies_removed AFTER DELETE ON agent_policies
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_access_policies_added AFTER INSERT ON access_policies
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_access_policies_changed AFTER UPDATE ON access_policies
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_access_policies_removed AFTER DELETE ON access_policies
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tenants_added AFTER INSERT ON tenants
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tenants_changed AFTER UPDATE ON tenants
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tenants_removed AFTER DELETE ON tenants
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_agent_registry_changed AFTER UPDATE OF status, autonomy_level, allowed_types, max_risk, metadata, owner_name, owner_email ON agent_registry
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_agent_registry_removed AFTER DELETE ON agent_registry
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_agent_api_keys_changed AFTER UPDATE OF revoked_at ON agent_api_keys
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_agent_api_keys_removed AFTER DELETE ON agent_api_keys
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_api_keys_changed AFTER UPDATE OF is_active, scopes ON api_keys
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_api_keys_removed AFTER DELETE ON api_keys
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;
