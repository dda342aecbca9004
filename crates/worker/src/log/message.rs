//! The words of a verdict: the file `message`, a checksum and the text.

use rustix::fs::{Mode, OFlags};

use super::LogError;
use super::files::{Files, read_full, write_full};
use super::record::Message;

/// Longer messages are cut: they are for people.
const MAX_BYTES: usize = 64 << 10;

/// Stands in for a message that had no room on the disk.
const LOST: &str = "the disk was full, so the message of this verdict could not be stored";

/// Stores a message, to be called before the record that speaks of it; returns what readers will see.
pub(super) fn store(files: &Files, text: Option<&str>) -> Result<(Message, Option<String>), LogError> {
    let Some(text) = text else {
        return Ok((Message::None, None));
    };
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let mut bytes = crc32fast::hash(text.as_bytes()).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    let path = files.path("message");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let stored = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))
        .and_then(|fd| write_full(&fd, &bytes, 0))
        .map_err(|e| LogError::io("write", &path, e));
    match stored {
        Ok(()) => Ok((Message::Stored, Some(text.to_owned()))),
        Err(LogError::DiskFull { .. }) => Ok((Message::Lost, Some(LOST.to_owned()))),
        Err(error) => Err(error),
    }
}

/// The message that a record speaks of; a damaged one is left out, for the verdict stands without it.
pub(super) fn load(files: &Files, message: Message) -> Result<Option<String>, LogError> {
    match message {
        Message::None => return Ok(None),
        Message::Lost => return Ok(Some(LOST.to_owned())),
        Message::Stored => {}
    }
    let Some(fd) = files.open_existing("message", OFlags::RDONLY)? else {
        return Ok(None);
    };
    let bytes =
        read_full(&fd, 4 + MAX_BYTES, 0).map_err(|e| LogError::io("read", &files.path("message"), e))?;
    let text = bytes
        .split_at_checked(4)
        .filter(|(crc, text)| *crc == crc32fast::hash(text).to_le_bytes())
        .and_then(|(_, text)| String::from_utf8(text.to_vec()).ok());
    Ok(text)
}
