-- What a search of executions reads. It is apart from the rows, which may hold megabytes of code.
CREATE TABLE execution_search (
    number INTEGER PRIMARY KEY REFERENCES executions (number) ON DELETE CASCADE,
    kind TEXT NOT NULL, -- `shell`, `program`, `code` or `terminal`
    text TEXT NOT NULL -- the beginning of the command, in lower case, with single spaces
);
-- Rows of earlier versions. SQLite changes only ASCII letters to lower case.
INSERT INTO execution_search (number, kind, text)
    SELECT number,
        CASE
            WHEN command LIKE '{"code":%' THEN 'code'
            WHEN tty IS NOT NULL THEN 'terminal'
            WHEN command LIKE '{"shell":%' THEN 'shell'
            ELSE 'program'
        END,
        trim(replace(replace(replace(replace(replace(replace(replace(lower(substr(
            COALESCE(
                json_extract(command, '$.shell'),
                (SELECT group_concat(value, ' ') FROM json_each(command, '$.argv')),
                json_extract(command, '$.code.code')
                    || COALESCE(' ' || json_extract(command, '$.code.file'), '')
                    || COALESCE(' ' || (SELECT group_concat(value, ' ') FROM json_each(command, '$.code.args')), ''),
                ''
            ), 1, 16384)),
            char(13), ' '), char(10), ' '), char(9), ' '), '  ', ' '), '  ', ' '), '  ', ' '), '  ', ' '))
    FROM (
        SELECT number, json_extract(spec, '$.command') AS command, json_extract(spec, '$.tty') AS tty
        FROM executions WHERE json_valid(spec)
    );

-- 1: it exited with code 0. 0: it ended in any other way. Empty until it has ended.
ALTER TABLE executions ADD COLUMN succeeded BIGINT GENERATED ALWAYS AS (
    CASE WHEN verdict IS NOT NULL AND json_valid(verdict)
        THEN json_extract(verdict, '$.reason') = 'exited' AND json_extract(verdict, '$.code') IS 0
    END
) VIRTUAL;
CREATE INDEX executions_by_outcome ON executions (succeeded, number) WHERE succeeded IS NOT NULL;
CREATE INDEX executions_of_owner_by_outcome ON executions (owner, succeeded, number) WHERE succeeded IS NOT NULL;

-- Finds the last end in a session.
CREATE INDEX executions_by_end ON executions (session_id, exited_at_ms) WHERE exited_at_ms IS NOT NULL;
