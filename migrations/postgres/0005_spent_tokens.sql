-- What may be used once and has been, until it would have expired anyway.

CREATE TABLE spent_tokens (
    id UUID PRIMARY KEY,
    expires_at TIMESTAMPTZ NOT NULL
);

CREATE INDEX spent_tokens_by_end ON spent_tokens (expires_at);
