//! Tickets, as the gateway sees them.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::StoreError;

/// A ticket, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRow {
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// Whose tickets it is counted with.
    pub owner: String,
    /// The credential that it stands for, as the gateway writes it.
    pub credential: String,
    /// The stream that it opened, as the gateway writes it; none: it has not been used.
    pub binding: Option<String>,
    /// The server process that opened the stream.
    pub opened_by: Option<String>,
    /// When it was made, opened a stream or resumed it last.
    pub used_at_ms: u64,
    /// From when on it is refused, and may be removed.
    pub expires_at_ms: u64,
}

/// How a ticket is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketUse {
    /// The stream.
    pub binding: String,
    /// The server process.
    pub opened_by: String,
    /// When.
    pub at_ms: u64,
    /// The ticket's new end.
    pub expires_at_ms: u64,
}

/// What is remembered of tickets.
#[async_trait]
pub trait Tickets: Send + Sync + Debug {
    /// Adds a ticket, and removes all that have expired and the least recently used ones of its owner past `keep`.
    async fn put_ticket(&self, row: &TicketRow, keep: u32) -> Result<(), StoreError>;

    /// The ticket of this hash, also if it has expired.
    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<TicketRow>, StoreError>;

    /// Binds a ticket to its first stream. Of many calls for one ticket, however parallel, at most one returns true: the
    /// others came later, or the ticket has expired or does not exist.
    async fn open_ticket(&self, hash: &[u8; 32], first: &TicketUse) -> Result<bool, StoreError>;

    /// Notes that a ticket resumed its stream.
    async fn touch_ticket(&self, hash: &[u8; 32], used: &TicketUse) -> Result<(), StoreError>;
}
