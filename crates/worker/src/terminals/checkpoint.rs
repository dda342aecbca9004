//! Checkpoints: the screen after some record, in a file beside the log, so that it can be built again quickly, even if the
//! records before are no longer kept.

use std::fs;
use std::io;
use std::path::Path;

const CHECKPOINT_NAME: &str = "screen";
const NEW_CHECKPOINT_NAME: &str = "screen.new";
const REPLAYS_NAME: &str = "replays";
/// A log that crashed the worker this many times is not read again.
const MAX_REPLAYS: u8 = 3;

/// The screen after a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The last record that is included.
    pub(crate) seq: u64,
    /// The number of size changes that are included, with the first size.
    pub(crate) sizes: u64,
    pub(crate) rows: u16,
    pub(crate) cols: u16,
    /// The record with the prompt at which the shell waits for a command.
    pub(crate) prompt: Option<u64>,
    pub(crate) snapshot: Vec<u8>,
}

impl Checkpoint {
    /// Writes the checkpoint and replaces the last one atomically.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        // Earlier versions ignore the last number; 0 is not the number of a record with output.
        let prompt = self.prompt.unwrap_or(0);
        let head = format!("1 {} {} {} {} {prompt}\n", self.seq, self.sizes, self.rows, self.cols);
        let crc = crc32fast::hash(&self.snapshot);
        let bytes = [head.as_bytes(), &crc.to_le_bytes(), &self.snapshot].concat();
        fs::write(dir.join(NEW_CHECKPOINT_NAME), bytes)?;
        fs::rename(dir.join(NEW_CHECKPOINT_NAME), dir.join(CHECKPOINT_NAME))
    }

    /// Reads the last checkpoint, if it is intact.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let bytes = fs::read(dir.join(CHECKPOINT_NAME)).ok()?;
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
            prompt: words.next().and_then(|prompt| prompt.parse().ok()).filter(|prompt| *prompt > 0),
            snapshot: snapshot.to_vec(),
        };
        (u32::from_le_bytes(*crc) == crc32fast::hash(snapshot)).then_some(checkpoint)
    }
}

/// Records that the log is about to be read again; returns whether it may be. The emulator is a library: if the output of
/// a program makes it panic, the worker must not crash again and again because of one terminal.
pub(crate) fn may_replay(dir: &Path) -> bool {
    let tried = fs::read(dir.join(REPLAYS_NAME)).ok().and_then(|tried| tried.first().copied()).unwrap_or(0);
    // On a full disk it is read anyway.
    let _ = fs::write(dir.join(REPLAYS_NAME), [tried.saturating_add(1)]);
    tried < MAX_REPLAYS
}

/// Records that the log was read.
pub(crate) fn replayed(dir: &Path) {
    // On failure the next worker counts one too many.
    let _ = fs::remove_file(dir.join(REPLAYS_NAME));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_read_as_it_was_written_and_a_torn_one_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Checkpoint::read(dir.path()), None);
        let snapshot = b"\x1bc\nx".to_vec();
        let without = Checkpoint { seq: 7, sizes: 2, rows: 24, cols: 80, prompt: None, snapshot };
        for written in [Checkpoint { prompt: Some(6), ..without.clone() }, without] {
            written.write(dir.path()).unwrap();
            assert_eq!(Checkpoint::read(dir.path()), Some(written));
        }
        let whole = fs::read(dir.path().join(CHECKPOINT_NAME)).unwrap();
        for end in 0..whole.len() {
            fs::write(dir.path().join(CHECKPOINT_NAME), &whole[..end]).unwrap();
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
