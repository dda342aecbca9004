//! The process tree of an execution: finding, signalling and killing its processes.

use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;

use super::{signals, tag};

/// The buffer of one `getdents` call: room for about eighty processes.
const DIRENTS_BYTES: usize = 2048;

/// How many times a tree is frozen before it is killed, in one pass: a fork bomb needs several.
const MAX_FREEZE_PASSES: usize = 8;

/// How many scans in a row must find no process before a tree counts as gone.
pub(super) const EMPTY_SCANS_REQUIRED: usize = 8;

/// The processes that a pass has seen: two passes compare equal only if they saw the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Census {
    count: usize,
    sum: u64,
}

/// Calls `each` with the pid and the tag of every process whose tag is wanted, zombies included.
pub(super) fn scan(wanted: impl Fn(u64) -> bool, mut each: impl FnMut(i32, u64)) -> Result<(), Errno> {
    let proc = openat(CWD, "/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut names = [MaybeUninit::uninit(); DIRENTS_BYTES];
    let mut entries = RawDir::new(proc, &mut names);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Some(pid) = number(entry.file_name().to_bytes()) else {
            continue;
        };
        if let Some(tag) = tag::of(pid).filter(|tag| wanted(*tag)) {
            each(pid, tag);
        }
    }
    Ok(())
}

/// Whether no process is left; an error if that cannot be determined now.
///
/// One scan is not enough: a process that keeps forking and exiting has often moved on by the time `/proc` is
/// read, so a scan may miss it.
pub(super) fn is_gone(wanted: impl Fn(u64) -> bool) -> Result<bool, Errno> {
    for _ in 0..EMPTY_SCANS_REQUIRED {
        if signal(&wanted, &[])? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sends these signals to each process, in this order. Returns the number of processes.
pub(super) fn signal(wanted: impl Fn(u64) -> bool, numbers: &[i32]) -> Result<usize, Errno> {
    Ok(census(wanted, numbers)?.count)
}

fn census(wanted: impl Fn(u64) -> bool, numbers: &[i32]) -> Result<Census, Errno> {
    let mut seen = Census::default();
    scan(wanted, |pid, _| {
        seen.count += 1;
        // Pids are positive and unique within a pass, so equal sums and counts mean equal sets, except by
        // coincidence, which costs one more pass.
        seen.sum =
            seen.sum.wrapping_add(u64::from(pid.unsigned_abs()).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7);
        for number in numbers {
            signals::send(pid, *number);
        }
    })?;
    Ok(seen)
}

/// Sends SIGKILL to the whole tree. True if no process of it was left, not even a dying one or a zombie.
///
/// Killing one process at a time may never catch up with a tree that forks. So the tree is frozen first: a
/// process with a pending signal cannot fork, and a stopped one still counts towards the process limit. When
/// two passes have seen the same processes, all of them are stopped.
pub(super) fn kill(wanted: impl Fn(u64) -> bool) -> Result<bool, Errno> {
    let mut last = Census::default();
    for _ in 0..MAX_FREEZE_PASSES {
        let seen = census(&wanted, &[libc::SIGSTOP])?;
        if seen == last {
            break;
        }
        last = seen;
    }
    Ok(signal(&wanted, &[libc::SIGKILL])? == 0 && is_gone(wanted)?)
}

fn number(name: &[u8]) -> Option<i32> {
    if !name.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_in_proc_are_processes() {
        assert_eq!(number(b"17"), Some(17));
        for other in [b"self".as_slice(), b"", b"+1", b"-1", b"1x", b"99999999999"] {
            assert_eq!(number(other), None);
        }
    }

    #[test]
    fn a_scan_finds_this_process_by_the_number_it_carries() {
        let mine = tag::of(0).unwrap();
        let mut found = false;
        scan(|tag| tag == mine, |pid, _| found |= u32::try_from(pid) == Ok(std::process::id())).unwrap();
        assert!(found);
        assert_eq!(is_gone(|tag| tag == mine), Ok(false));
        assert_eq!(is_gone(|_| false), Ok(true));
    }
}
