//! From the end that init reports, or a failed start, to a verdict.

use headwater_protocol::{ExitDetail, LimitKind, Limits, Reason, Verdict};
use headwater_sandbox::wire::{Cause, Exit, StartFailure, StartFailureKind};

const ENOENT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;

/// What else is known when a program has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    /// The limits of the execution.
    pub(crate) limits: &'a Limits,
    /// Its limit of wall time.
    pub(crate) timeout_ms: Option<u64>,
    /// Whether the kernel killed a process for lack of memory.
    pub(crate) out_of_memory: bool,
    /// The disk limit that its session exceeds, if it does.
    pub(crate) over_disk: Option<(LimitKind, u64)>,
    /// Bytes of output that could not be logged yet because the disk is full.
    pub(crate) waiting_bytes: u64,
}

/// The verdict on a program whose end init reported. The writer of the log fills in the byte counts.
pub(crate) fn verdict(exit: &Exit, known: Circumstances<'_>) -> Verdict {
    let (reason, mut message) = reason(exit, known);
    let detail = detail(exit, reason, known);
    if known.waiting_bytes > 0 {
        let waiting =
            format!("the disk is full: {} bytes of output follow when space is free", known.waiting_bytes);
        message = Some(message.map_or(waiting.clone(), |message| format!("{message}; {waiting}")));
    }
    Verdict {
        code: exit.code,
        signal: exit.signal,
        message,
        detail,
        duration_ms: exit.duration_us / 1000,
        usage: exit.usage,
        ..Verdict::new(reason)
    }
}

fn reason(exit: &Exit, known: Circumstances<'_>) -> (Reason, Option<String>) {
    match exit.cause {
        Some(Cause::TimedOut) => {
            let after = known.timeout_ms.map_or(String::new(), |ms| format!(" after {}", seconds(ms)));
            return (Reason::TimedOut, Some(format!("timed out{after}")));
        }
        Some(Cause::Cancelled) => return (Reason::Cancelled, None),
        Some(Cause::OutputLimit) => {
            let limit = known.limits.output_bytes.unwrap_or(0);
            return (Reason::OutputLimit, Some(format!("printed more than {limit} bytes")));
        }
        Some(Cause::DiskLimit) => {
            return (Reason::DiskLimit, Some("the session is over its disk limit".into()));
        }
        None => {}
    }
    let memory =
        || format!("the memory limit of {} bytes was reached", known.limits.memory_bytes.unwrap_or(0));
    match exit.signal {
        Some(SIGKILL) if known.out_of_memory => (Reason::Oom, Some(memory())),
        Some(SIGXCPU | SIGKILL) if cpu_time_ran_out(exit, known.limits) => {
            let limit = known.limits.cpu_ms.unwrap_or(0);
            (Reason::TimedOut, Some(format!("used more than {} of cpu time", seconds(limit))))
        }
        Some(SIGXFSZ) if known.limits.file_bytes.is_none() => {
            let limit = known.limits.disk_bytes.unwrap_or(0);
            let message = format!("wrote a file larger than the disk limit of {limit} bytes allows");
            (Reason::DiskLimit, Some(message))
        }
        Some(SIGXFSZ) => {
            let limit = known.limits.file_bytes.unwrap_or(0);
            (Reason::Signalled, Some(format!("wrote a file larger than {limit} bytes")))
        }
        Some(_) => (Reason::Signalled, None),
        // A shell whose child was killed reports 137 and continues.
        None if known.out_of_memory => (Reason::Exited, Some(format!("{}: a process was killed", memory()))),
        None => (Reason::Exited, None),
    }
}

