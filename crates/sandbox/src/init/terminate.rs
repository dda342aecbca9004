//! Ending trees: SIGTERM, the grace, SIGKILL until nothing is left, a little in each turn of the loop.

use super::clock::{self, NANOS_PER_MS};
use super::process_tree;

/// How soon after SIGTERM init looks whether the tree has gone, and how rarely in the end.
const FIRST_CHECK_DELAY_NS: u64 = 20 * NANOS_PER_MS;
const MAX_CHECK_DELAY_NS: u64 = 200 * NANOS_PER_MS;
/// The same between passes of SIGKILL.
const FIRST_KILL_DELAY_NS: u64 = NANOS_PER_MS;
const MAX_KILL_DELAY_NS: u64 = 100 * NANOS_PER_MS;
/// Ended processes bring the next look forward, but not closer than this to the last one.
const MIN_CHECK_INTERVAL_NS: u64 = 5 * NANOS_PER_MS;

/// One tree that is being ended.
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
    /// Begins to end a tree. If that has begun already, only a shorter grace matters.
    pub(super) fn begin(&mut self, tag: u64, grace_ms: u64, now: u64) {
        let kill_at = clock::after(now, grace_ms);
        if let Some(termination) = self.list.iter_mut().find(|termination| termination.tag == tag) {
            termination.kill_at = termination.kill_at.min(kill_at);
            return;
        }
        if grace_ms > 0 {
            // A stopped process gets SIGTERM only when it is continued. What cannot be reached now is killed later.
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

    /// Processes have ended: look soon whether whole trees have.
    pub(super) fn hurry(&mut self) {
        for termination in &mut self.list {
            termination.check_at =
                termination.check_at.min(termination.checked_at.saturating_add(MIN_CHECK_INTERVAL_NS));
        }
    }

    /// Nothing is left of any tree.
    pub(super) fn all_gone(&mut self) {
        self.list.clear();
    }

    /// When there is something to do next.
    pub(super) fn next(&self) -> Option<u64> {
        self.list.iter().map(Termination::next).min()
    }

    /// Does what is due.
    pub(super) fn work(&mut self, now: u64) {
        self.list.retain_mut(|termination| now < termination.next() || !termination.is_finished(now));
    }
}

impl Termination {
    fn next(&self) -> u64 {
        if self.killing { self.check_at } else { self.check_at.min(self.kill_at) }
    }

    /// Looks, or kills; true when nothing is left of the tree.
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
        gone == Ok(true) // an error leaves it open: look again
    }
}
