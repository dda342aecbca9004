//! Places among what may be open at once: for each session, for each owner, and in all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SessionId;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// How many there may be at once: of all owners, of one owner, and of one session. Whoever may look at one session must
/// not use up its owner's share, and no owner may use up what all have.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Of all owners together.
    pub all: usize,
    /// Of one owner.
    pub of_owner: usize,
    /// Of one session.
    pub of_session: usize,
}

/// A place among those that are open at once.
#[derive(Debug)]
pub struct Place {
    _of_session: OwnedSemaphorePermit,
    _of_owner: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    /// The turn to work, if it is work: given back while its reader is slow.
    pub turn: Option<OwnedSemaphorePermit>,
}

/// Places of all, of each owner and of each session.
#[derive(Debug)]
pub struct Places {
    most: Most,
    /// The places of all owners together.
    pub all: Arc<Semaphore>,
    owners: Shares<String>,
    sessions: Shares<SessionId>,
    /// Turns to work; none are needed for what only waits.
    pub working: Option<Arc<Semaphore>>,
}

/// The places of each of many, as long as somebody has or wants one.
#[derive(Debug)]
pub struct Shares<K>(Mutex<HashMap<K, Arc<Semaphore>>>);

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq> Shares<K> {
    /// The semaphore of this key.
    pub fn of(&self, key: K, most: usize) -> Arc<Semaphore> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has a place or waits for one has a reference, too.
        shares.retain(|_, places| Arc::strong_count(places) > 1);
        Arc::clone(shares.entry(key).or_insert_with(|| Arc::new(Semaphore::new(most))))
    }
}

impl Places {
    /// `working`: how many of them may work at the same time.
    pub fn new(most: Most, working: Option<usize>) -> Self {
        Self {
            most,
            all: Arc::new(Semaphore::new(most.all)),
            owners: Shares::default(),
            sessions: Shares::default(),
            working: working.map(|working| Arc::new(Semaphore::new(working))),
        }
    }

    /// Takes a place, or says that there are too many of `what`.
    pub fn take(&self, owner: &str, session: SessionId, what: &str) -> Result<Place, Fault> {
        let full = |whose: &'static str| {
            let fault = Fault::new(FaultKind::Exhausted, format!("too many {what} {whose}at once"));
            move |_| {
                fault.hint(
                    "ask again when others have ended; those whose answer is not read end by themselves",
                )
            }
        };
        let Most { of_owner, of_session, .. } = self.most;
        let of_session = self.sessions.of(session, of_session).try_acquire_owned();
        let of_owner = self.owners.of(owner.to_owned(), of_owner).try_acquire_owned();
        Ok(Place {
            _of_session: of_session.map_err(full("in this session "))?,
            _of_owner: of_owner.map_err(full("of this owner "))?,
            _of_all: Arc::clone(&self.all).try_acquire_owned().map_err(full(""))?,
            turn: match &self.working {
                Some(working) => Some(Arc::clone(working).try_acquire_owned().map_err(full(""))?),
                None => None,
            },
        })
    }
}

/// Turns at something of which only so much is done at once. Who waits, waits first for those of the same owner.
#[derive(Debug)]
pub struct OwnerTurns {
    all: Arc<Semaphore>,
    owners: Shares<String>,
    of_owner: usize,
}

/// A turn; dropping it gives it to the next.
#[derive(Debug)]
pub struct OwnerTurn {
    _of_owner: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl OwnerTurns {
    /// So many in all, and so many of each owner.
    pub fn new(all: usize, of_owner: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), owners: Shares::default(), of_owner }
    }

    /// Waits for a turn of this owner.
    pub async fn turn(&self, owner: &str) -> Result<OwnerTurn, AcquireError> {
        let of_owner = self.owners.of(owner.to_owned(), self.of_owner).acquire_owned().await?;
        Ok(OwnerTurn { _of_owner: of_owner, _of_all: Arc::clone(&self.all).acquire_owned().await? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_uses_up_its_own_places_and_not_those_of_others() {
        let places = Places::new(Most { all: 6, of_owner: 4, of_session: 3 }, Some(6));
        let (one, two) = (SessionId::random(), SessionId::random());
        let take = |owner: &str, session| places.take(owner, session, "searches");
        let mut held: Vec<_> = (0..3).map(|_| take("ann", one).unwrap()).collect();
        assert!(take("ann", one).unwrap_err().message.contains("in this session"));
        held.push(take("ann", two).unwrap());
        assert!(take("ann", two).unwrap_err().message.contains("of this owner"));
        held.extend((0..2).map(|_| take("bob", SessionId::random()).unwrap()));
        assert_eq!(take("cid", one).unwrap_err().kind, FaultKind::Exhausted);
        held.clear();
        assert!(take("ann", one).is_ok());
    }

    #[tokio::test]
    async fn an_owner_that_waits_for_its_turn_keeps_no_other_waiting() {
        let turns = OwnerTurns::new(3, 2);
        let held = (turns.turn("ann").await, turns.turn("ann").await);
        let mut waiting = std::pin::pin!(turns.turn("ann"));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        assert!(turns.turn("bob").await.is_ok());
        drop(held);
        assert!(waiting.await.is_ok());
    }
}