/// The reason in a form that programs can read.
fn detail(exit: &Exit, reason: Reason, known: Circumstances<'_>) -> Option<ExitDetail> {
    let reached = |which, limit: Option<u64>| Some(ExitDetail::Limit { which, limit: limit? });
    let limits = known.limits;
    match reason {
        Reason::TimedOut if exit.cause == Some(Cause::TimedOut) => {
            known.timeout_ms.map(|after_ms| ExitDetail::TimedOut { after_ms })
        }
        Reason::TimedOut => reached(LimitKind::CpuMs, limits.cpu_ms),
        Reason::OutputLimit => reached(LimitKind::OutputBytes, limits.output_bytes),
        Reason::DiskLimit => match known.over_disk.filter(|_| exit.cause.is_some()) {
            Some((which, limit)) => reached(which, Some(limit)),
            None => reached(LimitKind::DiskBytes, limits.disk_bytes),
        },
        Reason::Oom => reached(LimitKind::MemoryBytes, limits.memory_bytes),
        Reason::Exited if known.out_of_memory => reached(LimitKind::MemoryBytes, limits.memory_bytes),
        Reason::Signalled if exit.signal == Some(SIGXFSZ) => reached(LimitKind::FileBytes, limits.file_bytes),
        Reason::Exited | Reason::Signalled | Reason::Cancelled | Reason::SetupFailed | Reason::Lost => None,
    }
}

fn cpu_time_ran_out(exit: &Exit, limits: &Limits) -> bool {
    limits.cpu_ms.is_some_and(|limit| match exit.signal {
        // The kernel sends it for nothing else. It counts in ticks, which on a busy host are more than the time that was
        // used. A program that sends it to itself early has not run out of time.
        Some(SIGXCPU) => exit.usage.cpu_ms >= limit / 2,
        // The usage is rounded down.
        _ => exit.usage.cpu_ms + 50 >= limit,
    })
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{ms} ms") }
}

/// What init was asked to start, as far as a failure mentions it.
#[derive(Debug)]
pub(crate) struct Requested {
    /// The program.
    pub(crate) name: String,
    /// The working directory.
    pub(crate) cwd: String,
}

/// The verdict on a program that init could not start.
pub(crate) fn not_started(failure: &StartFailure, requested: &Requested) -> Verdict {
    let Requested { name, cwd } = requested;
    let detail = match failure.kind {
        StartFailureKind::NotFound => Some(ExitDetail::command_not_found(name)),
        // The program exists; its interpreter does not.
        StartFailureKind::NotExecutable if failure.errno == ENOENT => {
            Some(ExitDetail::interpreter_not_found(name))
        }
        StartFailureKind::NotExecutable => Some(ExitDetail::not_executable(name)),
        StartFailureKind::BadCwd => Some(ExitDetail::bad_working_directory(cwd)),
        StartFailureKind::TooLong => Some(ExitDetail::ArgumentsTooLong),
        StartFailureKind::NoResources => Some(ExitDetail::NoResources),
        StartFailureKind::Other => None,
    };
    Verdict { detail, ..unseen(Reason::SetupFailed, failure.message.clone()) }
}

