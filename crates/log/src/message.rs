//! The parts of a verdict outside its record: the files `message` and `detail`, each a checksum and a text.

use headwater_protocol::ExitDetail;
use rustix::fs::{Mode, OFlags};

use super::LogError;
use super::files::{Files, read_full, write_full};
use super::record::Message;

/// Longer messages are truncated: they are for people. A detail is shorter: its names are limited.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Replaces a message that could not be stored.
const LOST_MESSAGE: &str = "the disk was full, so the message of this verdict could not be stored";

/// Stores a message before the record that refers to it; returns the message that readers will get.
pub(crate) fn store(files: &Files, text: Option<&str>) -> Result<(Message, Option<String>), LogError> {
    let Some(text) = text else {
        return Ok((Message::None, None));
    };
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    match write(files, "message", text) {
        Ok(()) => Ok((Message::Stored, Some(text.to_owned()))),
        Err(LogError::DiskFull { .. }) => Ok((Message::Lost, Some(LOST_MESSAGE.to_owned()))),
        Err(error) => Err(error),
    }
}

/// Stores a detail as JSON, likewise. On a full disk it is left out: the verdict is valid without it.
pub(crate) fn store_detail(
    files: &Files,
    detail: Option<&ExitDetail>,
) -> Result<Option<ExitDetail>, LogError> {
    let Some((detail, json)) = detail.and_then(|detail| Some((detail, serde_json::to_string(detail).ok()?)))
    else {
        return Ok(None);
    };
    match write(files, "detail", &json) {
        Ok(()) => Ok(Some(detail.clone())),
        Err(LogError::DiskFull { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The message that a record refers to; a damaged one is left out: the verdict is valid without it.
pub(crate) fn load(files: &Files, message: Message) -> Result<Option<String>, LogError> {
    match message {
        Message::None => Ok(None),
        Message::Lost => Ok(Some(LOST_MESSAGE.to_owned())),
        Message::Stored => read(files, "message"),
    }
}

/// The detail that a record refers to; a damaged one is left out.
pub(crate) fn load_detail(files: &Files) -> Result<Option<ExitDetail>, LogError> {
    Ok(read(files, "detail")?.and_then(|json| serde_json::from_str(&json).ok()))
}

fn write(files: &Files, name: &str, text: &str) -> Result<(), LogError> {
    let mut bytes = crc32fast::hash(text.as_bytes()).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    let path = files.path(name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600))
        .and_then(|fd| write_full(&fd, &bytes, 0))
        .map_err(|e| LogError::io("write", &path, e))
}

/// The text in a file, if it exists and is intact.
fn read(files: &Files, name: &str) -> Result<Option<String>, LogError> {
    let Some(fd) = files.open_existing(name, OFlags::RDONLY)? else {
        return Ok(None);
    };
    let bytes =
        read_full(&fd, 4 + MAX_TEXT_BYTES, 0).map_err(|e| LogError::io("read", &files.path(name), e))?;
    let text = bytes
        .split_at_checked(4)
        .filter(|(crc, text)| *crc == crc32fast::hash(text).to_le_bytes())
        .and_then(|(_, text)| String::from_utf8(text.to_vec()).ok());
    Ok(text)
}
