-- AUTOINCREMENT: a number is never given again, not even after its row was removed, for feeds go on after a number.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    name TEXT, -- as in the spec, to be found by
    spec TEXT NOT NULL,
    sandbox TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT
);
CREATE INDEX sessions_of_owner ON sessions (owner, number);

CREATE TABLE executions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    conversation_id TEXT,
    tool_call_id TEXT,
    language TEXT,
    spec TEXT NOT NULL,
    queued_at_ms BIGINT NOT NULL,
    -- The end; all empty until there is one.
    verdict TEXT,
    started_at_ms BIGINT,
    exited_at_ms BIGINT,
    last_seq BIGINT,
    closed BIGINT NOT NULL -- 0 or 1
);
CREATE INDEX executions_of_session ON executions (session_id, number);
CREATE INDEX executions_of_owner ON executions (owner, number);
CREATE INDEX executions_of_conversation ON executions (conversation_id, number) WHERE conversation_id IS NOT NULL;
CREATE INDEX executions_unfinished ON executions (number) WHERE closed = 0;
