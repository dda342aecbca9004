-- A name identifies one session of its owner that has not ended. Where an earlier version let several share a name, the
-- newest is found by it; the others keep the name in `name` and in their spec, and are found by their ids.
ALTER TABLE sessions ADD COLUMN unique_name TEXT;
UPDATE sessions SET unique_name = name
    WHERE name IS NOT NULL AND ended_at_ms IS NULL AND NOT EXISTS (
        SELECT 1 FROM sessions AS newer WHERE newer.owner = sessions.owner AND newer.name = sessions.name
            AND newer.ended_at_ms IS NULL AND newer.number > sessions.number);
CREATE UNIQUE INDEX session_names ON sessions (owner, unique_name)
    WHERE unique_name IS NOT NULL AND ended_at_ms IS NULL;
