CREATE TABLE builds (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- What was asked for, as JSON.
    request TEXT NOT NULL,
    -- Whether an execution ran it.
    executed BIGINT NOT NULL,
    -- What became of it, as JSON, once it has ended.
    result TEXT,
    created_at_ms BIGINT NOT NULL
);

CREATE INDEX builds_by_session ON builds (session_id, number);
CREATE INDEX builds_unfinished ON builds (number) WHERE result IS NULL;
