//! Limits on open executions: for each session, for each owner, and in all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{SessionId, StartSpec, Stdin};

use headwater_limits::descriptors::{self, Hold, Purpose};

/// How many executions may be open. An execution counts until its log is closed, because its pipes are open until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxRunning {
    /// Executions of one session.
    pub of_session: usize,
    /// Executions of all sessions of one owner.
    pub of_owner: usize,
    /// Executions of all owners.
    pub of_all: usize,
}

impl MaxRunning {
    /// The same limits, with at most half of the descriptors for one owner.
    fn within(self, capacity: usize) -> Self {
        Self { of_owner: self.of_owner.min(capacity / 2).max(1), ..self }
    }
}

/// The session and owner that a permit counts for.
#[derive(Debug, Clone)]
pub(crate) struct PermitHolder {
    pub(crate) session: SessionId,
    pub(crate) owner: String,
}

/// The counts of open executions.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExecutionPermits(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    sessions: HashMap<SessionId, usize>,
    owners: HashMap<String, usize>,
    terminals: HashMap<String, usize>,
}

/// The permit of one execution, with its descriptors; dropping it releases both.
#[derive(Debug)]
pub(crate) struct ExecutionPermit {
    permits: ExecutionPermits,
    holder: PermitHolder,
    terminal: bool,
    _descriptors: Hold,
}

impl ExecutionPermits {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit within the limits. `terminals` is the limit of terminals of one owner.
    pub(crate) fn try_acquire(
        &self,
        holder: PermitHolder,
        spec: &StartSpec,
        limits: MaxRunning,
        terminals: usize,
    ) -> Result<ExecutionPermit, Fault> {
        let descriptors = descriptors::hold(descriptors_of(spec), Purpose::Start)?;
        let limits = limits.within(descriptors::capacity(descriptors::INTERACTIVE));
        let mut counts = self.counts();
        let of_session = counts.sessions.get(&holder.session).copied().unwrap_or(0);
        let of_owner = counts.owners.get(&holder.owner).copied().unwrap_or(0);
        if of_session >= limits.of_session {
            let what = format!("{of_session} executions of this session are already open");
            return Err(refusal(what, "max_running_of_session"));
        }
        if of_owner >= limits.of_owner {
            let what = format!("{of_owner} executions of this owner are already open");
            return Err(refusal(
                what,
                "max_running_of_owner` and the limit of open files of the worker, `ulimit -Hn",
            ));
        }
        let with_terminal = counts.terminals.get(&holder.owner).copied().unwrap_or(0);
        if spec.tty.is_some() && with_terminal >= terminals {
            let what = format!("{with_terminal} terminals of this owner are already open");
            return Err(refusal(what, "terminals.of_owner"));
        }
        if counts.all >= limits.of_all {
            return Err(refusal(format!("{} executions are already open", counts.all), "max_running"));
        }
        let terminal = spec.tty.is_some();
        counts.add(&holder, terminal);
        drop(counts);
        Ok(ExecutionPermit { permits: self.clone(), holder, terminal, _descriptors: descriptors })
    }

    /// Takes a permit for an execution that already runs, even over the limits.
    pub(crate) fn acquire_unchecked(&self, holder: PermitHolder, spec: &StartSpec) -> ExecutionPermit {
        let terminal = spec.tty.is_some();
        self.counts().add(&holder, terminal);
        let descriptors = descriptors::hold_anyway(descriptors_of(spec));
        ExecutionPermit { permits: self.clone(), holder, terminal, _descriptors: descriptors }
    }
}

/// The number of descriptors of an execution.
const fn descriptors_of(spec: &StartSpec) -> usize {
    if spec.tty.is_some() || matches!(spec.stdin, Stdin::Open) {
        descriptors::INTERACTIVE
    } else {
        descriptors::EXECUTION
    }
}

fn refusal(what: String, setting: &str) -> Fault {
    let hint = format!(
        "wait for one to end, or end one (an execution counts as long as background processes hold its output open); \
         the operator can raise `{setting}`"
    );
    Fault::new(FaultKind::Exhausted, what).hint(hint)
}

impl Counts {
    fn add(&mut self, holder: &PermitHolder, terminal: bool) {
        self.all += 1;
        if terminal {
            *self.terminals.entry(holder.owner.clone()).or_default() += 1;
        }
        *self.sessions.entry(holder.session).or_default() += 1;
        *self.owners.entry(holder.owner.clone()).or_default() += 1;
    }
}

fn subtract<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Drop for ExecutionPermit {
    fn drop(&mut self) {
        let mut counts = self.permits.counts();
        counts.all -= 1;
        subtract(&mut counts.sessions, &self.holder.session);
        subtract(&mut counts.owners, &self.holder.owner);
        if self.terminal {
            subtract(&mut counts.terminals, &self.holder.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: MaxRunning = MaxRunning { of_session: 2, of_owner: 3, of_all: 4 };

    fn of(session: SessionId, owner: &str) -> PermitHolder {
        PermitHolder { session, owner: owner.into() }
    }

    #[test]
    fn no_owner_takes_more_than_half_of_the_descriptors() {
        assert_eq!(LIMITS.within(1000), LIMITS);
        assert_eq!(LIMITS.within(4).of_owner, 2);
        assert_eq!(LIMITS.within(0).of_owner, 1);
    }

    #[test]
    fn a_session_an_owner_and_all_have_limits_and_a_released_permit_can_be_taken_again() {
        let permits = ExecutionPermits::default();
        let spec = StartSpec::shell("true");
        let take = |session, owner| permits.try_acquire(of(session, owner), &spec, LIMITS, 1);
        let why = |refused: Result<ExecutionPermit, Fault>| refused.unwrap_err().hint.unwrap();
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
        let counts = permits.counts();
        assert!(counts.all == 0 && counts.sessions.is_empty() && counts.owners.is_empty());
    }

    #[test]
    fn an_owner_has_a_limit_of_terminals_and_other_executions_beside_them() {
        let permits = ExecutionPermits::default();
        let mut spec = StartSpec::shell("true");
        spec.tty = Some(headwater_protocol::TtySize { rows: 24, cols: 80 });
        let take =
            |owner, spec: &StartSpec| permits.try_acquire(of(SessionId::random(), owner), spec, LIMITS, 1);
        let kept = take("ann", &spec).unwrap();
        assert!(take("ann", &spec).unwrap_err().hint.unwrap().contains("terminals.of_owner"));
        assert!(take("ann", &StartSpec::shell("true")).is_ok() && take("bob", &spec).is_ok());
        drop(kept);
        assert!(take("ann", &spec).is_ok() && permits.counts().terminals.is_empty());
    }
}
