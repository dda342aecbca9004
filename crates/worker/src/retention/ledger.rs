//! Running totals of the logs of ended executions: for each session, for each owner and in all.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_protocol::SessionId;

use super::policy::{Rules, Sum};

/// The totals.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sessions: HashMap<SessionId, (Arc<str>, Sum)>,
    owners: HashMap<Arc<str>, Sum>,
    all: Sum,
}

impl Ledger {
    /// Adds a log that was closed, or found at the start.
    pub(crate) fn add(&mut self, session: SessionId, owner: &str, bytes: u64) {
        let owner = match self.owners.get_key_value(owner) {
            Some((known, _)) => Arc::clone(known),
            None => owner.into(),
        };
        self.owners.entry(Arc::clone(&owner)).or_default().add(1, bytes);
        self.sessions.entry(session).or_insert_with(|| (owner, Sum::default())).1.add(1, bytes);
        self.all.add(1, bytes);
    }

    /// Subtracts logs of a session.
    pub(crate) fn subtract(&mut self, session: SessionId, logs: u64, bytes: u64) {
        let Some((owner, sum)) = self.sessions.get_mut(&session) else { return };
        sum.subtract(logs, bytes);
        if let Some(of_owner) = self.owners.get_mut(owner) {
            of_owner.subtract(logs, bytes);
            if of_owner.logs == 0 {
                self.owners.remove(owner);
            }
        }
        if sum.logs == 0 {
            self.sessions.remove(&session);
        }
        self.all.subtract(logs, bytes);
    }

    /// Subtracts all logs of a session.
    pub(crate) fn forget(&mut self, session: SessionId) {
        if let Some((_, sum)) = self.sessions.get(&session) {
            self.subtract(session, sum.logs, sum.bytes);
        }
    }

    /// The totals of a session.
    pub(crate) fn session(&self, session: SessionId) -> Sum {
        self.sessions.get(&session).map(|(_, sum)| *sum).unwrap_or_default()
    }

    /// The totals of each owner.
    pub(crate) fn owners(&self) -> impl Iterator<Item = (&str, Sum)> {
        self.owners.iter().map(|(owner, sum)| (&**owner, *sum))
    }

    /// Whether one of the bounds that this session counts for is exceeded.
    pub(crate) fn is_over(&self, session: SessionId, rules: &Rules) -> bool {
        let Some((owner, sum)) = self.sessions.get(&session) else { return false };
        let of_owner = self.owners.get(owner).copied().unwrap_or_default();
        rules.session.exceeded_by(*sum).is_some()
            || rules.owner.exceeded_by(of_owner).is_some()
            || rules.all.exceeded_by(self.all).is_some()
    }

    /// Whether there is no room for more logs of this owner: all logs together exceed their bound, and this owner has more
    /// than an equal share of it. Other owners are not affected.
    pub(crate) fn is_full_for(&self, owner: &str, rules: &Rules) -> bool {
        let Some(most) = rules.all.bytes.filter(|most| self.all.bytes > *most) else { return false };
        let share = most / (self.owners.len() as u64).max(1);
        self.owners.get(owner).is_some_and(|sum| sum.bytes > share)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::policy::Bounds;
    use super::*;

    #[test]
    fn totals_follow_what_is_added_and_removed() {
        let (one, two) = (SessionId::random(), SessionId::random());
        let mut ledger = Ledger::default();
        ledger.add(one, "ann", 10);
        ledger.add(one, "ann", 20);
        ledger.add(two, "ann", 5);
        assert_eq!(ledger.session(one), Sum { logs: 2, bytes: 30 });
        assert_eq!(ledger.owners().collect::<Vec<_>>(), [("ann", Sum { logs: 3, bytes: 35 })]);
        ledger.subtract(one, 1, 10);
        ledger.forget(two);
        assert_eq!(ledger.owners().collect::<Vec<_>>(), [("ann", Sum { logs: 1, bytes: 20 })]);
        ledger.forget(one);
        assert_eq!((ledger.owners().count(), ledger.all), (0, Sum::default()));
    }

    #[test]
    fn when_all_is_full_only_owners_with_more_than_their_share_are_refused() {
        let none = Bounds::default();
        let all = Bounds { bytes: Some(100), logs: None };
        let rules = Rules { keep_at_least: Duration::ZERO, age: None, session: none, owner: none, all };
        let mut ledger = Ledger::default();
        ledger.add(SessionId::random(), "ann", 99);
        assert!(!ledger.is_full_for("ann", &rules));
        ledger.add(SessionId::random(), "bob", 10);
        assert!(ledger.is_full_for("ann", &rules));
        assert!(!ledger.is_full_for("bob", &rules) && !ledger.is_full_for("eve", &rules));
    }
}
