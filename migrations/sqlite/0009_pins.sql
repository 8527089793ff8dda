-- Tools' definitions as they were accepted, and those seen since that nobody has accepted. A tool may have several accepted ones.

CREATE TABLE tool_pins (
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'quarantined')),
    definition TEXT NOT NULL CHECK (json_valid(definition)),
    findings TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(findings)),
    seen_from TEXT,
    "by" TEXT,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (tool, hash)
) STRICT;

CREATE TRIGGER live_tool_pins_added AFTER INSERT ON tool_pins
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tool_pins_changed AFTER UPDATE ON tool_pins
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;

CREATE TRIGGER live_tool_pins_removed AFTER DELETE ON tool_pins
BEGIN
    UPDATE live_revisions SET revision = revision + 1 WHERE name = 'live';
END;
