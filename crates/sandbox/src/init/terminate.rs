//! Ending process trees: SIGTERM, the grace period, then SIGKILL until no process is left; one step per turn
//! of the loop.

use super::clock::{self, NANOS_PER_MS};
use super::process_tree;

/// The delay of the first check after SIGTERM whether the tree has ended, and the longest delay between two.
const FIRST_CHECK_DELAY_NS: u64 = 20 * NANOS_PER_MS;
const MAX_CHECK_DELAY_NS: u64 = 200 * NANOS_PER_MS;
/// The same between passes of SIGKILL.
const FIRST_KILL_DELAY_NS: u64 = NANOS_PER_MS;
const MAX_KILL_DELAY_NS: u64 = 100 * NANOS_PER_MS;
/// An exited child brings the next check forward, but not closer than this to the previous one.
const MIN_CHECK_INTERVAL_NS: u64 = 5 * NANOS_PER_MS;

/// A tree that is being ended.
#[derive(Debug)]
struct Termination {
    tag: u64,
    kill_at: u64,
    checked_at: u64,
    check_at: u64,
    pause: u64,
    killing: bool,
}

/// All trees that are being ended.
#[derive(Debug, Default)]
pub(super) struct Terminations {
    list: Vec<Termination>,
}

impl Terminations {
    /// Begins to end a tree. If that has begun before, only a shorter grace period has an effect.
    pub(super) fn begin(&mut self, tag: u64, grace_ms: u64, now: u64) {
        let kill_at = clock::after(now, grace_ms);
        if let Some(termination) = self.list.iter_mut().find(|termination| termination.tag == tag) {
            termination.kill_at = termination.kill_at.min(kill_at);
            return;
        }
        if grace_ms > 0 {
            // A stopped process receives SIGTERM only when it is continued. Processes missed here are killed
            // later.
            let _ = process_tree::signal(|found| found == tag, &[libc::SIGTERM, libc::SIGCONT]);
        }
        let check_at = now.saturating_add(FIRST_CHECK_DELAY_NS);
        self.list.push(Termination {
            tag,
            kill_at,
            checked_at: now,
            check_at,
            pause: FIRST_CHECK_DELAY_NS,
            killing: false,
        });
    }

    /// A process has ended: checks soon whether its tree has.
    pub(super) fn hurry(&mut self) {
        for termination in &mut self.list {
            termination.check_at =
                termination.check_at.min(termination.checked_at.saturating_add(MIN_CHECK_INTERVAL_NS));
        }
    }

    /// No process is left of any tree.
    pub(super) fn all_gone(&mut self) {
        self.list.clear();
    }

    /// When the next step is due.
    pub(super) fn next(&self) -> Option<u64> {
        self.list.iter().map(Termination::next).min()
    }

    /// Performs the steps that are due.
    pub(super) fn work(&mut self, now: u64) {
        self.list.retain_mut(|termination| now < termination.next() || !termination.is_finished(now));
    }
}

impl Termination {
    fn next(&self) -> u64 {
        if self.killing { self.check_at } else { self.check_at.min(self.kill_at) }
    }

    /// Checks or kills; true when no process of the tree is left.
    fn is_finished(&mut self, now: u64) -> bool {
        let wanted = |found| found == self.tag;
        let gone = if now < self.kill_at {
            self.pause = (self.pause * 2).min(MAX_CHECK_DELAY_NS);
            process_tree::is_gone(wanted)
        } else {
            self.pause =
                if self.killing { (self.pause * 2).min(MAX_KILL_DELAY_NS) } else { FIRST_KILL_DELAY_NS };
            self.killing = true;
            process_tree::kill(wanted)
        };
        self.checked_at = now;
        self.check_at = now.saturating_add(self.pause);
        gone == Ok(true) // after an error, check again
    }
}
