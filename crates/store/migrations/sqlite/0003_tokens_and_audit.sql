CREATE TABLE tokens (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    role TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    revoked_at_ms BIGINT
);

-- No foreign key: an audit row outlives all that it names.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms BIGINT NOT NULL,
    owner TEXT NOT NULL,
    token_id TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    address TEXT NOT NULL,
    detail TEXT NOT NULL
);
