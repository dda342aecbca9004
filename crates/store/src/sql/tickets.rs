//! The table `tickets`.

use super::{Columns, Select, Statement, hash, hex, time};
use crate::{StoreError, TicketRow, TicketUse};

const TICKET: &str = "hash, owner, credential, binding, opened_by, used_at_ms, expires_at_ms FROM tickets";
/// More tickets than any owner has.
const MAX_TICKETS: i64 = 1_000_000;

pub(crate) fn put(row: &TicketRow, keep: u32) -> Vec<Statement> {
    let values = [
        hex(&row.hash).into(),
        row.owner.as_str().into(),
        row.credential.as_str().into(),
        row.binding.as_deref().into(),
        row.opened_by.as_deref().into(),
        row.used_at_ms.into(),
        row.expires_at_ms.into(),
    ];
    let others = i64::from(keep.saturating_sub(1));
    vec![
        Statement::new("DELETE FROM tickets WHERE expires_at_ms <= $1", [row.used_at_ms.into()]),
        Statement::new(
            "DELETE FROM tickets WHERE number IN (SELECT number FROM tickets WHERE owner = $1 \
             ORDER BY used_at_ms DESC, number DESC LIMIT $2 OFFSET $3)",
            [row.owner.as_str().into(), MAX_TICKETS.into(), others.into()],
        ),
        Statement::new(
            "INSERT INTO tickets (hash, owner, credential, binding, opened_by, used_at_ms, expires_at_ms) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            values,
        ),
    ]
}

pub(crate) fn get(hash: &[u8; 32]) -> Statement {
    Select::new(TICKET).when("hash =", Some(hex(hash))).page("number", 1)
}

pub(crate) fn open(hash: &[u8; 32], first: &TicketUse) -> Statement {
    let values = [
        hex(hash).into(),
        first.binding.as_str().into(),
        first.opened_by.as_str().into(),
        first.at_ms.into(),
        first.expires_at_ms.into(),
    ];
    Statement::new(
        "UPDATE tickets SET binding = $2, opened_by = $3, used_at_ms = $4, expires_at_ms = $5 \
         WHERE hash = $1 AND binding IS NULL AND expires_at_ms > $4",
        values,
    )
}

pub(crate) fn touch(hash: &[u8; 32], used: &TicketUse) -> Statement {
    let values =
        [hex(hash).into(), used.opened_by.as_str().into(), used.at_ms.into(), used.expires_at_ms.into()];
    Statement::new(
        "UPDATE tickets SET opened_by = $2, used_at_ms = $3, expires_at_ms = $4 WHERE hash = $1",
        values,
    )
}

pub(crate) fn read(row: &impl Columns) -> Result<TicketRow, StoreError> {
    Ok(TicketRow {
        hash: hash(row, "hash")?,
        owner: row.some_text("owner")?,
        credential: row.some_text("credential")?,
        binding: row.text("binding")?,
        opened_by: row.text("opened_by")?,
        used_at_ms: time(row, "used_at_ms")?,
        expires_at_ms: time(row, "expires_at_ms")?,
    })
}
