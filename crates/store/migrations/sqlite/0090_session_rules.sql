-- What people allowed their agents to run in a session from now on.
CREATE TABLE session_rules (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    owner TEXT NOT NULL, -- the user for whose agents it holds
    subject TEXT NOT NULL, -- what it is about; of rules about the same, the newest is kept
    rule TEXT NOT NULL, -- JSON
    created_at_ms BIGINT NOT NULL,
    UNIQUE (session_id, owner, subject)
);
