CREATE TABLE users (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE, -- in lower case; what belongs to the user has it as its owner
    password TEXT, -- argon2id, as a PHC string; empty: no password signs in
    role TEXT NOT NULL,
    disabled BIGINT NOT NULL, -- 0 or 1
    created_at_ms BIGINT NOT NULL
);

-- One for each time that somebody signed in: a refresh token, a browser's cookie; or a JWT that is no longer taken.
CREATE TABLE sign_ins (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    previous TEXT, -- the secret before this one: whoever shows it again has stolen it, or was stolen from
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    stands_for TEXT, -- the hash of the token or link that the cookie was given for
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX sign_ins_of_user ON sign_ins (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX sign_ins_by_previous ON sign_ins (previous) WHERE previous IS NOT NULL;
CREATE INDEX sign_ins_by_end ON sign_ins (expires_at_ms);

CREATE TABLE session_members (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    member TEXT NOT NULL, -- as in `owner`
    role TEXT NOT NULL,
    added_at_ms BIGINT NOT NULL,
    PRIMARY KEY (session_id, member)
);
CREATE INDEX session_members_by_member ON session_members (member, session_id);

CREATE TABLE shares (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    made_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT
);
CREATE INDEX shares_of_session ON shares (session_id, number);

ALTER TABLE tokens ADD COLUMN sessions TEXT; -- JSON; empty: all
ALTER TABLE tokens ADD COLUMN scopes TEXT; -- JSON; empty: all
ALTER TABLE tokens ADD COLUMN last_used_at_ms BIGINT;
