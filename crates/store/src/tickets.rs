//! Tickets: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::StoreError;

/// A ticket, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketRow {
    /// SHA-256 of the secret; unique.
    pub hash: [u8; 32],
    /// The owner that it counts for.
    pub owner: String,
    /// The credential that it acts for, as encoded by the gateway.
    pub credential: String,
    /// The stream that it opened, as encoded by the gateway; `None` if it is unused.
    pub binding: Option<String>,
    /// The server process that opened the stream.
    pub opened_by: Option<String>,
    /// When it was created, or last opened or resumed a stream.
    pub used_at_ms: u64,
    /// When it expires and may be removed.
    pub expires_at_ms: u64,
}

/// A use of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketUse {
    /// The stream that is opened or resumed.
    pub binding: String,
    /// The server process that opens it.
    pub opened_by: String,
    /// The time of use.
    pub at_ms: u64,
    /// The new expiry time.
    pub expires_at_ms: u64,
}

/// Storage of tickets, which open one stream each.
#[async_trait]
pub trait Tickets: Send + Sync + Debug {
    /// Adds a ticket. Removes all expired ones, and the least recently used ones of its owner beyond `keep`.
    async fn put_ticket(&self, row: &TicketRow, keep: u32) -> Result<(), StoreError>;

    /// The ticket with this hash, even if it has expired.
    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<TicketRow>, StoreError>;

    /// Binds a ticket to its first stream. Of any number of parallel calls for one ticket, at most one
    /// returns true; the others are later, or the ticket has expired or does not exist.
    async fn open_ticket(&self, hash: &[u8; 32], first: &TicketUse) -> Result<bool, StoreError>;

    /// Records that a ticket resumed its stream.
    async fn touch_ticket(&self, hash: &[u8; 32], used: &TicketUse) -> Result<(), StoreError>;
}
