//! Reading `/proc/<pid>/stat`.

use headwater_protocol::Process;
use rustix::fs::{CWD, Mode, OFlags, openat};

/// The state and the identity of a process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The state letter of proc(5).
    pub(super) state: u8,
    /// Its pid, its parent's pid and its name.
    pub(super) process: Process,
}

impl Stat {
    /// Whether it has ended and has not been reaped.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether a signal has stopped it.
    pub(super) fn is_stopped(&self) -> bool {
        self.state == b'T'
    }
}

/// Reads the file; `None` if the process is gone.
pub(super) fn read(pid: i32) -> Option<Stat> {
    let path = format!("/proc/{pid}/stat");
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut buffer = [0; 512]; // the name has at most 64 bytes, and only the first fields matter
    let length = rustix::io::read(&file, &mut buffer).ok()?;
    parse(pid, buffer.get(..length)?)
}

/// Parses the line. The name is in parentheses and may contain any byte: it ends at the last closing one.
fn parse(pid: i32, line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    let mut fields = line.get(close + 1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let parent = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    Some(Stat { state, process: Process { pid, ppid: parent, name } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_parentheses_and_broken_text_is_read_whole() {
        let stat = parse(7, b"7 (a) R (1 \xff) S 3 7 7 0 -1").unwrap();
        assert_eq!(stat.state, b'S');
        assert_eq!(stat.process, Process { pid: 7, ppid: 3, name: "a) R (1 \u{fffd}".into() });
    }

    #[test]
    fn a_line_that_is_cut_is_nothing() {
        for line in [b"".as_slice(), b"7 (x", b"7 (x)", b"7 (x) S", b"7 (x) S y 1", b"7 )x( S 1"] {
            assert_eq!(parse(7, line), None);
        }
    }

    #[test]
    fn this_process_is_alive() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let stat = read(pid).unwrap();
        assert!(!stat.is_dead() && !stat.is_stopped());
        assert!(stat.process.ppid > 0);
    }
}
