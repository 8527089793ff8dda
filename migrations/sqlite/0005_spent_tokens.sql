-- What may be used once and has been, until it would have expired anyway.

CREATE TABLE spent_tokens (
    id TEXT PRIMARY KEY NOT NULL,
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX spent_tokens_by_end ON spent_tokens (expires_at);
