//! The policy: which logs of ended executions are removed. A pure function of the logs, the rules and the time.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::{ExecutionId, SessionId};

/// Why a log is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// It is older than the configured age.
    Age,
    /// There are too many newer ones.
    Number,
    /// They have too many bytes.
    Size,
    /// A caller requested it.
    Prune,
}

impl Why {
    /// The name on the wire and in the journal.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Number => "number",
            Self::Size => "size",
            Self::Prune => "prune",
        }
    }
}

/// The bounds of a session, of an owner or of all. Absent: unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Logs of ended executions.
    pub logs: Option<u64>,
    /// Allocated bytes of all logs, including those of running executions.
    pub bytes: Option<u64>,
}

impl Bounds {
    pub(super) fn exceeded_by(&self, sum: Sum) -> Option<Why> {
        if self.bytes.is_some_and(|most| sum.bytes > most) {
            return Some(Why::Size);
        }
        self.logs.is_some_and(|most| sum.logs > most).then_some(Why::Number)
    }
}

/// The rules of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The minimum time that a log is kept after the end of its execution, so that a client can fetch the result.
    pub keep_at_least: Duration,
    /// The age after which a log is removed. Absent: never.
    pub age: Option<Duration>,
    /// The bounds for one session.
    pub session: Bounds,
    /// The bounds for one owner.
    pub owner: Bounds,
    /// The bounds for all logs.
    pub all: Bounds,
}

/// A log, for the policy.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) id: ExecutionId,
    pub(crate) session: SessionId,
    pub(crate) owner: Arc<str>,
    /// When it was closed, in milliseconds since 1970; `None` while the execution runs.
    pub(crate) ended_at_ms: Option<u64>,
    pub(crate) bytes: u64,
    /// Whether it has readers.
    pub(crate) is_read: bool,
}

/// A number of logs and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Logs of ended executions.
    pub(crate) logs: u64,
    pub(crate) bytes: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, logs: u64, bytes: u64) {
        self.logs = self.logs.saturating_add(logs);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(crate) fn subtract(&mut self, logs: u64, bytes: u64) {
        self.logs = self.logs.saturating_sub(logs);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The logs that a prune removes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) owner: Option<String>,
    pub(crate) session: Option<SessionId>,
    pub(crate) older_than_ms: Option<u64>,
    /// All but this many of the newest.
    pub(crate) keep: Option<u64>,
    /// All that have ended.
    pub(crate) all: bool,
}

impl Filter {
    fn fits(&self, kept: &Kept) -> bool {
        self.owner.as_deref().is_none_or(|owner| owner == &*kept.owner)
            && self.session.is_none_or(|session| session == kept.session)
    }
}

/// The logs that the rules remove, by their index in `kept`, oldest first for each reason.
pub(crate) fn choose(kept: &[Kept], rules: &Rules, now_ms: u64) -> Vec<(usize, Why)> {
    let mut choice = Choice::new(kept, rules, now_ms);
    choice.by_age();
    choice.by_group(rules.session, |one| one.session);
    choice.by_group(rules.owner, |one| Arc::clone(&one.owner));
    choice.in_all();
    choice.chosen
}

/// The logs that a prune removes. With a time, a number or `all` it removes what the caller names, without the minimum
/// time; otherwise it applies the rules to the logs that match.
pub(crate) fn prune(kept: &[Kept], filter: &Filter, rules: &Rules, now_ms: u64) -> Vec<(usize, Why)> {
    if filter.older_than_ms.is_none() && filter.keep.is_none() && !filter.all {
        let mut chosen = choose(kept, rules, now_ms);
        chosen.retain(|(n, _)| filter.fits(&kept[*n]));
        return chosen;
    }
    let mut fitting: Vec<usize> =
        (0..kept.len()).filter(|n| kept[*n].ended_at_ms.is_some() && filter.fits(&kept[*n])).collect();
    fitting.sort_by_key(|n| (kept[*n].ended_at_ms, kept[*n].id));
    let keep = filter.keep.map_or(0, |keep| usize::try_from(keep).unwrap_or(usize::MAX));
    fitting.truncate(fitting.len().saturating_sub(keep));
    let is_old = |one: &Kept| {
        filter
            .older_than_ms
            .is_none_or(|age| one.ended_at_ms.is_some_and(|at| now_ms.saturating_sub(at) >= age))
    };
    fitting.retain(|n| is_old(&kept[*n]) && !kept[*n].is_read);
    fitting.into_iter().map(|n| (n, Why::Prune)).collect()
}

