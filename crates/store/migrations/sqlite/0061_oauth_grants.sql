-- What a person allowed a client by OAuth. Only hashes of secrets are stored.
CREATE TABLE oauth_grants (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    role TEXT NOT NULL,
    client_id_hash TEXT NOT NULL,
    client_name TEXT NOT NULL, -- as the client calls itself
    scopes TEXT NOT NULL, -- a list, as JSON
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL, -- of PKCE, S256
    code_hash TEXT NOT NULL UNIQUE,
    code_expires_at_ms BIGINT NOT NULL,
    token_id TEXT, -- the API token of the client; empty until the code is redeemed
    refresh_hash TEXT UNIQUE, -- the valid refresh token
    used_refresh_hash TEXT, -- the one before it, whose use shows that it was stolen
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL -- without a refresh until then, it ends
);
CREATE INDEX oauth_grants_of_owner ON oauth_grants (owner);
CREATE INDEX oauth_grants_by_end ON oauth_grants (expires_at_ms);
CREATE INDEX oauth_grants_by_token ON oauth_grants (token_id);
CREATE INDEX oauth_grants_by_used_refresh ON oauth_grants (used_refresh_hash);
