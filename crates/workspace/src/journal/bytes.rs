//! The bytes of a change of many files: one file for all new contents and one for the old ones, beside the workspace.
//!
//! Creating and removing a file costs about ten times as much as writing into one that exists, so a change of many files
//! does not create a slot for each.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

const NEW_NAME: &str = "new";
const OLD_NAME: &str = "old";
const PROGRESS_NAME: &str = "progress";

/// The most bytes that are copied at once.
const CHUNK_BYTES: usize = 128 << 10;
/// The bytes of one mark.
const MARK_BYTES: usize = 8;

/// A part of such a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    start: u64,
    len: u64,
}

impl Span {
    /// The number of bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The bytes of a change, and which steps have begun.
#[derive(Debug)]
pub struct StagedBytes {
    new: File,
    new_len: u64,
    old: File,
    old_len: u64,
    /// A mark of each step, written before the step changes something. It is not synced: see [`StagedBytes::mark_of`].
    progress: File,
}

impl StagedBytes {
    /// Creates the files in a folder that no program of the session can reach.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let file = |name| OpenOptions::new().read(true).write(true).create_new(true).open(folder.join(name));
        let (new, old, progress) = (file(NEW_NAME)?, file(OLD_NAME)?, file(PROGRESS_NAME)?);
        Ok(Self { new, new_len: 0, old, old_len: 0, progress })
    }

    /// Opens the files of a change that was interrupted, if it has any.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        let file = |name| OpenOptions::new().read(true).write(true).open(folder.join(name));
        let progress = match file(PROGRESS_NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            progress => progress?,
        };
        let (new, old) = (file(NEW_NAME)?, file(OLD_NAME)?);
        let (new_len, old_len) = (new.metadata()?.len(), old.metadata()?.len());
        Ok(Some(Self { new, new_len, old, old_len, progress }))
    }

    /// Begins a new content.
    pub const fn begin(&self) -> Span {
        Span { start: self.new_len, len: 0 }
    }

    /// Adds bytes to the content that was begun last.
    pub fn add(&mut self, content: &mut Span, bytes: &[u8]) -> io::Result<()> {
        self.new.write_all_at(bytes, self.new_len)?;
        self.new_len += bytes.len() as u64;
        content.len += bytes.len() as u64;
        Ok(())
    }

    /// Keeps the old content of a file.
    pub fn keep(&mut self, file: &File, len: u64) -> io::Result<Span> {
        let kept = Span { start: self.old_len, len };
        copy(file, 0, &self.old, kept.start, len)?;
        self.old_len += len;
        Ok(kept)
    }

    /// Syncs what is needed to undo the change.
    pub fn sync(&self) -> io::Result<()> {
        self.old.sync_all()
    }

    /// Writes a new content to a slot or another empty file.
    pub fn write_new(&self, content: Span, file: impl AsFd) -> io::Result<()> {
        let file = File::from(file.as_fd().try_clone_to_owned()?);
        copy(&self.new, content.start, &file, 0, content.len)
    }

    /// Writes an old content over a file.
    pub(super) fn write_old(&self, content: Span, file: &File) -> io::Result<()> {
        copy(&self.old, content.start, file, 0, content.len)
    }

    /// Whether a file has this new content.
    pub(super) fn is_new(&self, content: Span, file: &File) -> io::Result<bool> {
        if file.metadata()?.len() != content.len {
            return Ok(false);
        }
        let mut at = 0;
        let (mut ours, mut theirs) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
        while at < content.len {
            let part = chunk(content.len - at);
            self.new.read_exact_at(&mut ours[..part], content.start + at)?;
            file.read_exact_at(&mut theirs[..part], at)?;
            if ours[..part] != theirs[..part] {
                return Ok(false);
            }
            at += part as u64;
        }
        Ok(true)
    }

    /// Marks a step, before it changes something. A mark is not 0.
    pub(super) fn mark(&self, step: usize, mark: u64) -> io::Result<()> {
        self.progress.write_all_at(&mark.to_le_bytes(), place_of(step))
    }

    /// The mark of a step; 0 if it has none. A power failure loses marks, a killed worker does not.
    pub(super) fn mark_of(&self, step: usize) -> io::Result<u64> {
        let mut mark = [0; MARK_BYTES];
        match self.progress.read_exact_at(&mut mark, place_of(step)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read.map(|()| u64::from_le_bytes(mark)),
        }
    }
}

/// Where the mark of a step is.
const fn place_of(step: usize) -> u64 {
    (step * MARK_BYTES) as u64
}

fn chunk(left: u64) -> usize {
    usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES)
}

/// Copies bytes between positions of two files.
fn copy(from: &File, from_at: u64, to: &File, to_at: u64, len: u64) -> io::Result<()> {
    let mut buffer = vec![0; chunk(len)];
    let mut done = 0;
    while done < len {
        let part = chunk(len - done);
        from.read_exact_at(&mut buffer[..part], from_at + done)?;
        to.write_all_at(&buffer[..part], to_at + done)?;
        done += part as u64;
    }
    Ok(())
}
