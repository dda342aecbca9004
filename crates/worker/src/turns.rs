//! Who asks twice at the same time for one thing gets it once: requests for the same id go one after the other.

use std::hash::{DefaultHasher, Hash, Hasher};

use tokio::sync::{Mutex, MutexGuard};

/// Ids share a turn now and then, which only costs a short wait.
const TURNS: usize = 64;

/// A fixed number of queues, one of them for each id.
#[derive(Debug)]
pub(crate) struct Turns([Mutex<()>; TURNS]);

impl Turns {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(())))
    }

    /// Waits for the turn of this id; it lasts as long as what is returned.
    pub(crate) async fn of(&self, id: impl Hash) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let n = usize::try_from(hasher.finish() % TURNS as u64).unwrap_or(0);
        self.0[n].lock().await
    }
}
