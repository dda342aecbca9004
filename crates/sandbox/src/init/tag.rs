//! Tags: how init identifies the processes of an execution.
//!
//! Every process of an execution carries a number in `RLIMIT_RTTIME`, which has no other effect on it. The
//! number is set before the program runs, every descendant inherits it, daemons included, and the seccomp
//! filter lets no program change it. So a tree is found by scanning `/proc`, without a cgroup or a chain of
//! parents.

use std::ops::RangeInclusive;

use headwater_protocol::SessionId;

/// The number of distinct tags of one init, as a power of two.
const COUNTER_BITS: u32 = 20;

/// Allocates the tags of one init.
#[derive(Debug)]
pub(super) struct Tags {
    base: u64,
    count: u64,
}

impl Tags {
    /// Starts at a base derived from the session id, so that the trees of two inits never mix where they
    /// share a `/proc`, and so that the processes of a session can be found after its init is gone.
    pub(super) fn of(session: SessionId) -> Self {
        let bits = session.bits();
        #[allow(clippy::cast_possible_truncation)] // folded on purpose: all bits are random
        let bits = (bits as u64) ^ ((bits >> 64) as u64);
        Self::below(bits, own_limit())
    }

    /// A base below `limit`: an unprivileged user cannot raise an existing limit.
    fn below(random: u64, limit: u64) -> Self {
        let room = (1_u64 << 62).min(limit) >> COUNTER_BITS;
        let slot = random % room.saturating_sub(2).max(1);
        Self { base: (slot + 1) << COUNTER_BITS, count: 0 }
    }

    /// The next tag. Tags repeat after a million executions.
    pub(super) fn next(&mut self) -> u64 {
        self.count = (self.count + 1) % (1 << COUNTER_BITS);
        self.base + self.count
    }

    /// The range of tags of this init.
    pub(super) fn all(&self) -> RangeInclusive<u64> {
        self.base..=self.base + (1 << COUNTER_BITS) - 1
    }
}

/// The current limit of this process: unlimited, unless an outer init has tagged it.
fn own_limit() -> u64 {
    of(0).unwrap_or(libc::RLIM64_INFINITY)
}

/// The tag of a process; `None` if it does not exist or may not be inspected.
pub(super) fn of(pid: i32) -> Option<u64> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the fourth argument points to a limit that outlives the call and that the kernel fills.
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

/// Tags the calling process. The seccomp filter requires the cookie.
///
/// Called between clone and exec: one system call and nothing else.
pub(super) fn put_on_self(tag: u64, cookie: u64) -> bool {
    let limit = libc::rlimit64 { rlim_cur: tag, rlim_max: tag };
    // SAFETY: the third argument points to a limit that outlives the call; the kernel ignores the last two.
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
