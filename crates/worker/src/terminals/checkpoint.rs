//! Checkpoints: what a screen showed after some record, in a file beside the log, so that it can be built again from there,
//! soon, and also when the records before are no longer kept.

use std::fs;
use std::io;
use std::path::Path;

const FILE: &str = "screen";
const FRESH: &str = "screen.new";
const REPLAYS: &str = "replays";
/// A log that ended the worker so many times while it was read is not read again.
const MAX_REPLAYS: u8 = 3;

/// What a screen showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// All records up to this one are in it.
    pub(crate) seq: u64,
    /// So many changes of size are in it, the first size included.
    pub(crate) sizes: u64,
    pub(crate) rows: u16,
    pub(crate) cols: u16,
    pub(crate) snapshot: Vec<u8>,
}

impl Checkpoint {
    /// Writes it, replacing the last one in one step.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let head = format!("1 {} {} {} {}\n", self.seq, self.sizes, self.rows, self.cols);
        let crc = crc32fast::hash(&self.snapshot);
        let bytes = [head.as_bytes(), &crc.to_le_bytes(), &self.snapshot].concat();
        fs::write(dir.join(FRESH), bytes)?;
        fs::rename(dir.join(FRESH), dir.join(FILE))
    }

    /// Reads the last one, if there is one that is whole.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let bytes = fs::read(dir.join(FILE)).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let mut words = std::str::from_utf8(bytes.get(..end)?).ok()?.split(' ');
        if words.next() != Some("1") {
            return None;
        }
        let (crc, snapshot) = bytes.get(end + 1..)?.split_first_chunk::<4>()?;
        let checkpoint = Self {
            seq: words.next()?.parse().ok()?,
            sizes: words.next()?.parse().ok()?,
            rows: words.next()?.parse().ok()?,
            cols: words.next()?.parse().ok()?,
            snapshot: snapshot.to_vec(),
        };
        (u32::from_le_bytes(*crc) == crc32fast::hash(snapshot)).then_some(checkpoint)
    }
}

/// Notes that the log is about to be read again; answers whether it may be. The emulator is a library: should a program
/// print what makes it panic, the worker must not end for ever over one terminal.
pub(crate) fn may_replay(dir: &Path) -> bool {
    let tried = fs::read(dir.join(REPLAYS)).ok().and_then(|tried| tried.first().copied()).unwrap_or(0);
    // Without room on the disk it is tried all the same.
    let _ = fs::write(dir.join(REPLAYS), [tried.saturating_add(1)]);
    tried < MAX_REPLAYS
}

/// The log was read.
pub(crate) fn replayed(dir: &Path) {
    // If it is there the next worker counts one too many.
    let _ = fs::remove_file(dir.join(REPLAYS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_read_as_it_was_written_and_a_torn_one_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Checkpoint::read(dir.path()), None);
        let written = Checkpoint { seq: 7, sizes: 2, rows: 24, cols: 80, snapshot: b"\x1bc\nx".to_vec() };
        written.write(dir.path()).unwrap();
        assert_eq!(Checkpoint::read(dir.path()), Some(written));
        let whole = fs::read(dir.path().join(FILE)).unwrap();
        for end in 0..whole.len() {
            fs::write(dir.path().join(FILE), &whole[..end]).unwrap();
            assert_eq!(Checkpoint::read(dir.path()), None, "{end}");
        }
    }

    #[test]
    fn a_log_that_ended_the_worker_three_times_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let tries: Vec<bool> = (0..5).map(|_| may_replay(dir.path())).collect();
        assert_eq!(tries, [true, true, true, false, false]);
        replayed(dir.path());
        assert!(may_replay(dir.path()));
    }
}
