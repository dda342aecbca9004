//! A conversation in use: the fold of its log in memory, and its only writer.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use async_trait::async_trait;
use headwater_agent::{Decide, Journal, JournalError};
use headwater_protocol::conversation::{
    Conversation, ConversationEvent, ConversationId, LogEntry, Part, ToolCall, ToolCallState,
};
use headwater_store::{ConversationRow, ConversationState, Store, StoreError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::turns::Runner;
use crate::now_ms;

/// Entries that are read at once.
pub(super) const READ_ENTRIES: u32 = 256;
/// New entries that stay in memory, so that those who follow live read nothing from the store.
const RECENT_ENTRIES: usize = 256;
/// Their bytes, besides the last one.
const RECENT_BYTES: usize = 1 << 20;

/// A conversation in use.
#[derive(Debug)]
pub(crate) struct Live {
    inner: Arc<Inner>,
    tasks: TaskTracker,
    /// Whoever runs its turns.
    pub(super) runner: Runner,
    /// Whether a model was asked for a title.
    pub(super) is_titled: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    row: ConversationRow,
    store: Arc<dyn Store>,
    conversation: Arc<RwLock<Conversation>>,
    /// One append at a time. Tool calls that wait for a person.
    writer: tokio::sync::Mutex<HashSet<String>>,
    recent: Mutex<Recent>,
    /// The bytes of the log, without deltas.
    log_bytes: AtomicU64,
    changes: watch::Sender<u64>,
    gone: CancellationToken,
}

/// The newest entries, without a gap.
#[derive(Debug)]
struct Recent {
    /// With their bytes.
    entries: VecDeque<(Arc<LogEntry>, usize)>,
    bytes: usize,
    /// All entries after this one are there.
    after: u64,
}

impl Recent {
    fn new(after: u64) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, after }
    }

    fn push(&mut self, entry: Arc<LogEntry>, bytes: usize) {
        self.entries.push_back((entry, bytes));
        self.bytes += bytes;
        while self.entries.len() > RECENT_ENTRIES || (self.bytes > RECENT_BYTES && self.entries.len() > 1) {
            let Some((entry, bytes)) = self.entries.pop_front() else { return };
            self.bytes -= bytes;
            self.after = entry.seq;
        }
    }

    fn after(&self, seq: u64) -> Option<Vec<Arc<LogEntry>>> {
        let after = self.entries.partition_point(|(entry, _)| entry.seq <= seq);
        let rest = || self.entries.iter().skip(after).map(|(entry, _)| Arc::clone(entry)).collect();
        (self.after <= seq).then(rest)
    }
}

/// The bytes of an event in memory, about.
fn bytes_of(event: &ConversationEvent) -> usize {
    match event {
        ConversationEvent::TextDelta { text, .. } | ConversationEvent::ToolCallDelta { text, .. } => {
            text.len()
        }
        event => serde_json::to_string(event).map_or(0, |text| text.len()),
    }
}

impl Live {
    /// Reads and folds the log of a conversation.
    pub(super) async fn load(
        row: ConversationRow,
        store: Arc<dyn Store>,
        tasks: TaskTracker,
    ) -> Result<Self, StoreError> {
        let mut conversation = Conversation::default();
        loop {
            let entries = store.conversation_log(row.number, conversation.last_seq, READ_ENTRIES).await?;
            for entry in &entries {
                conversation.apply(entry);
            }
            if entries.len() < READ_ENTRIES as usize {
                break;
            }
        }
        let inner = Inner {
            writer: tokio::sync::Mutex::new(waiting(&conversation)),
            recent: Mutex::new(Recent::new(conversation.last_seq)),
            log_bytes: AtomicU64::new(row.log_bytes),
            changes: watch::Sender::new(conversation.last_seq),
            conversation: Arc::new(RwLock::new(conversation)),
            gone: CancellationToken::new(),
            row,
            store,
        };
        Ok(Self {
            inner: Arc::new(inner),
            tasks,
            runner: Runner::default(),
            is_titled: AtomicBool::new(false),
        })
    }

    /// The row as it was when the conversation was loaded. Its id, owner, parent and root never change.
    pub(crate) fn row(&self) -> &ConversationRow {
        &self.inner.row
    }

    /// What the log says. The guard must not be held across an `await`.
    pub(crate) fn fold(&self) -> RwLockReadGuard<'_, Conversation> {
        self.inner.fold()
    }

    /// The bytes of its log, without deltas: about what it takes in memory.
    pub(super) fn log_bytes(&self) -> u64 {
        self.inner.log_bytes.load(Ordering::Relaxed)
    }

    /// Whether the conversation was deleted, or its log was written by somebody else.
    pub(crate) fn is_gone(&self) -> bool {
        self.inner.gone.is_cancelled()
    }

    /// Ends every use of it: its readers end, and nothing more is appended.
    pub(super) fn set_gone(&self) {
        self.inner.gone.cancel();
    }

    /// Cancelled when it is gone.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.inner.gone
    }

    /// The requests for consent of the running turn that nobody has answered.
    pub(crate) fn open_approvals(&self) -> Vec<String> {
        let now = self.fold();
        if now.running().is_none() {
            return Vec::new();
        }
        let open = open_calls(&now).filter_map(|call| call.approval.as_ref());
        let open = open.filter(|approval| approval.decision.is_none());
        open.map(|approval| approval.approval_id.clone()).collect()
    }

    /// The entries after a `seq`, in order; none if there are none. A long log is returned in parts.
    pub(crate) async fn entries_after(&self, seq: u64) -> Result<Vec<Arc<LogEntry>>, StoreError> {
        if let Some(recent) = self.inner.recent().after(seq) {
            return Ok(recent);
        }
        let (number, store) = (self.inner.row.number, &self.inner.store);
        let entries = store.conversation_log(number, seq, READ_ENTRIES).await?;
        Ok(entries.into_iter().map(Arc::new).collect())
    }
}

