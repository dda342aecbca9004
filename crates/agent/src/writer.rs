//! Appends events while more arrive: what has come since the last append goes with the next one. So a slow append never
//! holds the stream of a model, and a fast one adds no delay.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use headwater_protocol::conversation::ConversationEvent;

use crate::journal::{Journal, JournalError};
use crate::recorder::add;

/// The events that wait while an append takes long. After that the stream waits too.
const MAX_WAITING: usize = 10_000;

/// Writes to a journal in the order of [`push`](Self::push).
pub(crate) struct Writer {
    journal: Arc<dyn Journal>,
    waiting: Vec<ConversationEvent>,
    /// How many waiting events were added, merged or not.
    added: usize,
    append: Option<BoxFuture<'static, Result<(), JournalError>>>,
}

impl Writer {
    pub(crate) const fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal, waiting: Vec::new(), added: 0, append: None }
    }

    pub(crate) fn push(&mut self, events: impl IntoIterator<Item = ConversationEvent>) {
        for event in events {
            add(&mut self.waiting, event);
            self.added += 1;
        }
    }

    pub(crate) const fn has_room(&self) -> bool {
        self.added < MAX_WAITING
    }

    /// Appends what waits, and returns when it is written; never if nothing waits. Dropping the future loses nothing.
    pub(crate) async fn write(&mut self) -> Result<(), JournalError> {
        if self.append.is_none() && !self.waiting.is_empty() {
            let (journal, events) = (Arc::clone(&self.journal), std::mem::take(&mut self.waiting));
            self.added = 0;
            self.append = Some(async move { journal.append(events).await.map(drop) }.boxed());
        }
        let Some(append) = &mut self.append else { return std::future::pending().await };
        let written = append.await;
        self.append = None;
        written
    }

    /// Writes everything.
    pub(crate) async fn finish(mut self) -> Result<(), JournalError> {
        while self.append.is_some() || !self.waiting.is_empty() {
            self.write().await?;
        }
        Ok(())
    }
}