/// The verdict on a program whose end was not reported, or that never ran.
pub(crate) fn unseen(reason: Reason, message: impl Into<String>) -> Verdict {
    Verdict { message: Some(message.into()), ..Verdict::new(reason) }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::Usage;

    use super::*;

    fn judged(
        code: Option<i32>,
        signal: Option<i32>,
        cause: Option<Cause>,
        oom: bool,
        cpu_ms: u64,
    ) -> Verdict {
        let usage = Usage { cpu_ms, max_rss_bytes: 0 };
        let exit = Exit { code, signal, cause, at_us: 0, duration_us: 1_500_000, usage };
        let limits = Limits {
            cpu_ms: Some(1000),
            memory_bytes: Some(1 << 20),
            output_bytes: Some(4096),
            disk_bytes: Some(1 << 30),
            ..Limits::default()
        };
        let known = Circumstances {
            limits: &limits,
            timeout_ms: Some(500),
            out_of_memory: oom,
            over_disk: Some((LimitKind::Inodes, 70)),
            waiting_bytes: 0,
        };
        verdict(&exit, known)
    }

    #[test]
    fn every_kind_of_end_has_its_reason() {
        for (got, reason) in [
            (judged(Some(3), None, None, false, 0), Reason::Exited),
            (judged(None, Some(11), None, false, 0), Reason::Signalled),
            (judged(None, Some(15), Some(Cause::TimedOut), false, 0), Reason::TimedOut),
            (judged(Some(0), None, Some(Cause::Cancelled), false, 0), Reason::Cancelled),
            (judged(None, Some(9), None, true, 0), Reason::Oom),
            (judged(None, Some(9), None, false, 0), Reason::Signalled),
            (judged(None, Some(24), None, false, 1000), Reason::TimedOut),
            (judged(None, Some(24), None, false, 800), Reason::TimedOut),
            (judged(None, Some(24), None, false, 10), Reason::Signalled),
            (judged(None, Some(15), Some(Cause::OutputLimit), false, 0), Reason::OutputLimit),
            (judged(None, Some(15), Some(Cause::DiskLimit), false, 0), Reason::DiskLimit),
        ] {
            assert_eq!(got.reason, reason, "{got:?}");
        }
    }

    #[test]
    fn a_timeout_says_after_how_long_and_an_oom_how_much() {
        let timeout = judged(None, Some(9), Some(Cause::TimedOut), false, 0);
        assert_eq!(timeout.message.as_deref(), Some("timed out after 500 ms"));
        assert!(judged(None, Some(9), None, true, 0).message.unwrap().contains("1048576"));
        assert!(judged(Some(137), None, None, true, 0).message.unwrap().contains("killed"));
    }

    #[test]
    fn every_limit_that_ended_a_program_is_named_with_its_value() {
        let limit = |which, limit| Some(ExitDetail::Limit { which, limit });
        let stopped = |cause| judged(None, Some(15), Some(cause), false, 0);
        for (got, expected) in [
            (stopped(Cause::TimedOut), Some(ExitDetail::TimedOut { after_ms: 500 })),
            (stopped(Cause::OutputLimit), limit(LimitKind::OutputBytes, 4096)),
            (stopped(Cause::DiskLimit), limit(LimitKind::Inodes, 70)),
            (stopped(Cause::Cancelled), None),
            (judged(None, Some(SIGXFSZ), None, false, 0), limit(LimitKind::DiskBytes, 1 << 30)),
            (judged(None, Some(SIGXCPU), None, false, 1000), limit(LimitKind::CpuMs, 1000)),
            (judged(None, Some(SIGKILL), None, true, 0), limit(LimitKind::MemoryBytes, 1 << 20)),
            (judged(Some(137), None, None, true, 0), limit(LimitKind::MemoryBytes, 1 << 20)),
            (judged(Some(0), None, None, false, 0), None),
            (judged(None, Some(11), None, false, 0), None),
        ] {
            assert_eq!(got.detail, expected, "{got:?}");
        }
    }

    #[test]
    fn a_limit_without_a_value_gives_no_detail() {
        let exit = Exit {
            code: None,
            signal: Some(15),
            cause: Some(Cause::TimedOut),
            at_us: 0,
            duration_us: 1,
            usage: Usage::default(),
        };
        let limits = Limits::default();
        let known = Circumstances {
            limits: &limits,
            timeout_ms: None,
            out_of_memory: false,
            over_disk: None,
            waiting_bytes: 0,
        };
        assert_eq!(verdict(&exit, known).detail, None);
        assert_eq!(verdict(&Exit { cause: Some(Cause::DiskLimit), ..exit }, known).detail, None);
    }

    #[test]
    fn every_kind_of_failed_start_has_its_detail() {
        let requested = Requested { name: "x".into(), cwd: "/d".into() };
        for (kind, errno, expected) in [
            (StartFailureKind::NotFound, 2, Some(ExitDetail::command_not_found("x"))),
            (StartFailureKind::NotExecutable, 2, Some(ExitDetail::interpreter_not_found("x"))),
            (StartFailureKind::NotExecutable, 13, Some(ExitDetail::not_executable("x"))),
            (StartFailureKind::BadCwd, 2, Some(ExitDetail::bad_working_directory("/d"))),
            (StartFailureKind::TooLong, 7, Some(ExitDetail::ArgumentsTooLong)),
            (StartFailureKind::NoResources, 11, Some(ExitDetail::NoResources)),
            (StartFailureKind::Other, 1, None),
        ] {
            let verdict = not_started(&StartFailure { kind, message: "words".into(), errno }, &requested);
            assert_eq!((verdict.reason, verdict.detail), (Reason::SetupFailed, expected), "{kind:?}");
            assert_eq!(verdict.message.as_deref(), Some("words"));
        }
    }
}
