//! The tables `users` and `sign_ins`.

use super::{Columns, Select, Statement, Value, conversation_access, damaged, hash, hex, page_size, time};
use crate::{PageRequest, SignInKind, SignInRow, StoreError, UserChange, UserRow};

const USER: &str = "number, id, name, password, role, disabled, created_at_ms FROM users";
const SIGN_IN: &str = "id, kind, hash, user_id, stands_for, created_at_ms, expires_at_ms FROM sign_ins";

pub(crate) fn put(row: &UserRow) -> Statement {
    let values = [
        row.id.as_str().into(),
        row.name.as_str().into(),
        row.password.as_deref().into(),
        row.role.name().into(),
        row.disabled.into(),
        row.created_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO users (id, name, password, role, disabled, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT DO NOTHING",
        values,
    )
}

pub(crate) fn get(id: &str) -> Statement {
    Select::new(USER).when("id =", Some(id)).page("number", 1)
}

pub(crate) fn by_name(name: &str) -> Statement {
    Select::new(USER).when("name =", Some(name)).page("number", 1)
}

pub(crate) fn list(page: PageRequest) -> Statement {
    Select::new(USER).when("number <", page.cursor).page("number DESC", page_size(page.limit) + 1)
}

pub(crate) fn update(id: &str, change: &UserChange) -> Vec<Statement> {
    let mut all = Vec::new();
    if change.end_sign_ins {
        all.push(end_sign_ins(id));
    }
    let values = [
        id.into(),
        change.password.as_deref().into(),
        change.role.map(crate::Role::name).into(),
        change.disabled.map(i64::from).into(),
    ];
    all.push(Statement::new(
        "UPDATE users SET password = COALESCE($2, password), role = COALESCE($3, role), \
         disabled = COALESCE($4, disabled) WHERE id = $1",
        values,
    ));
    all
}

/// Removes a user. Its sign-ins are removed by the foreign key; objects with its name stay.
pub(crate) fn remove(row: &UserRow, at_ms: u64) -> Vec<Statement> {
    let mut all = conversation_access::remove_user(&row.name, at_ms).to_vec();
    all.extend([
        Statement::new(
            "UPDATE tokens SET revoked_at_ms = $2 WHERE LOWER(owner) = $1 AND revoked_at_ms IS NULL",
            [row.name.as_str().into(), at_ms.into()],
        ),
        Statement::new(
            "UPDATE shares SET revoked_at_ms = $2 WHERE LOWER(made_by) = $1 AND revoked_at_ms IS NULL",
            [row.name.as_str().into(), at_ms.into()],
        ),
        Statement::new("DELETE FROM oauth_grants WHERE LOWER(owner) = $1", [row.name.as_str().into()]),
        Statement::new("DELETE FROM session_members WHERE member = $1", [row.name.as_str().into()]),
        Statement::new("DELETE FROM users WHERE id = $1", [row.id.as_str().into()]),
    ]);
    all
}

pub(crate) fn put_sign_in(row: &SignInRow) -> Statement {
    let values = [
        row.id.as_str().into(),
        row.kind.name().into(),
        hex(&row.hash).into(),
        row.user_id.as_deref().into(),
        row.stands_for.map_or(Value::Text(None), |hash| hex(&hash).into()),
        row.created_at_ms.into(),
        row.expires_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO sign_ins (id, kind, hash, user_id, stands_for, created_at_ms, expires_at_ms) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        values,
    )
}

pub(crate) fn sign_in(id: &str) -> Statement {
    Select::new(SIGN_IN).when("id =", Some(id)).page("number", 1)
}

pub(crate) fn sign_in_by_hash(hash: &[u8; 32]) -> Statement {
    Select::new(SIGN_IN).when("hash =", Some(hex(hash))).page("number", 1)
}

pub(crate) fn sign_in_by_previous(hash: &[u8; 32]) -> Statement {
    Select::new(SIGN_IN).when("previous =", Some(hex(hash))).page("number", 1)
}

pub(crate) fn rotate(id: &str, from: &[u8; 32], to: &[u8; 32], expires_at_ms: u64) -> Statement {
    let values = [id.into(), hex(from).into(), hex(to).into(), expires_at_ms.into()];
    Statement::new(
        "UPDATE sign_ins SET previous = hash, hash = $3, expires_at_ms = $4 WHERE id = $1 AND hash = $2",
        values,
    )
}

pub(crate) fn remove_sign_in(id: &str) -> Statement {
    Statement::new("DELETE FROM sign_ins WHERE id = $1", [id.into()])
}

pub(crate) fn end_sign_ins(user_id: &str) -> Statement {
    Statement::new("DELETE FROM sign_ins WHERE user_id = $1", [user_id.into()])
}

pub(crate) fn forget_sign_ins(before_ms: u64) -> Statement {
    Statement::new("DELETE FROM sign_ins WHERE expires_at_ms < $1", [before_ms.into()])
}

pub(crate) fn touch_token(id: &str, at_ms: u64) -> Statement {
    let values = [id.into(), at_ms.into()];
    Statement::new("UPDATE tokens SET last_used_at_ms = $2 WHERE id = $1", values)
}

/// Converts a row; returns its number, too.
pub(crate) fn read(row: &impl Columns) -> Result<(i64, UserRow), StoreError> {
    let user = UserRow {
        id: row.some_text("id")?,
        name: row.some_text("name")?,
        password: row.text("password")?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        disabled: row.some_number("disabled")? != 0,
        created_at_ms: time(row, "created_at_ms")?,
    };
    Ok((row.some_number("number")?, user))
}

pub(crate) fn read_sign_in(row: &impl Columns) -> Result<SignInRow, StoreError> {
    let kind = row.some_text("kind")?;
    Ok(SignInRow {
        id: row.some_text("id")?,
        kind: SignInKind::from_name(&kind).ok_or_else(|| damaged("kind", "it is unknown"))?,
        hash: hash(row, "hash")?,
        user_id: row.text("user_id")?,
        stands_for: row.text("stands_for")?.map(|_| hash(row, "stands_for")).transpose()?,
        created_at_ms: time(row, "created_at_ms")?,
        expires_at_ms: time(row, "expires_at_ms")?,
    })
}
