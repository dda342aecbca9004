//! Running a trial in a child process, so that its effects end with it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::refusal::{OrRefused, Refusal, last_errno};

/// No trial takes a second.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs `work` in a child and returns its result.
///
/// The child may allocate: the C library keeps its allocator usable after `fork`, even if other threads were
/// using it.
pub(super) fn in_child<T>(work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal>
where
    T: Serialize + DeserializeOwned,
{
    let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).or_refused("create a pipe")?;
    // SAFETY: the child runs on its own copy of the memory, uses no lock of ours except the allocator's,
    // which the C library handles, and never returns from the branch.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()).or_refused("fork"),
        0 => {
            let _end = ExitOnDrop;
            drop(reading);
            send_result(writing, &work());
            unreachable_by_design()
        }
        pid => {
            drop(writing);
            let said = read_result(reading);
            let pid = Pid::from_raw(pid);
            if said.is_none()
                && let Some(pid) = pid
            {
                // It is our child and has not been reaped: its pid has not been reused.
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            let status = rustix::io::retry_on_intr(|| rustix::process::waitpid(pid, WaitOptions::empty()));
            let signal = status.ok().flatten().and_then(|(_, status)| status.terminating_signal());
            match said {
                None => Err(Refusal::unexpected(format_args!("it took more than {TRIAL_TIMEOUT:?}"))),
                Some(bytes) => postcard::from_bytes(&bytes).unwrap_or_else(|_| {
                    let how = signal.map_or_else(String::new, |signal| format!(" by signal {signal}"));
                    Err(Refusal::unexpected(format_args!("the trial was ended{how}")))
                }),
            }
        }
    }
}

/// Exits the child even if `work` panics: it must never continue as a copy of the caller.
struct ExitOnDrop;

impl Drop for ExitOnDrop {
    fn drop(&mut self) {
        // SAFETY: exits this process at once.
        unsafe { libc::_exit(0) }
    }
}

/// Gives the child's branch a type; [`ExitOnDrop`] exits the process before the value is used.
fn unreachable_by_design<T>() -> Result<T, Refusal> {
    Err(Refusal::unexpected("a child continued"))
}

fn send_result<T: Serialize>(writing: OwnedFd, found: &Result<T, Refusal>) {
    if let Ok(bytes) = postcard::to_stdvec(found) {
        let _ = File::from(writing).write_all(&bytes); // on failure the parent reads nothing
    }
}

/// Everything that is written until the last writer is gone; `None` if that takes too long.
fn read_result(reading: OwnedFd) -> Option<Vec<u8>> {
    let deadline = Instant::now() + TRIAL_TIMEOUT;
    let mut file = File::from(reading);
    let mut all = Vec::new();
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()?;
        match rustix::event::poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => continue,
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        let mut buffer = [0; 4096];
        match file.read(&mut buffer) {
            Ok(0) => return Some(all),
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Forks; the parent exits and the child continues, to be the first process of a new pid namespace.
pub(super) fn continue_in_child() -> Result<(), Refusal> {
    // SAFETY: as in `in_child`, and this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()).or_refused("fork the first process of a pid namespace"),
        0 => Ok(()),
        // SAFETY: exits this process at once.
        _ => unsafe { libc::_exit(0) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_findings_of_a_child_are_returned_and_its_changes_stay_its_own() {
        let before = std::env::current_dir().unwrap();
        let found = in_child(|| {
            rustix::process::chdir("/").or_refused("chdir")?;
            Ok((std::process::id(), "x".repeat(100_000)))
        });
        let (pid, text) = found.unwrap();
        assert_ne!(pid, std::process::id());
        assert_eq!(text.len(), 100_000);
        assert_eq!(std::env::current_dir().unwrap(), before);
    }

    #[test]
    fn a_child_that_dies_or_panics_is_reported_as_such() {
        let killed: Result<(), _> = in_child(|| {
            // SAFETY: sends a signal to this very process.
            unsafe { libc::raise(libc::SIGKILL) };
            Ok(())
        });
        assert_eq!(killed, Err(Refusal::unexpected("the trial was ended by signal 9")));
        let panicked: Result<(), _> = in_child(|| std::panic::resume_unwind(Box::new(())));
        assert_eq!(panicked, Err(Refusal::unexpected("the trial was ended")));
    }

    #[test]
    fn the_first_process_of_a_new_namespace_reports_too() {
        let found = in_child(|| {
            let before = std::process::id();
            continue_in_child()?;
            Ok(before != std::process::id())
        });
        assert_eq!(found, Ok(true));
    }
}
