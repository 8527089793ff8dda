-- The Decision Gate: scenarios, the runs of them, and what each run has written. JSON is kept as text on purpose: as JSONB a
-- number would be spelled anew, and what is evaluated must be what was submitted.

CREATE TABLE scenarios (
    tenant_id UUID NOT NULL REFERENCES tenants (id),
    scenario_id TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    spec TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('defined', 'file')),
    defined_by TEXT NOT NULL,
    defined_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, scenario_id, spec_hash)
);

-- A file's scenario may change while runs of the old one go on; one that was defined is defined once.
CREATE UNIQUE INDEX scenarios_defined ON scenarios (tenant_id, scenario_id) WHERE source = 'defined';

CREATE TABLE runs (
    tenant_id UUID NOT NULL REFERENCES tenants (id),
    run_id TEXT NOT NULL,
    scenario_id TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    status TEXT NOT NULL CHECK (status IN ('active', 'completed', 'failed')),
    stage_id TEXT NOT NULL,
    head TEXT NOT NULL,
    started_by TEXT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    changed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, run_id),
    FOREIGN KEY (tenant_id, scenario_id, spec_hash) REFERENCES scenarios (tenant_id, scenario_id, spec_hash)
);

CREATE INDEX runs_by_scenario ON runs (tenant_id, scenario_id, status, changed_at);
CREATE INDEX runs_by_change ON runs (tenant_id, changed_at);

-- `key`: a trigger and its decision have the trigger's id, a packet its decision's, a submission its own.
CREATE TABLE run_events (
    tenant_id UUID NOT NULL,
    run_id TEXT NOT NULL,
    log TEXT NOT NULL CHECK (log IN ('trigger', 'gate_eval', 'decision', 'packet', 'submission', 'tool_call')),
    seq BIGINT NOT NULL CHECK (seq >= 0),
    key TEXT,
    version BIGINT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (tenant_id, run_id, log, seq),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id)
);

CREATE UNIQUE INDEX run_events_once ON run_events (tenant_id, run_id, log, key)
    WHERE key IS NOT NULL AND log IN ('trigger', 'decision', 'submission');
CREATE INDEX run_events_by_key ON run_events (tenant_id, run_id, log, key) WHERE log = 'packet';

-- Whose packs lie where: no tenant reads or overwrites another's.
CREATE TABLE runpack_dirs (
    directory TEXT PRIMARY KEY,
    tenant_id UUID NOT NULL REFERENCES tenants (id),
    at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE FUNCTION portreeve_only_appended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% are only appended', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER only_appended BEFORE UPDATE OR DELETE ON run_events
    FOR EACH ROW EXECUTE FUNCTION portreeve_only_appended();
CREATE TRIGGER only_appended BEFORE UPDATE OR DELETE ON scenarios
    FOR EACH ROW EXECUTE FUNCTION portreeve_only_appended();

ALTER TABLE scenarios ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON scenarios
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());
ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON runs USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());
ALTER TABLE run_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant_rows ON run_events
    USING (tenant_id = portreeve_tenant()) WITH CHECK (tenant_id = portreeve_tenant());

SELECT portreeve_share('scenarios', 'SELECT, INSERT');
SELECT portreeve_share('runs', 'SELECT, INSERT, UPDATE');
SELECT portreeve_share('run_events', 'SELECT, INSERT');
