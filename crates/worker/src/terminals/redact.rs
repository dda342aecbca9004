//! Hides the secret of a shell's marks in output that leaves the worker. A reader of a terminal that knew it could let
//! its programs forge marks.
//!
//! It is hidden in marks, wherever they are cut, and elsewhere if it arrives as a whole: a user of the shell who prints it
//! in pieces may have it.
//!
//! The log keeps the secret, so that marks are recognised again. A reader gets zeros in its place: the number of bytes,
//! and so every position, stays the same.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use headwater_log::Log;
use headwater_protocol::Stream;
use memchr::memmem::{self, Finder};

/// Comes before the secret in a mark.
const BEFORE_SECRET: &[u8] = b";hw=";
/// Ends a mark.
const BELL: u8 = 0x07;
/// Stands in for each byte of the secret.
const HIDDEN: u8 = b'0';

/// Hides the secret in the output of one reader.
#[derive(Debug)]
pub(crate) struct Redactor {
    secret: Finder<'static>,
    log: Arc<Log>,
    /// The last bytes before `at`: a secret may begin in one read and end in the next.
    before: Vec<u8>,
    at: u64,
}

impl Redactor {
    /// Hides this secret in the output of this log.
    pub(crate) fn new(secret: &str, log: &Arc<Log>) -> Self {
        let secret = Finder::new(secret).into_owned();
        Self { secret, log: Arc::clone(log), before: Vec::new(), at: 0 }
    }

    /// Output from this position on, without the secret.
    pub(crate) fn redact(&mut self, offset: u64, bytes: Bytes) -> Bytes {
        if offset != self.at {
            self.before = self.read_before(offset);
        }
        let begins_inside = offset > 0 && self.before.is_empty();
        self.at = offset + bytes.len() as u64;
        let known = self.before.len();
        let all = [self.before.as_slice(), &bytes].concat();
        let found = places(&self.secret, &all, begins_inside);
        self.before = all.get(all.len().saturating_sub(self.reach())..).unwrap_or_default().to_vec();
        if found.is_empty() {
            return bytes;
        }
        let mut bytes = BytesMut::from(bytes);
        for place in found {
            let place = place.start.saturating_sub(known)..place.end.saturating_sub(known);
            bytes.get_mut(place).unwrap_or_default().fill(HIDDEN);
        }
        bytes.freeze()
    }

    /// How many bytes before a position can belong to a secret that continues there.
    fn reach(&self) -> usize {
        BEFORE_SECRET.len() + self.secret.needle().len() - 1
    }

    /// The bytes before a position, if they are kept.
    fn read_before(&self, offset: u64) -> Vec<u8> {
        let from = offset.saturating_sub(self.reach() as u64);
        let mut reader = self.log.bytes(Some(Stream::Output), from, offset);
        let mut before = Vec::new();
        while let Ok(Some(bytes)) = reader.read_next() {
            before.extend_from_slice(&bytes);
        }
        before
    }
}

/// The bytes of a screen, without the secret: its end may be an incomplete mark.
pub(crate) fn redact_screen(secret: &str, mut screen: Vec<u8>) -> Vec<u8> {
    for place in places(&Finder::new(secret), &screen, false) {
        screen.get_mut(place).unwrap_or_default().fill(HIDDEN);
    }
    screen
}

/// Where the secret is, or the part of it that has arrived. `begins_inside`: the bytes before are unknown.
fn places(secret: &Finder<'_>, bytes: &[u8], begins_inside: bool) -> Vec<Range<usize>> {
    let length = secret.needle().len();
    let mut found: Vec<Range<usize>> = secret.find_iter(bytes).map(|at| at..at + length).collect();
    // The last mark may be incomplete. Other output that happens to end like one is hidden, too: at most some
    // characters after `;hw=`.
    let end = bytes.len().saturating_sub(BEFORE_SECRET.len() + length - 1);
    if let Some(at) = bytes.get(end..).and_then(|end| memmem::rfind(end, BEFORE_SECRET)) {
        let at = end + at + BEFORE_SECRET.len();
        let part = bytes.get(at..).unwrap_or_default();
        if !part.is_empty() && secret.needle().starts_with(part) {
            found.push(at..bytes.len());
        }
    }
    if begins_inside
        && let Some(end) = bytes.iter().take(length).position(|byte| *byte == BELL)
        && bytes.get(..end).is_some_and(|part| secret.needle().ends_with(part))
    {
        found.push(0..end);
    }
    found
}

#[cfg(test)]
mod tests {
    use headwater_log::LogOptions;
    use headwater_protocol::ExecutionId;

    use super::*;

    const SECRET: &str = "0123456789abcdef";
    const OUTPUT: &[u8] =
        b"a;hw=0\x1b]133;A;hw=0123456789abcdef\x07$ \x1b]133;C;hw=0123456789abcdef\x07end;hw=";

    fn expected() -> Vec<u8> {
        String::from_utf8(OUTPUT.to_vec()).unwrap().replace(SECRET, &"0".repeat(SECRET.len())).into_bytes()
    }

    /// A log with this output, and its writer, without which it would be closed.
    fn log(folder: &tempfile::TempDir) -> (Arc<Log>, headwater_log::Writer) {
        let dir = folder.path().join("log");
        let (log, mut writer) = Log::create(&dir, ExecutionId::random(), LogOptions::new(1 << 20)).unwrap();
        writer.started(1, 1).unwrap();
        writer.append(Stream::Output, OUTPUT).unwrap();
        (log, writer)
    }

    #[test]
    fn the_secret_is_hidden_wherever_output_is_cut_and_wherever_a_reader_begins() {
        let folder = tempfile::tempdir().unwrap();
        let (log, _writer) = log(&folder);
        for first in 0..OUTPUT.len() {
            for length in 1..40 {
                let mut redactor = Redactor::new(SECRET, &log);
                let (mut at, mut read) = (first, Vec::new());
                for piece in OUTPUT[first..].chunks(length) {
                    read.extend(redactor.redact(at as u64, Bytes::copy_from_slice(piece)));
                    at += piece.len();
                }
                assert_eq!(
                    String::from_utf8_lossy(&read),
                    String::from_utf8_lossy(&expected()[first..]),
                    "from {first}, {length} bytes each"
                );
            }
        }
    }

    #[test]
    fn the_end_of_a_secret_whose_beginning_is_gone_is_hidden() {
        let secret = Finder::new(SECRET);
        for at in 1..SECRET.len() {
            let rest = format!("{}\x07more", &SECRET[at..]);
            assert_eq!(places(&secret, rest.as_bytes(), true).pop(), Some(0..SECRET.len() - at));
            assert!(places(&secret, rest.as_bytes(), false).is_empty());
        }
        assert!(places(&secret, b"other\x07", true).is_empty());
    }

    #[test]
    fn a_screen_that_ends_within_a_mark_does_not_show_the_secret() {
        let screen = redact_screen(SECRET, b"\x1bc$ \x1b]133;A;hw=0123456".to_vec());
        assert_eq!(String::from_utf8_lossy(&screen), "\x1bc$ \x1b]133;A;hw=0000000");
        assert_eq!(redact_screen(SECRET, b"x".to_vec()), b"x");
        let printed = redact_screen(SECRET, b"__hw_secret=0123456789abcdef".to_vec());
        assert_eq!(String::from_utf8_lossy(&printed), "__hw_secret=0000000000000000", "outside a mark, too");
    }
}
