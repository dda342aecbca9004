-- A ticket opens one stream and resumes it. Only the hash of its secret is stored.
CREATE TABLE tickets (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL, -- whose tickets are counted together
    credential TEXT NOT NULL, -- what it stands for; without any secret
    binding TEXT, -- the stream that it opened; empty: none yet
    opened_by TEXT, -- the server process that opened it
    used_at_ms BIGINT NOT NULL, -- made, opened or resumed
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX tickets_of_owner ON tickets (owner, used_at_ms);
CREATE INDEX tickets_by_end ON tickets (expires_at_ms);
