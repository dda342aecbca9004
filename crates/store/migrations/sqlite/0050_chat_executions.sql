-- What a chat's client ran itself, for example in the browser: results that belong to a message.
CREATE TABLE chat_executions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    message_uuid TEXT NOT NULL,
    artifact_uuid TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    saved_at_ms BIGINT NOT NULL,
    result TEXT NOT NULL, -- JSON, as the client sent it
    UNIQUE (owner, message_uuid, artifact_uuid, execution_id)
);
CREATE INDEX chat_executions_of_owner ON chat_executions (owner, number);
-- Finds the messages in which an artifact was run.
CREATE INDEX chat_executions_by_artifact ON chat_executions (owner, artifact_uuid);
