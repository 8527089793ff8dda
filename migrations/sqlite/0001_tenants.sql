-- Who the gateway works for. An organization is the tenant under the name that agents, traces and policies refer to:
-- one row each, same id, kept in step by the trigger.

CREATE TABLE tenants (
    id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    name TEXT NOT NULL CHECK (length(name) <= 255),
    config TEXT CHECK (config IS NULL OR json_valid(config)),
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- A tenant is asked for by name, so a name means one tenant.
CREATE UNIQUE INDEX tenants_by_name ON tenants (name);

CREATE TABLE organizations (
    id TEXT PRIMARY KEY NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TRIGGER tenant_is_an_organization AFTER INSERT ON tenants
BEGIN
    INSERT INTO organizations (id, created_at) VALUES (NEW.id, NEW.created_at) ON CONFLICT DO NOTHING;
END;

-- Keys that all nodes share: sealing, signing. Made by whichever node asks first.
CREATE TABLE gateway_secrets (
    name TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL CHECK (length(value) = 32),
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
