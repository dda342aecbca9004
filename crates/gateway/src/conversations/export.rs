//! Conversations as files.

use bytes::Bytes;
use headwater_agent::export::{Export, ExportFormat};
use headwater_protocol::conversation::{ConversationId, LogEntry};

use super::live::READ_ENTRIES;
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::quota::owner_permits::OwnerPermit;
use crate::state::Gateway;

/// A conversation as a file.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) name: String,
    pub(crate) text: Bytes,
    /// Held until the file is sent: it bounds the memory of all exports.
    pub(crate) permit: OwnerPermit,
}

impl Gateway {
    /// Exports a conversation as it is now, for everybody who may read it.
    pub(crate) async fn export_conversation(
        &self,
        who: &Identity,
        id: &ConversationId,
        format: ExportFormat,
    ) -> Result<Exported, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Read, id).await?;
        let permit = self.conversations.exports.acquire(&who.owner).await;
        let live = self.conversations.of(&row).await?;
        let conversation = live.fold().clone();
        let log = if format == ExportFormat::Json {
            self.log_until(row.number, conversation.last_seq).await?
        } else {
            Vec::new()
        };
        let made = tokio::task::spawn_blocking(move || {
            let export =
                Export { id: &row.id, title: None, server: "", conversation: &conversation, log: &log };
            (export.file_name(format), Bytes::from(export.text(format)))
        });
        let (name, text) = made.await.map_err(|error| ApiError::internal(&error))?;
        Ok(Exported { name, text, permit })
    }

    /// The log up to this entry as it is stored: without the deltas of texts that have ended.
    async fn log_until(&self, number: i64, last: u64) -> Result<Vec<LogEntry>, ApiError> {
        let (mut log, mut after) = (Vec::new(), 0);
        while after < last {
            let entries = self.store.conversation_log(number, after, READ_ENTRIES).await?;
            let Some(newest) = entries.last() else { break };
            after = newest.seq;
            log.extend(entries.into_iter().filter(|entry| entry.seq <= last));
        }
        Ok(log)
    }
}
