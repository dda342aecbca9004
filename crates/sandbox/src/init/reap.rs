//! Reaping children, and what is reported of their exits.

use headwater_protocol::Usage;

use super::clock;
use super::executions::HeldExecution;
use crate::wire::Exit;

/// A process that has ended.
pub(super) struct Ended {
    pub(super) pid: i32,
    status: i32,
    usage: libc::rusage,
}

/// The result of a wait.
pub(super) enum Waited {
    /// This child has ended and is reaped now.
    Ended(Ended),
    /// No child has ended.
    Nothing,
    /// init has no children.
    Childless,
}

/// Reaps one child if one has ended. Does not block.
pub(super) fn wait() -> Waited {
    let mut status = 0;
    // SAFETY: plain data, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that live through the call.
    match unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) } {
        0 => Waited::Nothing,
        pid if pid > 0 => Waited::Ended(Ended { pid, status, usage }),
        _ => Waited::Childless,
    }
}

impl Ended {
    /// The exit to report for an execution's program.
    pub(super) fn exit(&self, held: &HeldExecution) -> Exit {
        let signalled = libc::WIFSIGNALED(self.status);
        Exit {
            code: (!signalled).then(|| libc::WEXITSTATUS(self.status)),
            signal: signalled.then(|| libc::WTERMSIG(self.status)),
            cause: held.cause,
            at_us: clock::unix_us(),
            duration_us: clock::now().saturating_sub(held.started) / 1000,
            usage: Usage {
                cpu_ms: millis(&self.usage.ru_utime).saturating_add(millis(&self.usage.ru_stime)),
                max_rss_bytes: u64::try_from(self.usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
            },
        }
    }
}

fn millis(time: &libc::timeval) -> u64 {
    let (seconds, micros) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec));
    seconds.unwrap_or(0).saturating_mul(1000).saturating_add(micros.unwrap_or(0) / 1000)
}
