//! The table `oauth_grants`.

use super::{Columns, Select, Statement, damaged, from_json, hash, hex, json, time};
use crate::{GrantRenewal, GrantRow, StoreError};

const GRANT: &str = "id, owner, role, client_id_hash, client_name, scopes, redirect_uri, challenge, code_hash, \
                     code_expires_at_ms, token_id, refresh_hash, used_refresh_hash, created_at_ms, expires_at_ms \
                     FROM oauth_grants";
/// More grants than any owner has.
const MAX_GRANTS: i64 = 1_000_000;

pub(crate) fn put(row: &GrantRow, keep: u32) -> Result<Vec<Statement>, StoreError> {
    let others = i64::from(keep.saturating_sub(1));
    let scopes = json("scopes", &row.scopes)?;
    let (refresh, used) = (row.refresh_hash.as_ref().map(hex), row.used_refresh_hash.as_ref().map(hex));
    let values = [
        row.id.as_str().into(),
        row.owner.as_str().into(),
        row.role.name().into(),
        hex(&row.client_id_hash).into(),
        row.client_name.as_str().into(),
        scopes.as_str().into(),
        row.redirect_uri.as_str().into(),
        row.challenge.as_str().into(),
        hex(&row.code_hash).into(),
        row.code_expires_at_ms.into(),
        row.token_id.as_deref().into(),
        refresh.as_deref().into(),
        used.as_deref().into(),
        row.created_at_ms.into(),
        row.expires_at_ms.into(),
    ];
    Ok(vec![
        Statement::new("DELETE FROM oauth_grants WHERE expires_at_ms <= $1", [row.created_at_ms.into()]),
        Statement::new(
            "DELETE FROM oauth_grants WHERE number IN (SELECT number FROM oauth_grants WHERE owner = $1 \
             ORDER BY number DESC LIMIT $2 OFFSET $3)",
            [row.owner.as_str().into(), MAX_GRANTS.into(), others.into()],
        ),
        Statement::new(
            "INSERT INTO oauth_grants (id, owner, role, client_id_hash, client_name, scopes, redirect_uri, challenge, \
             code_hash, code_expires_at_ms, token_id, refresh_hash, used_refresh_hash, created_at_ms, expires_at_ms) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            values,
        ),
    ])
}

pub(crate) fn by_code(code_hash: &[u8; 32]) -> Statement {
    Select::new(GRANT).when("code_hash =", Some(hex(code_hash))).page("number", 1)
}

pub(crate) fn by_refresh(refresh_hash: &[u8; 32]) -> Statement {
    Select::new(GRANT).when("refresh_hash =", Some(hex(refresh_hash))).page("number", 1)
}

pub(crate) fn by_used_refresh(refresh_hash: &[u8; 32]) -> Statement {
    Select::new(GRANT).when("used_refresh_hash =", Some(hex(refresh_hash))).page("number", 1)
}

pub(crate) fn redeem(id: &str, token_id: &str, first: &GrantRenewal) -> Statement {
    let values = [
        id.into(),
        token_id.into(),
        hex(&first.refresh_hash).into(),
        first.at_ms.into(),
        first.expires_at_ms.into(),
    ];
    Statement::new(
        "UPDATE oauth_grants SET token_id = $2, refresh_hash = $3, expires_at_ms = $5 \
         WHERE id = $1 AND token_id IS NULL AND code_expires_at_ms > $4",
        values,
    )
}

pub(crate) fn renew(id: &str, used: &[u8; 32], next: &GrantRenewal) -> Statement {
    let values = [
        id.into(),
        hex(used).into(),
        hex(&next.refresh_hash).into(),
        next.at_ms.into(),
        next.expires_at_ms.into(),
    ];
    Statement::new(
        "UPDATE oauth_grants SET used_refresh_hash = refresh_hash, refresh_hash = $3, expires_at_ms = $5 \
         WHERE id = $1 AND refresh_hash = $2 AND expires_at_ms > $4",
        values,
    )
}

pub(crate) fn remove(id: &str) -> Statement {
    Statement::new("DELETE FROM oauth_grants WHERE id = $1", [id.into()])
}

/// The end of a token is the end of its grant: no refresh gives the client another one.
pub(crate) fn remove_of_token(token_id: &str) -> Statement {
    Statement::new("DELETE FROM oauth_grants WHERE token_id = $1", [token_id.into()])
}

pub(crate) fn read(row: &impl Columns) -> Result<GrantRow, StoreError> {
    let maybe_hash = |name| row.text(name)?.map(|_| hash(row, name)).transpose();
    Ok(GrantRow {
        id: row.some_text("id")?,
        owner: row.some_text("owner")?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        client_id_hash: hash(row, "client_id_hash")?,
        client_name: row.some_text("client_name")?,
        scopes: from_json(row, "scopes")?,
        redirect_uri: row.some_text("redirect_uri")?,
        challenge: row.some_text("challenge")?,
        code_hash: hash(row, "code_hash")?,
        code_expires_at_ms: time(row, "code_expires_at_ms")?,
        token_id: row.text("token_id")?,
        refresh_hash: maybe_hash("refresh_hash")?,
        used_refresh_hash: maybe_hash("used_refresh_hash")?,
        created_at_ms: time(row, "created_at_ms")?,
        expires_at_ms: time(row, "expires_at_ms")?,
    })
}
