//! Ending trees: SIGTERM, the grace, SIGKILL until nothing is left, a little in each turn of the loop.

use super::clock::{self, MS};
use super::tree;

/// How soon after SIGTERM init looks whether the tree has gone, and how rarely in the end.
const LOOK_FIRST: u64 = 20 * MS;
const LOOK_LAST: u64 = 200 * MS;
/// The same between passes of SIGKILL.
const KILL_FIRST: u64 = MS;
const KILL_LAST: u64 = 100 * MS;
/// Ended processes bring the next look forward, but not closer than this to the last one.
const LOOK_APART: u64 = 5 * MS;

/// One tree that is being ended.
#[derive(Debug)]
struct Stopping {
    tag: u64,
    kill_at: u64,
    looked_at: u64,
    look_at: u64,
    pause: u64,
    killing: bool,
}

/// All trees that are being ended.
#[derive(Debug, Default)]
pub(super) struct Stops {
    list: Vec<Stopping>,
}

impl Stops {
    /// Begins to end a tree. If that has begun already, only a shorter grace matters.
    pub(super) fn begin(&mut self, tag: u64, grace_ms: u64, now: u64) {
        let kill_at = clock::after(now, grace_ms);
        if let Some(stopping) = self.list.iter_mut().find(|stopping| stopping.tag == tag) {
            stopping.kill_at = stopping.kill_at.min(kill_at);
            return;
        }
        if grace_ms > 0 {
            // A stopped process gets SIGTERM only when it is continued. What cannot be reached now is killed later.
            let _ = tree::signal(|found| found == tag, &[libc::SIGTERM, libc::SIGCONT]);
        }
        let look_at = now.saturating_add(LOOK_FIRST);
        self.list.push(Stopping { tag, kill_at, looked_at: now, look_at, pause: LOOK_FIRST, killing: false });
    }

    /// Processes have ended: look soon whether whole trees have.
    pub(super) fn hurry(&mut self) {
        for stopping in &mut self.list {
            stopping.look_at = stopping.look_at.min(stopping.looked_at.saturating_add(LOOK_APART));
        }
    }

    /// Nothing is left of any tree.
    pub(super) fn all_gone(&mut self) {
        self.list.clear();
    }

    /// When there is something to do next.
    pub(super) fn next(&self) -> Option<u64> {
        self.list.iter().map(Stopping::next).min()
    }

    /// Does what is due.
    pub(super) fn work(&mut self, now: u64) {
        self.list.retain_mut(|stopping| now < stopping.next() || !stopping.is_finished(now));
    }
}

impl Stopping {
    fn next(&self) -> u64 {
        if self.killing { self.look_at } else { self.look_at.min(self.kill_at) }
    }

    /// Looks, or kills; true when nothing is left of the tree.
    fn is_finished(&mut self, now: u64) -> bool {
        let wanted = |found| found == self.tag;
        let gone = if now < self.kill_at {
            self.pause = (self.pause * 2).min(LOOK_LAST);
            tree::is_gone(wanted)
        } else {
            self.pause = if self.killing { (self.pause * 2).min(KILL_LAST) } else { KILL_FIRST };
            self.killing = true;
            tree::kill(wanted)
        };
        self.looked_at = now;
        self.look_at = now.saturating_add(self.pause);
        gone == Ok(true) // an error leaves it open: look again
    }
}
