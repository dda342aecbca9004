//! The tables `conversation_members` and `conversation_shares`.

use headwater_protocol::conversation::ConversationId;

use super::conversations::parse;
use super::{Columns, Select, Statement, damaged, hash, hex, time};
use crate::{ConversationMemberRow, ConversationShareRow, StoreError};

const MEMBER: &str = "conversation_id, member, role, added_at_ms FROM conversation_members";
const SHARE: &str = "id, conversation_id, role, hash, made_by, created_at_ms, expires_at_ms, revoked_at_ms \
                     FROM conversation_shares";
/// More members or links than any conversation has.
const ALL: u32 = 100_000;

pub(crate) fn put_member(row: &ConversationMemberRow) -> Statement {
    let values = [
        row.conversation_id.as_str().into(),
        row.member.as_str().into(),
        row.role.name().into(),
        row.added_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO conversation_members (conversation_id, member, role, added_at_ms) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (conversation_id, member) DO UPDATE SET role = excluded.role",
        values,
    )
}

pub(crate) fn members(id: &ConversationId, member: Option<&str>) -> Statement {
    let select = Select::new(MEMBER).when("conversation_id =", Some(id.as_str())).when("member =", member);
    select.page("member", ALL)
}

pub(crate) fn remove_member(id: &ConversationId, member: &str) -> Statement {
    Statement::new(
        "DELETE FROM conversation_members WHERE conversation_id = $1 AND member = $2",
        [id.as_str().into(), member.into()],
    )
}

pub(crate) fn put_share(row: &ConversationShareRow) -> Statement {
    let values = [
        row.id.as_str().into(),
        row.conversation_id.as_str().into(),
        row.role.name().into(),
        hex(&row.hash).into(),
        row.made_by.as_str().into(),
        row.created_at_ms.into(),
        row.expires_at_ms.into(),
        row.revoked_at_ms.into(),
    ];
    Statement::new(
        "INSERT INTO conversation_shares (id, conversation_id, role, hash, made_by, created_at_ms, expires_at_ms, \
         revoked_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        values,
    )
}

pub(crate) fn share_by_hash(hash: &[u8; 32]) -> Statement {
    Select::new(SHARE).when("hash =", Some(hex(hash))).page("number", 1)
}

pub(crate) fn shares(id: &ConversationId) -> Statement {
    Select::new(SHARE).when("conversation_id =", Some(id.as_str())).page("number", ALL)
}

pub(crate) fn revoke(id: &ConversationId, share: &str, at_ms: u64) -> Statement {
    Statement::new(
        "UPDATE conversation_shares SET revoked_at_ms = $3 \
         WHERE conversation_id = $1 AND id = $2 AND revoked_at_ms IS NULL",
        [id.as_str().into(), share.into(), at_ms.into()],
    )
}

/// Ends the memberships of a user that is removed, and the links that it has created.
pub(super) fn remove_user(name: &str, at_ms: u64) -> [Statement; 2] {
    [
        Statement::new("DELETE FROM conversation_members WHERE member = $1", [name.into()]),
        Statement::new(
            "UPDATE conversation_shares SET revoked_at_ms = $2 WHERE LOWER(made_by) = $1 AND revoked_at_ms IS NULL",
            [name.into(), at_ms.into()],
        ),
    ]
}

pub(crate) fn read_member(row: &impl Columns) -> Result<ConversationMemberRow, StoreError> {
    Ok(ConversationMemberRow {
        conversation_id: parse("conversation_id", &row.some_text("conversation_id")?)?,
        member: row.some_text("member")?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        added_at_ms: time(row, "added_at_ms")?,
    })
}

pub(crate) fn read_share(row: &impl Columns) -> Result<ConversationShareRow, StoreError> {
    Ok(ConversationShareRow {
        id: row.some_text("id")?,
        conversation_id: parse("conversation_id", &row.some_text("conversation_id")?)?,
        role: row.some_text("role")?.parse().map_err(|why| damaged("role", why))?,
        hash: hash(row, "hash")?,
        made_by: row.some_text("made_by")?,
        created_at_ms: time(row, "created_at_ms")?,
        expires_at_ms: time(row, "expires_at_ms")?,
        revoked_at_ms: row.number("revoked_at_ms")?.map(|_| time(row, "revoked_at_ms")).transpose()?,
    })
}
