-- Tools' definitions as they were accepted, and those seen since that nobody has accepted. A tool may have several accepted ones.

CREATE TABLE tool_pins (
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'quarantined')),
    definition JSONB NOT NULL,
    findings JSONB NOT NULL DEFAULT '[]',
    seen_from TEXT,
    "by" TEXT,
    at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (tool, hash)
);

CREATE TRIGGER live AFTER INSERT OR UPDATE OR DELETE ON tool_pins
    FOR EACH STATEMENT EXECUTE FUNCTION portreeve_changed();
