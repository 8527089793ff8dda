-- The Decision Gate: scenarios, the runs of them, and what each run has written.

CREATE TABLE scenarios (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    scenario_id TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    spec TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('defined', 'file')),
    defined_by TEXT NOT NULL,
    defined_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (tenant_id, scenario_id, spec_hash)
) STRICT;

-- A file's scenario may change while runs of the old one go on; one that was defined is defined once.
CREATE UNIQUE INDEX scenarios_defined ON scenarios (tenant_id, scenario_id) WHERE source = 'defined';

CREATE TABLE runs (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    run_id TEXT NOT NULL,
    scenario_id TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    status TEXT NOT NULL CHECK (status IN ('active', 'completed', 'failed')),
    stage_id TEXT NOT NULL,
    head TEXT NOT NULL,
    started_by TEXT NOT NULL,
    started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    changed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (tenant_id, run_id),
    FOREIGN KEY (tenant_id, scenario_id, spec_hash) REFERENCES scenarios (tenant_id, scenario_id, spec_hash)
) STRICT;

CREATE INDEX runs_by_scenario ON runs (tenant_id, scenario_id, status, changed_at);
CREATE INDEX runs_by_change ON runs (tenant_id, changed_at);

-- `key`: a trigger and its decision have the trigger's id, a packet its decision's, a submission its own.
CREATE TABLE run_events (
    tenant_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    log TEXT NOT NULL CHECK (log IN ('trigger', 'gate_eval', 'decision', 'packet', 'submission', 'tool_call')),
    seq INTEGER NOT NULL CHECK (seq >= 0),
    key TEXT,
    version INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (tenant_id, run_id, log, seq),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id)
) STRICT;

CREATE UNIQUE INDEX run_events_once ON run_events (tenant_id, run_id, log, key)
    WHERE key IS NOT NULL AND log IN ('trigger', 'decision', 'submission');
CREATE INDEX run_events_by_key ON run_events (tenant_id, run_id, log, key) WHERE log = 'packet';

-- Whose packs lie where: no tenant reads or overwrites another's.
CREATE TABLE runpack_dirs (
    directory TEXT PRIMARY KEY NOT NULL,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TRIGGER run_events_not_changed BEFORE UPDATE ON run_events
BEGIN SELECT RAISE(ABORT, 'run_events are only appended'); END;
CREATE TRIGGER run_events_not_deleted BEFORE DELETE ON run_events
BEGIN SELECT RAISE(ABORT, 'run_events are only appended'); END;
CREATE TRIGGER scenarios_not_changed BEFORE UPDATE ON scenarios
BEGIN SELECT RAISE(ABORT, 'scenarios are only appended'); END;
CREATE TRIGGER scenarios_not_deleted BEFORE DELETE ON scenarios
BEGIN SELECT RAISE(ABORT, 'scenarios are only appended'); END;