impl Inner {
    fn fold(&self) -> RwLockReadGuard<'_, Conversation> {
        self.conversation.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn append(&self, decide: Decide) -> Result<Vec<LogEntry>, JournalError> {
        let mut waiting = self.writer.lock().await;
        if self.gone.is_cancelled() {
            return Err(JournalError("it was deleted".to_owned()));
        }
        let (events, first_seq) = {
            let now = self.fold();
            (decide(&now), now.last_seq + 1)
        };
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let at_ms = now_ms();
        let entries: Vec<_> =
            (first_seq..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms, event }).collect();
        let (state, waits) = self.state_after(&waiting, &entries);
        let stored = self.store.append_conversation(self.row.number, &entries, state).await;
        if let Err(error) = stored {
            if matches!(error, StoreError::Conflict { .. }) {
                self.gone.cancel();
            }
            return Err(JournalError(error.to_string()));
        }
        *waiting = waits;
        self.publish(&entries);
        Ok(entries)
    }

    /// Adds stored entries to what readers see.
    fn publish(&self, entries: &[LogEntry]) {
        {
            let mut now = self.conversation.write().unwrap_or_else(PoisonError::into_inner);
            for entry in entries {
                now.apply(entry);
            }
        }
        let mut recent = self.recent();
        for entry in entries {
            let bytes = bytes_of(&entry.event);
            recent.push(Arc::new(entry.clone()), bytes);
            if !matches!(
                entry.event,
                ConversationEvent::TextDelta { .. } | ConversationEvent::ToolCallDelta { .. }
            ) {
                self.log_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        }
        drop(recent);
        if let Some(last) = entries.last() {
            self.changes.send_replace(last.seq);
        }
    }

    /// What the log says after these entries, and the tool calls that wait for a person then.
    fn state_after(
        &self,
        waiting: &HashSet<String>,
        entries: &[LogEntry],
    ) -> (ConversationState, HashSet<String>) {
        let mut waits = waiting.clone();
        let mut is_running = self.fold().running().is_some();
        for entry in entries {
            match &entry.event {
                ConversationEvent::TurnStarted { .. } => is_running = true,
                ConversationEvent::TurnEnded { .. } => {
                    is_running = false;
                    waits.clear();
                }
                ConversationEvent::ApprovalRequested { tool_call_id, .. }
                | ConversationEvent::InputRequested { tool_call_id, .. } => {
                    waits.insert(tool_call_id.clone());
                }
                ConversationEvent::ApprovalAnswered { tool_call_id, .. }
                | ConversationEvent::InputAnswered { tool_call_id, .. }
                | ConversationEvent::ToolCallEnded { tool_call_id, .. } => {
                    waits.remove(tool_call_id);
                }
                _ => {}
            }
        }
        (ConversationState { is_running, is_waiting: !waits.is_empty() }, waits)
    }
}

/// Whether the running turn waits for a person.
pub(super) fn is_waiting(now: &Conversation) -> bool {
    !waiting(now).is_empty()
}

/// The tool calls of the running turn that wait for a person.
fn waiting(now: &Conversation) -> HashSet<String> {
    if now.running().is_none() {
        return HashSet::new();
    }
    open_calls(now).map(|call| call.tool_call_id.clone()).collect()
}

/// The tool calls that wait for a person.
fn open_calls(now: &Conversation) -> impl Iterator<Item = &ToolCall> {
    let parts = now.messages.iter().flat_map(|message| &message.parts);
    let calls = parts.filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.as_ref()),
        _ => None,
    });
    calls.filter(|call| {
        let is_undecided = call.approval.as_ref().is_some_and(|approval| approval.decision.is_none())
            || call.input_request.as_ref().is_some_and(|request| request.answers.is_none());
        call.state == ToolCallState::Waiting && is_undecided
    })
}

#[async_trait]
impl Journal for Live {
    fn id(&self) -> &ConversationId {
        &self.inner.row.id
    }

    async fn update(&self, decide: Decide) -> Result<Vec<LogEntry>, JournalError> {
        let inner = Arc::clone(&self.inner);
        // A task of its own: a caller that leaves half-way must not keep readers from what was stored.
        let appended = self.tasks.spawn(async move { inner.append(decide).await }).await;
        appended.map_err(|_| JournalError("the server is being stopped".to_owned()))?
    }

    fn conversation(&self) -> &Arc<RwLock<Conversation>> {
        &self.inner.conversation
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }
}