struct Choice<'a> {
    kept: &'a [Kept],
    rules: &'a Rules,
    now_ms: u64,
    /// The logs that may be removed, oldest first.
    removable: Vec<usize>,
    is_gone: Vec<bool>,
    chosen: Vec<(usize, Why)>,
}

impl<'a> Choice<'a> {
    fn new(kept: &'a [Kept], rules: &'a Rules, now_ms: u64) -> Self {
        let floor = ms(rules.keep_at_least);
        let may_go =
            |one: &Kept| !one.is_read && one.ended_at_ms.is_some_and(|at| now_ms.saturating_sub(at) >= floor);
        let mut removable: Vec<usize> = (0..kept.len()).filter(|n| may_go(&kept[*n])).collect();
        removable.sort_by_key(|n| (kept[*n].ended_at_ms, kept[*n].id));
        Self { kept, rules, now_ms, removable, is_gone: vec![false; kept.len()], chosen: Vec::new() }
    }

    fn take(&mut self, n: usize, why: Why) {
        self.is_gone[n] = true;
        self.chosen.push((n, why));
    }

    fn by_age(&mut self) {
        let Some(age) = self.rules.age.map(ms) else { return };
        for n in self.removable.clone() {
            if self.kept[n].ended_at_ms.is_some_and(|at| self.now_ms.saturating_sub(at) > age) {
                self.take(n, Why::Age);
            }
        }
    }

    /// The totals of each group, by its name.
    fn sums<K: Hash + Eq>(&self, group: impl Fn(&Kept) -> K) -> HashMap<K, Sum> {
        let mut sums: HashMap<K, Sum> = HashMap::new();
        for (one, _) in self.kept.iter().zip(&self.is_gone).filter(|(_, is_gone)| !**is_gone) {
            sums.entry(group(one)).or_default().add(one.ended_at_ms.is_some().into(), one.bytes);
        }
        sums
    }

    fn by_group<K: Hash + Eq>(&mut self, bounds: Bounds, group: impl Fn(&Kept) -> K) {
        let mut sums = self.sums(&group);
        for n in self.removable.clone() {
            let one = &self.kept[n];
            let Some(sum) = sums.get_mut(&group(one)).filter(|_| !self.is_gone[n]) else { continue };
            if let Some(why) = bounds.exceeded_by(*sum) {
                sum.subtract(1, one.bytes);
                self.take(n, why);
            }
        }
    }

    /// Over the bounds of all, logs of the owner that has most are removed first: an owner cannot push out the logs of others
    /// by filling the disk with new ones.
    fn in_all(&mut self) {
        let sums = self.sums(|one| Arc::clone(&one.owner));
        let mut total = Sum::default();
        for sum in sums.values() {
            total.add(sum.logs, sum.bytes);
        }
        let mut queues: BTreeMap<Arc<str>, (Sum, VecDeque<usize>)> = BTreeMap::new();
        for n in self.removable.iter().filter(|n| !self.is_gone[**n]) {
            let owner = &self.kept[*n].owner;
            let sum = sums.get(owner).copied().unwrap_or_default();
            queues.entry(Arc::clone(owner)).or_insert_with(|| (sum, VecDeque::new())).1.push_back(*n);
        }
        while let Some(why) = self.rules.all.exceeded_by(total) {
            let weight = |sum: &Sum| if why == Why::Size { sum.bytes } else { sum.logs };
            let most = queues.values_mut().filter(|(_, queue)| !queue.is_empty());
            let Some((sum, queue)) = most.max_by_key(|(sum, _)| weight(sum)) else { return };
            let Some(n) = queue.pop_front() else { return };
            let bytes = self.kept[n].bytes;
            sum.subtract(1, bytes);
            total.subtract(1, bytes);
            self.take(n, why);
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
