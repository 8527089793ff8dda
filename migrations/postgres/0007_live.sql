-- One number that moves whenever something moves that nodes keep in memory: rules, agents, keys, and what later files add.
-- Nodes read it several times a second and are told of it besides, so that a change is in force everywhere within a second.
-- What every call touches (a key's last use, traces, audit rows) does not move it.

CREATE TABLE live_revisions (
    name TEXT PRIMARY KEY,
    revision BIGINT NOT NULL
);

INSERT INTO live_revisions (name, revision) VALUES ('live', 1);

-- Runs as its owner: whoever may change a tenant's rows need not be allowed to write the number.
CREATE FUNCTION portreeve_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    now_at BIGINT;
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live' RETURNING revision INTO now_at;
    PERFORM pg_notify('portreeve_live', now_at::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON agent_policies
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON access_policies
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON tenants
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
CREATE TRIGGER live
    AFTER UPDATE OF status, autonomy_level, allowed_types, max_risk, metadata, owner_name, owner_email OR DELETE ON agent_registry
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
CREATE TRIGGER live AFTER UPDATE OF revoked_at OR DELETE ON agent_api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
CREATE TRIGGER live AFTER UPDATE OF is_active, scopes OR DELETE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
