-- When and why retention or a prune removed the log of an execution; empty while the log is kept.
ALTER TABLE executions ADD COLUMN log_removed_at_ms BIGINT;
ALTER TABLE executions ADD COLUMN log_removed_reason TEXT;
CREATE INDEX executions_removed ON executions (log_removed_at_ms) WHERE log_removed_at_ms IS NOT NULL;

-- Audit rows before this time may be deleted. It is 0 except inside the transaction of the sweep.
CREATE TABLE audit_retention (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    before_ms BIGINT NOT NULL
);
INSERT INTO audit_retention (id, before_ms) VALUES (1, 0);

-- Nobody deletes a row of the last seven days, and nobody deletes an older one outside the sweep.
DROP TRIGGER audit_is_not_removed;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
WHEN OLD.at_ms >= COALESCE((SELECT before_ms FROM audit_retention WHERE id = 1), 0)
    OR OLD.at_ms >= (CAST(strftime('%s', 'now') AS INTEGER) - 604800) * 1000
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
-- `INSERT OR REPLACE` deletes without the trigger above.
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
