//! The tables `session_members` and `shares`.

use headwater_protocol::SessionId;

use super::{Columns, Select, Statement, damaged, hash, hex, time};
use crate::{MemberRow, ShareRow, StoreError};

const SHARE: &str =
    "id, session_id, role, hash, made_by, created_at_ms, expires_at_ms, revoked_at_ms FROM shares";

pub(crate) fn put_member(row: &MemberRow) -> Statement {
    let values = [
        row.session_id.to_string().into(),
        row.member.as_str().into(),
        row.role.name().into(),
        row.added_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO session_members (session_id, member, role, added_at_ms) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (session_id, member) DO UPDATE SET role = excluded.role",
        values,
    )
}

pub(crate) fn member(session: SessionId, member: &str) -> Statement {
    let values = [session.to_string().into(), member.into()];
    Statement::new(
        "SELECT session_id, member, role, added_at_ms FROM session_members WHERE session_id = $1 AND member = $2",
        values,
    )
}

pub(crate) fn members(session: SessionId) -> Statement {
    Statement::new(
        "SELECT session_id, member, role, added_at_ms FROM session_members WHERE session_id = $1 ORDER BY member",
        [session.to_string().into()],
    )
}

pub(crate) fn remove_member(session: SessionId, member: &str) -> Statement {
    let values = [session.to_string().into(), member.into()];
    Statement::new("DELETE FROM session_members WHERE session_id = $1 AND member = $2", values)
}

pub(crate) fn put(row: &ShareRow) -> Statement {
    let values = [
        row.id.as_str().into(),
        row.session_id.to_string().into(),
        row.role.name().into(),
        hex(&row.hash).into(),
        row.made_by.as_str().into(),
        row.created_at_ms.into(),
        row.expires_at_ms.into(),
        row.revoked_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO shares (id, session_id, role, hash, made_by, created_at_ms, expires_at_ms, revoked_at_ms) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        values,
    )
}

pub(crate) fn by_hash(hash: &[u8; 32]) -> Statement {
    Select::new(SHARE).when("hash =", Some(hex(hash))).page("number", 1)
}

pub(crate) fn of_session(session: SessionId) -> Statement {
    Statement::new(
        "SELECT id, session_id, role, hash, made_by, created_at_ms, expires_at_ms, revoked_at_ms FROM shares \
         WHERE session_id = $1 ORDER BY number",
        [session.to_string().into()],
    )
}

pub(crate) fn revoke(session: SessionId, id: &str, at_ms: u64) -> Statement {
    let values = [session.to_string().into(), id.into(), at_ms.into()];
    Statement::new(
        "UPDATE shares SET revoked_at_ms = $3 WHERE session_id = $1 AND id = $2 AND revoked_at_ms IS NULL",
        values,
    )
}

pub(crate) fn read_member(row: &impl Columns) -> Result<MemberRow, StoreError> {
    Ok(MemberRow {
        session_id: row.some_text("session_id")?.parse().map_err(|why| damaged("session_id", why))?,
        member: row.some_text("member")?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        added_at_ms: time(row, "added_at_ms")?,
    })
}

pub(crate) fn read(row: &impl Columns) -> Result<ShareRow, StoreError> {
    Ok(ShareRow {
        id: row.some_text("id")?,
        session_id: row.some_text("session_id")?.parse().map_err(|why| damaged("session_id", why))?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        hash: hash(row, "hash")?,
        made_by: row.some_text("made_by")?,
        created_at_ms: time(row, "created_at_ms")?,
        expires_at_ms: time(row, "expires_at_ms")?,
        revoked_at_ms: row.number("revoked_at_ms")?.map(|_| time(row, "revoked_at_ms")).transpose()?,
    })
}
