//! The processes of an execution: finding them, signalling them, ending them all.

use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;

use super::{signals, tag};

/// Room for the names that one call of getdents returns: some eighty processes.
const DIRENTS_BYTES: usize = 2048;

/// How often a tree is frozen anew before it is killed, in one go: a fork bomb needs a few.
const MAX_FREEZE_PASSES: usize = 8;

/// How many looks in a row must find nothing before a tree counts as gone.
pub(super) const EMPTY_SCANS_REQUIRED: usize = 8;

/// What a pass over a tree has seen: equal for two passes only if both saw the same processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Census {
    count: usize,
    sum: u64,
}

/// Calls `each` with the id and the tag of every process whose tag is wanted. Ended processes that nobody has
/// waited for yet are among them.
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

/// Whether no process is left; an error if that cannot be found out now.
///
/// One look is not enough: a process that forks and exits all the time is seldom where it was when `/proc` was
/// listed, so that a look may miss it.
pub(super) fn is_gone(wanted: impl Fn(u64) -> bool) -> Result<bool, Errno> {
    for _ in 0..EMPTY_SCANS_REQUIRED {
        if signal(&wanted, &[])? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sends signals, in this order, to each process.
pub(super) fn signal(wanted: impl Fn(u64) -> bool, numbers: &[i32]) -> Result<usize, Errno> {
    Ok(census(wanted, numbers)?.count)
}

fn census(wanted: impl Fn(u64) -> bool, numbers: &[i32]) -> Result<Census, Errno> {
    let mut seen = Census::default();
    scan(wanted, |pid, _| {
        seen.count += 1;
        // Ids are positive and do not repeat in a pass, so that equal sums of equal counts mean equal sets but for
        // accidents, and an accident costs one more pass.
        seen.sum =
            seen.sum.wrapping_add(u64::from(pid.unsigned_abs()).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7);
        for number in numbers {
            signals::send(pid, *number);
        }
    })?;
    Ok(seen)
}

/// Sends SIGKILL to the whole tree; true if nothing of it was there any more, dying or dead ones included.
///
/// Killing one by one may lose against a tree that forks: the killed make room for new ones. So it is frozen first.
/// A process with a pending signal cannot fork, and a stopped one keeps its place under the limit on processes;
/// when two passes have seen the same processes, all of them stand still.
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
