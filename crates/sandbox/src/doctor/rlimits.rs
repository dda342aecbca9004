//! Resource limits, which replace cgroups on hosts without them. Each is exceeded to check that it is
//! enforced.

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};

use super::facts::Facts;
use super::namespaces::become_session_user;
use super::refusal::{OrRefused, Refusal};

/// Far more than an idle process uses, and far less than the trial then allocates.
const DATA_BYTES: u64 = 256 << 20;
/// More than the trial itself needs.
const PROCESSES: u32 = 8;

/// Checks that `RLIMIT_DATA` limits memory.
pub(super) fn memory() -> Result<(), Refusal> {
    let limit = Rlimit { current: Some(DATA_BYTES), maximum: Some(DATA_BYTES) };
    rustix::process::setrlimit(Resource::Data, limit).or_refused("set RLIMIT_DATA")?;
    let wanted = usize::try_from(2 * DATA_BYTES).unwrap_or(usize::MAX);
    let mut memory: Vec<u8> = Vec::new();
    match memory.try_reserve_exact(wanted) {
        Err(_) => Ok(()),
        Ok(()) => Err(Refusal::unexpected("a process gets more memory than RLIMIT_DATA allows")),
    }
}

/// Checks that `RLIMIT_NPROC` limits the processes of a session's user.
pub(super) fn processes(facts: &Facts) -> Result<(), Refusal> {
    let limit = Rlimit { current: Some(PROCESSES.into()), maximum: Some(PROCESSES.into()) };
    become_session_user(facts)?;
    rustix::process::setrlimit(Resource::Nproc, limit).or_refused("set RLIMIT_NPROC")?;
    // A process with capabilities may exceed it; programs of a session have none.
    let none = rustix::thread::CapabilitySet::empty();
    let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).or_refused("drop capabilities")?;
    match count_forks(2 * PROCESSES)? {
        made if made <= PROCESSES => Ok(()),
        made => Err(Refusal::unexpected(format_args!(
            "{made} processes were started where RLIMIT_NPROC allows {PROCESSES}"
        ))),
    }
}

/// Forks until the kernel refuses or there are `most` children; returns how many, and kills them.
pub(super) fn count_forks(most: u32) -> Result<u32, Refusal> {
    let mut made = Vec::new();
    while u32::try_from(made.len()).is_ok_and(|count| count < most) {
        // SAFETY: this process has one thread; the child does nothing but wait to be killed.
        match unsafe { libc::fork() } {
            -1 => break,
            0 => loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            },
            pid => made.extend(Pid::from_raw(pid)),
        }
    }
    for pid in &made {
        // They are our children and have not been reaped: their pids have not been reused.
        rustix::process::kill_process(*pid, Signal::KILL).or_refused("end a child")?;
        let _ = rustix::process::waitpid(Some(*pid), WaitOptions::empty());
    }
    u32::try_from(made.len()).map_err(Refusal::unexpected)
}

#[cfg(test)]
mod tests {
    use super::super::child::in_child;
    use super::*;

    #[test]
    fn memory_past_the_stand_in_is_refused() {
        assert_eq!(in_child(memory), Ok(()));
    }

    #[test]
    fn processes_past_the_stand_in_are_refused() {
        assert_eq!(in_child(|| processes(&Facts::of_this_host(0x7200_0000))), Ok(()));
    }

    #[test]
    fn processes_are_counted_where_nothing_refuses_them() {
        assert_eq!(in_child(|| count_forks(20)), Ok(20));
    }
}
