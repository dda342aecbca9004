-- No foreign key: a key is claimed before the object that it names is there.
CREATE TABLE keys (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    object TEXT NOT NULL,
    session_id TEXT,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE INDEX keys_of_object ON keys (object);
CREATE INDEX keys_of_session ON keys (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX keys_by_age ON keys (created_at_ms);
