-- Who the gateway works for. An organization is the tenant under the name that agents, traces and policies refer to:
-- one row each, same id, kept in step by the trigger.

CREATE TABLE tenants (
    id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
    name VARCHAR(255) NOT NULL,
    config JSONB,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT NOW()
);

-- A tenant is asked for by name, so a name means one tenant.
CREATE UNIQUE INDEX tenants_by_name ON tenants (name);

CREATE TABLE organizations (
    id UUID PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    created_at TIMESTAMPTZ DEFAULT now()
);

CREATE FUNCTION organization_of_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO organizations (id, created_at) VALUES (NEW.id, NEW.created_at) ON CONFLICT DO NOTHING;
    RETURN NEW;
END
$$;

CREATE TRIGGER tenant_is_an_organization AFTER INSERT ON tenants
    FOR EACH ROW EXECUTE FUNCTION organization_of_tenant();

-- Keys that all nodes share: sealing, signing. Made by whichever node asks first.
CREATE TABLE gateway_secrets (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL CHECK (octet_length(value) = 32),
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
