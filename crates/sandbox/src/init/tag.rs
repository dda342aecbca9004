//! Tags: how init knows the processes of an execution.
//!
//! Every process of an execution carries a number in `RLIMIT_RTTIME`, which has no other effect on it. The number
//! is set before the program runs, every descendant inherits it for ever, daemonised or not, and the walls let no
//! program change it. So a tree is found by looking through `/proc`: no cgroup, no chain of parents.

use std::ops::RangeInclusive;

use headwater_protocol::SessionId;

/// Executions of one init, at most: each has a tag of its own.
const COUNTER_BITS: u32 = 20;

/// Hands out the tags of one init.
#[derive(Debug)]
pub(super) struct Tags {
    base: u64,
    count: u64,
}

impl Tags {
    /// Starts at a place of this session's own, so that the trees of two inits never mix where they see the same
    /// `/proc`, and so that whoever knows the session finds what outlived its init.
    pub(super) fn of(session: SessionId) -> Self {
        let bits = session.bits();
        #[allow(clippy::cast_possible_truncation)] // folded on purpose: all bits are random
        let bits = (bits as u64) ^ ((bits >> 64) as u64);
        Self::below(bits, own_limit())
    }

    /// A base below `limit`: an ordinary user cannot raise a limit that is there already.
    fn below(random: u64, limit: u64) -> Self {
        let room = (1_u64 << 62).min(limit) >> COUNTER_BITS;
        let slot = random % room.saturating_sub(2).max(1);
        Self { base: (slot + 1) << COUNTER_BITS, count: 0 }
    }

    /// A tag that no execution of this init has had (in a million).
    pub(super) fn next(&mut self) -> u64 {
        self.count = (self.count + 1) % (1 << COUNTER_BITS);
        self.base + self.count
    }

    /// All that this init hands out.
    pub(super) fn all(&self) -> RangeInclusive<u64> {
        self.base..=self.base + (1 << COUNTER_BITS) - 1
    }
}

/// The limit as this process has it: unlimited, unless an outer init gave it a tag.
fn own_limit() -> u64 {
    of(0).unwrap_or(libc::RLIM64_INFINITY)
}

/// The number that a process carries, if it is there and may be asked.
pub(super) fn of(pid: i32) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the fourth argument points to a limit that lives through the call and that the kernel fills.
    let done = unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            pid,
            libc::RLIMIT_RTTIME,
            std::ptr::null::<libc::rlimit64>(),
            &raw mut limit,
        )
    };
    (done == 0).then_some(limit.rlim_max)
}

/// Gives the calling process a tag. The cookie is what the filter of the walls asks for.
///
/// Called between clone and exec: makes one system call and nothing else.
pub(super) fn put_on_self(tag: u64, cookie: u64) -> bool {
    let limit = libc::rlimit64 { rlim_cur: tag, rlim_max: tag };
    // SAFETY: the third argument points to a limit that lives through the call; the kernel ignores the last two.
    let done = unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            libc::RLIMIT_RTTIME,
            &raw const limit,
            std::ptr::null_mut::<libc::rlimit64>(),
            0_u64,
            cookie,
        )
    };
    done == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_one_init_differ_and_stay_in_its_range() {
        let mut tags = Tags::of(SessionId::random());
        let (one, two) = (tags.next(), tags.next());
        assert_ne!(one, two);
        assert!(tags.all().contains(&one) && tags.all().contains(&two));
        assert!(*tags.all().end() < 1 << 62);
    }

    #[test]
    fn inside_another_init_the_tags_stay_below_the_outer_one() {
        let outer = Tags::below(u64::MAX, libc::RLIM64_INFINITY).next();
        let inner = Tags::below(u64::MAX - 1, outer);
        assert!(*inner.all().end() < outer);
    }

    #[test]
    fn a_process_without_a_tag_carries_no_limit_of_this_init() {
        let tags = Tags::of(SessionId::random());
        assert!(!tags.all().contains(&of(0).unwrap()));
        assert_eq!(of(i32::MAX), None);
    }
}
