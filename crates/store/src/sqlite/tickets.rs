//! Storage of tickets.

use async_trait::async_trait;

use super::SqliteStore;
use crate::sql::{read_all, tickets};
use crate::{StoreError, TicketRow, TicketUse, Tickets};

#[async_trait]
impl Tickets for SqliteStore {
    async fn put_ticket(&self, row: &TicketRow, keep: u32) -> Result<(), StoreError> {
        self.write(tickets::put(row, keep)).await.map(drop)
    }

    async fn ticket(&self, hash: &[u8; 32]) -> Result<Option<TicketRow>, StoreError> {
        Ok(read_all(&self.fetch(tickets::get(hash)).await?, tickets::read)?.pop())
    }

    async fn open_ticket(&self, hash: &[u8; 32], first: &TicketUse) -> Result<bool, StoreError> {
        Ok(self.write(vec![tickets::open(hash, first)]).await?.changed > 0)
    }

    async fn touch_ticket(&self, hash: &[u8; 32], used: &TicketUse) -> Result<(), StoreError> {
        self.write(vec![tickets::touch(hash, used)]).await.map(drop)
    }
}
