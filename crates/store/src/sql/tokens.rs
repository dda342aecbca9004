//! The table `tokens`.

use super::{Columns, Select, Statement, damaged, from_json, hash, hex, json, time};
use crate::{StoreError, TokenRow};

const COLUMNS: &str = "id, name, owner, role, hash, sessions, scopes, created_at_ms, expires_at_ms, \
                       revoked_at_ms, last_used_at_ms FROM tokens";

pub(crate) fn put(row: &TokenRow) -> Result<Statement, StoreError> {
    let sessions = row.sessions.as_ref().map(|list| json("sessions", list)).transpose()?;
    let scopes = row.scopes.as_ref().map(|list| json("scopes", list)).transpose()?;
    let values = [
        row.id.as_str().into(),
        row.name.as_str().into(),
        row.owner.as_str().into(),
        row.role.name().into(),
        hex(&row.hash).into(),
        row.created_at_ms.into(),
        row.expires_at_ms.into(),
        row.revoked_at_ms.into(),
        sessions.as_deref().into(),
        scopes.as_deref().into(),
        row.last_used_at_ms.into(),
    ];
    Ok(Statement::new(
        "INSERT INTO tokens (id, name, owner, role, hash, created_at_ms, expires_at_ms, revoked_at_ms, sessions, \
         scopes, last_used_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT (id) DO NOTHING",
        values,
    ))
}

pub(crate) fn by_hash(hash: &[u8; 32]) -> Statement {
    Select::new(COLUMNS).when("hash =", Some(hex(hash))).page("number", 1)
}

pub(crate) fn all() -> Statement {
    Statement::new(
        "SELECT id, name, owner, role, hash, sessions, scopes, created_at_ms, expires_at_ms, revoked_at_ms, \
         last_used_at_ms FROM tokens ORDER BY number",
        [],
    )
}

pub(crate) fn revoke(id: &str, at_ms: u64) -> Statement {
    let values = [id.into(), at_ms.into()];
    Statement::new("UPDATE tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL", values)
}

pub(crate) fn renew(id: &str, hash: &[u8; 32], expires_at_ms: u64) -> Statement {
    let values = [id.into(), hex(hash).into(), expires_at_ms.into()];
    Statement::new(
        "UPDATE tokens SET hash = $2, expires_at_ms = $3 WHERE id = $1 AND revoked_at_ms IS NULL",
        values,
    )
}

pub(crate) fn read(row: &impl Columns) -> Result<TokenRow, StoreError> {
    let maybe = |name| row.number(name)?.map(|_| time(row, name)).transpose();
    Ok(TokenRow {
        id: row.some_text("id")?,
        name: row.some_text("name")?,
        owner: row.some_text("owner")?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        hash: hash(row, "hash")?,
        sessions: row.text("sessions")?.map(|_| from_json(row, "sessions")).transpose()?,
        scopes: row.text("scopes")?.map(|_| from_json(row, "scopes")).transpose()?,
        created_at_ms: time(row, "created_at_ms")?,
        expires_at_ms: maybe("expires_at_ms")?,
        revoked_at_ms: maybe("revoked_at_ms")?,
        last_used_at_ms: maybe("last_used_at_ms")?,
    })
}
