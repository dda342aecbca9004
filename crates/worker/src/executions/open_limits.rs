//! How many executions are open at once: of a session, of an owner, and of all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{SessionId, StartSpec, Stdin};

use headwater_limits::descriptors::{self, Hold, Purpose};

/// The key of a session's metadata that names its owner; sessions of the local command line have none.
pub(crate) const OWNER: &str = "headwater.owner";

/// How many may be open at once. One counts until its log is closed: its pipes are open for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRunning {
    /// Of one session.
    pub of_session: usize,
    /// Of all sessions of one owner.
    pub of_owner: usize,
    /// Of all.
    pub of_all: usize,
}

impl MaxRunning {
    /// The same, where no owner takes more than half of what there are descriptors for.
    fn within(self, capacity: usize) -> Self {
        Self { of_owner: self.of_owner.min(capacity / 2).max(1), ..self }
    }
}

/// Whose an execution is.
#[derive(Debug, Clone)]
pub(crate) struct Whose {
    pub(crate) session: SessionId,
    pub(crate) owner: String,
}

/// The counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tickets(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    sessions: HashMap<SessionId, usize>,
    owners: HashMap<String, usize>,
    terminals: HashMap<String, usize>,
}

/// The place of one execution and its descriptors; dropping it gives both back.
#[derive(Debug)]
pub(crate) struct Ticket {
    tickets: Tickets,
    whose: Whose,
    terminal: bool,
    _descriptors: Hold,
}

impl Tickets {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, unless so many are taken already. `terminals` is how many of an owner's may have a terminal.
    pub(crate) fn take(
        &self,
        whose: Whose,
        spec: &StartSpec,
        limits: MaxRunning,
        terminals: usize,
    ) -> Result<Ticket, Fault> {
        let descriptors = descriptors::hold(cost(spec), Purpose::Start)?;
        let limits = limits.within(descriptors::capacity(descriptors::INTERACTIVE));
        let mut counts = self.counts();
        let of_session = counts.sessions.get(&whose.session).copied().unwrap_or(0);
        let of_owner = counts.owners.get(&whose.owner).copied().unwrap_or(0);
        if of_session >= limits.of_session {
            let what = format!("{of_session} executions of this session are open already");
            return Err(refusal(what, "max_running_of_session"));
        }
        if of_owner >= limits.of_owner {
            let what = format!("{of_owner} executions of this owner are open already");
            return Err(refusal(
                what,
                "max_running_of_owner` and the limit of open files of the worker, `ulimit -Hn",
            ));
        }
        let with_terminal = counts.terminals.get(&whose.owner).copied().unwrap_or(0);
        if spec.tty.is_some() && with_terminal >= terminals {
            let what = format!("{with_terminal} terminals of this owner are open already");
            return Err(refusal(what, "terminals.of_owner"));
        }
        if counts.all >= limits.of_all {
            return Err(refusal(format!("{} executions are open already", counts.all), "max_running"));
        }
        let terminal = spec.tty.is_some();
        counts.enter(&whose, terminal);
        drop(counts);
        Ok(Ticket { tickets: self.clone(), whose, terminal, _descriptors: descriptors })
    }

    /// A place for what runs already, however many there are.
    pub(crate) fn take_anyway(&self, whose: Whose, spec: &StartSpec) -> Ticket {
        let terminal = spec.tty.is_some();
        self.counts().enter(&whose, terminal);
        let descriptors = descriptors::hold_anyway(cost(spec));
        Ticket { tickets: self.clone(), whose, terminal, _descriptors: descriptors }
    }
}

/// The descriptors of one execution.
const fn cost(spec: &StartSpec) -> usize {
    if spec.tty.is_some() || matches!(spec.stdin, Stdin::Open) {
        descriptors::INTERACTIVE
    } else {
        descriptors::EXECUTION
    }
}

fn refusal(what: String, setting: &str) -> Fault {
    let hint = format!(
        "wait for one to end, or end one (one whose background processes hold its output open counts, too); \
         the operator can raise `{setting}`"
    );
    Fault::new(FaultKind::Exhausted, what).hint(hint)
}

impl Counts {
    fn enter(&mut self, whose: &Whose, terminal: bool) {
        self.all += 1;
        if terminal {
            *self.terminals.entry(whose.owner.clone()).or_default() += 1;
        }
        *self.sessions.entry(whose.session).or_default() += 1;
        *self.owners.entry(whose.owner.clone()).or_default() += 1;
    }
}

fn leave<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut counts = self.tickets.counts();
        counts.all -= 1;
        leave(&mut counts.sessions, &self.whose.session);
        leave(&mut counts.owners, &self.whose.owner);
        if self.terminal {
            leave(&mut counts.terminals, &self.whose.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: MaxRunning = MaxRunning { of_session: 2, of_owner: 3, of_all: 4 };

    fn of(session: SessionId, owner: &str) -> Whose {
        Whose { session, owner: owner.into() }
    }

    #[test]
    fn no_owner_takes_more_than_half_of_the_descriptors() {
        assert_eq!(LIMITS.within(1000), LIMITS);
        assert_eq!(LIMITS.within(4).of_owner, 2);
        assert_eq!(LIMITS.within(0).of_owner, 1);
    }

    #[test]
    fn a_session_an_owner_and_all_have_limits_and_a_released_permit_can_be_taken_again() {
        let tickets = Tickets::default();
        let spec = StartSpec::shell("true");
        let take = |session, owner| tickets.take(of(session, owner), &spec, LIMITS, 1);
        let why = |refused: Result<Ticket, Fault>| refused.unwrap_err().hint.unwrap();
        let [a, b, c] = [SessionId::random(), SessionId::random(), SessionId::random()];
        let kept = [take(a, "ann").unwrap(), take(a, "ann").unwrap()];
        assert!(why(take(a, "ann")).contains("max_running_of_session"));
        let third = take(b, "ann").unwrap();
        assert!(why(take(b, "ann")).contains("max_running_of_owner"));
        let other = take(c, "bob").unwrap();
        assert!(why(take(c, "bob")).contains("`max_running`"));
        drop(kept);
        assert!(take(a, "ann").is_ok());
        drop((third, other));
        let counts = tickets.counts();
        assert!(counts.all == 0 && counts.sessions.is_empty() && counts.owners.is_empty());
    }

    #[test]
    fn an_owner_has_a_limit_of_terminals_and_other_executions_beside_them() {
        let tickets = Tickets::default();
        let mut spec = StartSpec::shell("true");
        spec.tty = Some(headwater_protocol::TtySize { rows: 24, cols: 80 });
        let take = |owner, spec: &StartSpec| tickets.take(of(SessionId::random(), owner), spec, LIMITS, 1);
        let kept = take("ann", &spec).unwrap();
        assert!(take("ann", &spec).unwrap_err().hint.unwrap().contains("terminals.of_owner"));
        assert!(take("ann", &StartSpec::shell("true")).is_ok() && take("bob", &spec).is_ok());
        drop(kept);
        assert!(take("ann", &spec).is_ok() && tickets.counts().terminals.is_empty());
    }
}
