//! Conversations with agents.
//!
//! A conversation is a log in the store; [`Live`] is one that is in use, with its fold in memory. It is loaded when
//! somebody needs it, and dropped when it rests: an idle conversation costs only rows. [`turns`] runs the agent; there is
//! one runner for each conversation at most. Everything that happens is an event of the log, so that a turn outlives the
//! server that runs it: a server that stops leaves it running in the log, and the next one resumes it.

mod answers;
mod attachments;
mod children;
mod create;
mod delete;
mod export;
mod limits;
mod live;
mod mcp_servers;
mod messages;
pub(crate) mod models;
mod place;
mod reader;
mod settings;
mod titles;
mod turns;
mod wake;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_protocol::conversation::ConversationId;
use headwater_store::{ConversationRow, Store};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

pub(crate) use self::create::conversation_body;
pub(crate) use self::limits::MAX_ATTACHMENTS;
pub(crate) use self::live::Live;
pub(crate) use self::messages::NewRequest;
pub(crate) use self::models::Models;
pub(crate) use self::reader::LogReader;
pub(crate) use self::settings::Settings;
use crate::auth::conversations::no_conversation;
use crate::error::ApiError;
use crate::quota::owner_permits::OwnerPermits;

/// A conversation that nobody has used for this long is dropped from memory.
const IDLE: Duration = Duration::from_mins(1);

/// Conversations that nobody uses and that stay in memory. More are dropped before that, the least recently used first.
const MAX_RESTING: usize = 256;
/// Bytes of their logs.
const MAX_RESTING_BYTES: u64 = 64 << 20;

/// The conversations of this server.
#[derive(Debug)]
pub(crate) struct Conversations {
    store: Arc<dyn Store>,
    tasks: TaskTracker,
    live: Mutex<HashMap<ConversationId, Slot>>,
    /// Turns that run at once.
    permits: OwnerPermits,
    watched: wake::Watched,
    /// Exports that are in memory.
    exports: OwnerPermits,
    /// The models of the configuration.
    pub(crate) models: Models,
}

/// A conversation that is in memory, or is being loaded.
#[derive(Debug)]
struct Slot {
    cell: Arc<OnceCell<Arc<Live>>>,
    used: Instant,
}

impl Slot {
    /// The bytes of its log, if nobody uses it now.
    fn resting_bytes(&self) -> Option<u64> {
        let live = self.cell.get().filter(|live| Arc::strong_count(live) == 1)?;
        (Arc::strong_count(&self.cell) == 1).then(|| live.log_bytes())
    }

    /// Whether nobody has used it for a while.
    fn is_idle(&self, now: Instant) -> bool {
        self.resting_bytes().is_some() && now.saturating_duration_since(self.used) >= IDLE
    }
}

impl Conversations {
    /// The conversations of this store. What they write is completed in `tasks`.
    pub(crate) fn new(store: Arc<dyn Store>, tasks: TaskTracker, models: Models) -> Self {
        let permits = OwnerPermits::new(limits::MAX_TURNS, limits::MAX_TURNS_OF_OWNER);
        let exports = OwnerPermits::new(limits::MAX_EXPORTS, limits::MAX_EXPORTS_OF_OWNER);
        let (live, watched) = (Mutex::default(), wake::Watched::default());
        Self { store, tasks, live, permits, watched, exports, models }
    }

    /// The conversation with this id, with its log folded. The caller has checked who may use it.
    pub(crate) async fn open(&self, id: &ConversationId) -> Result<Arc<Live>, ApiError> {
        loop {
            let cell = self.slot(id);
            let live = cell.get_or_try_init(|| self.load(id)).await;
            match live {
                Ok(live) if !live.is_gone() => return Ok(Arc::clone(live)),
                // It was deleted, or somebody else has written to its log: what is stored is the truth.
                Ok(_) => self.forget(id, &cell),
                Err(error) => {
                    self.forget(id, &cell);
                    return Err(error);
                }
            }
        }
    }

    /// The conversation of a row that was read just now.
    pub(crate) async fn of(&self, row: &ConversationRow) -> Result<Arc<Live>, ApiError> {
        self.open(&row.id).await
    }

    async fn load(&self, id: &ConversationId) -> Result<Arc<Live>, ApiError> {
        let row = self.store.conversation(id).await?.ok_or_else(|| no_conversation(id))?;
        Ok(Arc::new(Live::load(row, Arc::clone(&self.store), self.tasks.clone()).await?))
    }

    fn slot(&self, id: &ConversationId) -> Arc<OnceCell<Arc<Live>>> {
        let now = Instant::now();
        let mut all = self.all();
        if !all.contains_key(id) {
            make_room(&mut all);
        }
        let slot = all.entry(id.clone()).or_insert_with(|| Slot { cell: Arc::default(), used: now });
        slot.used = now;
        Arc::clone(&slot.cell)
    }

    fn forget(&self, id: &ConversationId, cell: &Arc<OnceCell<Arc<Live>>>) {
        let mut all = self.all();
        // Another request may have put a new one there.
        if all.get(id).is_some_and(|slot| Arc::ptr_eq(&slot.cell, cell)) {
            all.remove(id);
        }
    }

    /// Drops the conversations that rest from memory.
    pub(crate) fn drop_idle(&self) {
        let now = Instant::now();
        self.all().retain(|_, slot| !slot.is_idle(now));
    }

    /// How many conversations are in memory.
    pub(crate) fn count_live(&self) -> usize {
        self.all().len()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ConversationId, Slot>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the conversations that rest and that do not fit, the least recently used ones.
fn make_room(all: &mut HashMap<ConversationId, Slot>) {
    let resting = all.iter().filter_map(|(id, slot)| Some((slot.used, slot.resting_bytes()?, id.clone())));
    let mut resting: Vec<_> = resting.collect();
    resting.sort_unstable_by_key(|(used, ..)| Reverse(*used));
    let mut total = 0;
    for (count, (_, bytes, id)) in resting.into_iter().enumerate() {
        total += bytes;
        // One more is about to come.
        if count + 1 >= MAX_RESTING || total > MAX_RESTING_BYTES {
            all.remove(&id);
        }
    }
}
