-- A second wall between tenants: whatever names a tenant runs as `portreeve_app`, which sees that tenant's rows and nothing
-- else, whatever the query forgot. The gateway's own login owns the tables and stands outside; it does the few things that
-- concern all tenants (whose key is this, the chains, what all nodes watch).
--
-- Roles belong to the whole cluster: another database's migration may make the same one at the same moment.

DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'portreeve_app') THEN
        CREATE ROLE portreeve_app NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
    WHEN insufficient_privilege THEN
        RAISE WARNING 'row security is not in use; ask for: CREATE ROLE portreeve_app NOLOGIN; GRANT portreeve_app TO %', current_user;
END
$$;

-- Whether the caller may act as the role. Since version 16 being a member is not enough.
CREATE FUNCTION portreeve_may_enter() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM pg_roles r WHERE r.rolname = 'portreeve_app' AND pg_has_role(
            current_user, r.oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END))
$$;

DO $$
BEGIN
    FOR attempt IN 1..10 LOOP
        BEGIN
            IF portreeve_may_enter() OR NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'portreeve_app') THEN
                EXIT;
            END IF;
            GRANT portreeve_app TO CURRENT_USER;
            EXIT;
        EXCEPTION
            -- Somebody else changed the same role in this moment ("tuple concurrently updated").
            WHEN internal_error THEN PERFORM pg_sleep(0.05);
            WHEN insufficient_privilege THEN
                RAISE WARNING 'row security is not in use; ask for: GRANT portreeve_app TO %', current_user;
                EXIT;
        END;
    END LOOP;
END
$$;

-- What the role may do, kept so that a role which is made later gets it at the next start.
CREATE TABLE row_grants (
    table_name TEXT PRIMARY KEY,
    privileges TEXT NOT NULL
);

-- Gives the role what it lacks, where there is such a role.
CREATE FUNCTION portreeve_arrange() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    wanted RECORD;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'portreeve_app') THEN
        RETURN false;
    END IF;
    IF NOT has_schema_privilege('portreeve_app', current_schema(), 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO portreeve_app', current_schema());
    END IF;
    FOR wanted IN SELECT table_name, privileges, string_to_array(privileges, ', ') AS each FROM row_grants LOOP
        IF EXISTS (SELECT 1 FROM unnest(wanted.each) AS one
                   WHERE NOT has_table_privilege('portreeve_app', quote_ident(wanted.table_name), one)) THEN
            EXECUTE format('GRANT %s ON %I TO portreeve_app', wanted.privileges, wanted.table_name);
        END IF;
    END LOOP;
    RETURN portreeve_may_enter();
END
$$;

-- For this migration and later ones: `SELECT portreeve_share('approvals', 'SELECT, INSERT, UPDATE')`.
CREATE FUNCTION portreeve_share(shared text, allowed text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_grants (table_name, privileges) VALUES (shared, allowed)
        ON CONFLICT (table_name) DO UPDATE SET privileges = excluded.privileges;
    PERFORM portreeve_arrange();
END
$$;

-- Whose rows this transaction may see; nobody's when none is set.
CREATE FUNCTION portreeve_tenant() RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT NULLIF(current_setting('portreeve.tenant', true), '')::uuid
$$;

-- Binds the transaction to one tenant. Without a role to act under the queries alone keep tenants apart.
CREATE FUNCTION portreeve_enter(tenant uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('portreeve.tenant', tenant::text, true);
    IF portreeve_may_enter() AND has_table_privilege('portreeve_app', 'agent_registry', 'SELECT') THEN
        PERFORM set_config('role', 'portreeve_app', true);
    END IF;
END
$$;

-- The policies name no role, so that they also bind a login that an operator made for himself.

ALTER TABLE agent_registry ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON agent_registry
    USING (organization_id = portreeve_tenant()) WITH CHECK (organization_id = portreeve_tenant());

ALTER TABLE agent_api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON agent_api_keys
    USING (EXISTS (SELECT 1 FROM agent_registry a
                   WHERE a.id = agent_registry_id AND a.organization_id = portreeve_tenant()))
    WITH CHECK (EXISTS (SELECT 1 FROM agent_registry a
                        WHERE a.id = agent_registry_id AND a.organization_id = portreeve_tenant()));

ALTER TABLE agent_traces ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON agent_traces
    USING (organization_id = portreeve_tenant()) WITH CHECK (organization_id = portreeve_tenant());

-- A policy of no organization is everybody's to read and nobody's to write; with no tenant set it is not there either.
ALTER TABLE agent_policies ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON agent_policies
    USING (organization_id = portreeve_tenant()) WITH CHECK (organization_id = portreeve_tenant());
CREATE POLICY everybodys_rows ON agent_policies FOR SELECT
    USING (organization_id IS NULL AND portreeve_tenant() IS NOT NULL);

ALTER TABLE chain_heads ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON chain_heads
    USING (organization_key = portreeve_tenant()::text) WITH CHECK (organization_key = portreeve_tenant()::text);

ALTER TABLE tool_registry ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON tool_registry
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

ALTER TABLE audit_logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON audit_logs
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON api_keys
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

ALTER TABLE access_policies ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON access_policies
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

ALTER TABLE dlp_config ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON dlp_config
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

ALTER TABLE tool_sessions ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON tool_sessions
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

ALTER TABLE resource_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON resource_usage
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

-- Chains and audit rows are written by the gateway's login alone.
SELECT portreeve_share('agent_registry', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('agent_api_keys', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('agent_traces', 'SELECT');
SELECT portreeve_share('agent_policies', 'SELECT, INSERT, UPDATE, DELETE');
SELECT portreeve_share('chain_heads', 'SELECT');
SELECT portreeve_share('tool_registry', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('audit_logs', 'SELECT');
SELECT portreeve_share('api_keys', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('access_policies', 'SELECT, INSERT, UPDATE, DELETE');
SELECT portreeve_share('dlp_config', 'SELECT, INSERT, UPDATE, DELETE');
SELECT portreeve_share('tool_sessions', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('resource_usage', 'SELECT');

-- The newest traces of a tenant, over all its chains.
CREATE INDEX agent_traces_by_time ON agent_traces (organization_id, created_at);
