-- How what was asked for ended: `ok`, `denied`, or the code of an error.
ALTER TABLE audit ADD COLUMN result TEXT NOT NULL DEFAULT 'ok';
CREATE INDEX audit_of_owner ON audit (owner, number);
CREATE INDEX audit_of_object ON audit (object, number);

-- Rows are added and read; nothing else, whoever asks.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- Processor time of what has ended, by owner and day (days since 1970, UTC).
CREATE TABLE usage_by_day (
    owner TEXT NOT NULL,
    day BIGINT NOT NULL,
    cpu_ms BIGINT NOT NULL,
    PRIMARY KEY (owner, day)
);
