-- Calls of tools by agents: the history of a session.
CREATE TABLE tool_calls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    owner TEXT NOT NULL, -- of the session
    caller TEXT NOT NULL, -- the user that called
    agent TEXT NOT NULL,
    conversation_id TEXT,
    tool_call_id TEXT,
    tool TEXT NOT NULL,
    arguments TEXT, -- JSON, shortened; NULL if they are too long even then
    result TEXT, -- the text for the model, shortened; NULL if the caller left before it
    is_error BIGINT NOT NULL,
    executions TEXT NOT NULL, -- a JSON list of ids
    called_at_ms BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL
);
CREATE INDEX tool_calls_of_session ON tool_calls (session_id, number);
CREATE INDEX tool_calls_of_owner ON tool_calls (owner, number);
