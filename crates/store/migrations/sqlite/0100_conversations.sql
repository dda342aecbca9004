-- Conversations with an agent. Each is the fold of its log; the columns here are what lists show and searches need.
CREATE TABLE conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    title TEXT,
    session_id TEXT, -- no foreign key: a conversation outlives its session
    parent_id TEXT REFERENCES conversations (id) ON DELETE CASCADE, -- of a sub-agent
    root_id TEXT NOT NULL, -- the conversation of a person, whose members may read this one
    settings TEXT NOT NULL, -- JSON
    is_archived BIGINT NOT NULL,
    is_running BIGINT NOT NULL,
    is_waiting BIGINT NOT NULL, -- a person is asked
    excerpt TEXT, -- the beginning of the last message
    log_bytes BIGINT NOT NULL, -- of what was appended, without deltas
    created_at_ms BIGINT NOT NULL,
    last_activity_at_ms BIGINT NOT NULL,
    activity BIGINT NOT NULL -- orders lists; it grows with each activity of any conversation
);
CREATE UNIQUE INDEX conversations_by_activity ON conversations (activity);
CREATE INDEX conversations_of_owner ON conversations (owner, activity);
CREATE INDEX conversations_of_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX conversations_running ON conversations (number) WHERE is_running = 1;

CREATE TABLE conversation_events (
    conversation BIGINT NOT NULL REFERENCES conversations (number) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    part TEXT, -- of a delta: what it belongs to. When that has ended, the delta is removed.
    event TEXT NOT NULL, -- JSON
    PRIMARY KEY (conversation, seq)
) WITHOUT ROWID;
CREATE INDEX conversation_deltas ON conversation_events (conversation, part) WHERE part IS NOT NULL;

-- The title (without a message) and the texts of messages, and their full-text index.
CREATE TABLE conversation_texts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation BIGINT NOT NULL REFERENCES conversations (number) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (conversation, message_id)
);
CREATE VIRTUAL TABLE conversation_search USING fts5(
    text, content = 'conversation_texts', content_rowid = 'number', tokenize = 'unicode61 remove_diacritics 2',
    prefix = '2 3'
);
CREATE TRIGGER conversation_text_is_added AFTER INSERT ON conversation_texts BEGIN
    INSERT INTO conversation_search (rowid, text) VALUES (NEW.number, NEW.text);
END;
CREATE TRIGGER conversation_text_is_removed AFTER DELETE ON conversation_texts BEGIN
    INSERT INTO conversation_search (conversation_search, rowid, text) VALUES ('delete', OLD.number, OLD.text);
END;
CREATE TRIGGER conversation_text_is_changed AFTER UPDATE ON conversation_texts BEGIN
    INSERT INTO conversation_search (conversation_search, rowid, text) VALUES ('delete', OLD.number, OLD.text);
    INSERT INTO conversation_search (rowid, text) VALUES (NEW.number, NEW.text);
END;

CREATE TABLE conversation_members (
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    member TEXT NOT NULL, -- as in `owner`
    role TEXT NOT NULL,
    added_at_ms BIGINT NOT NULL,
    PRIMARY KEY (conversation_id, member)
);
CREATE INDEX conversation_members_by_member ON conversation_members (member, conversation_id);

CREATE TABLE conversation_shares (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    made_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT
);
CREATE INDEX conversation_shares_of_conversation ON conversation_shares (conversation_id, number);
