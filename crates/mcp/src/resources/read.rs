//! `resources/read`: a part of an output or of a file.

mod source;

use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use headwater_tools::Agent;
use rmcp::ErrorData;
use rmcp::model::{MetaObject, ReadResourceResult, ResourceContents};
use serde_json::{Value, json};

use self::source::Source;
use super::uri::{Part, ResourceUri, Target};

/// The most that one answer has. The rest is read with `from`.
const MAX_READ_BYTES: u64 = 1 << 20;
/// The most that is searched for a line: as much as is kept of an output.
const MAX_SCANNED_BYTES: u64 = 256 << 20;
/// Bytes that are read at once while lines are counted.
const CHUNK_BYTES: u64 = 256 << 10;

/// Bytes with their position.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    range: Range<u64>,
    bytes: Vec<u8>,
}

/// Reads what an address names.
pub(crate) async fn read(
    agent: &Agent,
    address: &str,
    parsed: &ResourceUri,
) -> Result<ReadResourceResult, ErrorData> {
    let source = Source::open(agent, &parsed.target).await?;
    let piece = match parsed.part {
        Part::Lines(first, last) => lines(&source, first, last).await?,
        Part::All => bytes(&source, everything(&parsed.target, source.end())).await?,
        Part::Bytes(from, to) => bytes(&source, from..to.unwrap_or(source.end())).await?,
    };
    Ok(ReadResourceResult::new(vec![contents(address, &piece, &source)]))
}

/// The beginning of a file, but the end of an output: that is where it failed.
const fn everything(target: &Target, end: u64) -> Range<u64> {
    match target {
        Target::File(_) => 0..end,
        Target::Output(..) => end.saturating_sub(MAX_READ_BYTES)..end,
    }
}

async fn bytes(source: &Source<'_>, wanted: Range<u64>) -> Result<Piece, ErrorData> {
    let end = source.end();
    if wanted.start > end {
        let message = format!("`from` is {}, but there are only {end} bytes", wanted.start);
        return Err(ErrorData::invalid_params(message, None));
    }
    let to = wanted.end.min(end).min(wanted.start + MAX_READ_BYTES);
    // Secrets are masked only where they are complete, so that no sequence of small parts shows one.
    let range = wanted.start.saturating_sub(source.margin())..to.saturating_add(source.margin()).min(end);
    Ok(Piece { bytes: source.read(range.clone()).await?, range })
}

/// Finds lines by counting them from the beginning.
async fn lines(source: &Source<'_>, first: u64, last: Option<u64>) -> Result<Piece, ErrorData> {
    if source.gap().is_some() {
        let message = "part of the output is no longer kept, so its lines have no numbers: use from and to";
        return Err(ErrorData::invalid_params(message, None));
    }
    let (mut line, mut at) = (1, 0);
    let mut piece = Piece { range: 0..0, bytes: Vec::new() };
    while at < source.end().min(MAX_SCANNED_BYTES) {
        let chunk = source.read(at..source.end().min(at + CHUNK_BYTES)).await?;
        if chunk.is_empty() {
            break;
        }
        at += chunk.len() as u64;
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let is_wanted = line >= first && last.is_none_or(|last| line <= last);
            if is_wanted && piece.bytes.len() as u64 + part.len() as u64 <= MAX_READ_BYTES {
                piece.bytes.extend_from_slice(part);
            } else if line >= first {
                return Ok(piece.after());
            } else {
                piece.range.start += part.len() as u64;
            }
            line += u64::from(part.ends_with(b"\n"));
        }
    }
    if piece.bytes.is_empty() && first > line {
        let message = format!(
            "there are only {line} lines, or more than {MAX_SCANNED_BYTES} bytes before line {first}"
        );
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(piece.after())
}

impl Piece {
    /// Sets the end of the range by its bytes.
    fn after(mut self) -> Self {
        self.range.end = self.range.start + self.bytes.len() as u64;
        self
    }

    /// Leaves out characters that are cut at an end, if the rest is text. They belong to the parts before
    /// and after this one.
    fn as_text(&self) -> Option<(Range<u64>, &str)> {
        /// The longest character has four bytes, so at most three are cut off.
        const MAX_CUT: usize = 3;
        let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let skipped = match self.range.start {
            0 => 0,
            _ => self.bytes.iter().take(MAX_CUT).take_while(is_continuation).count(),
        };
        let rest = &self.bytes[skipped..];
        let text = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&rest[..error.valid_up_to()]).ok()?
            }
            Err(_) => return None,
        };
        if text.contains('\0') {
            return None;
        }
        let start = self.range.start + skipped as u64;
        Some((start..start + text.len() as u64, text))
    }
}

fn contents(address: &str, piece: &Piece, source: &Source<'_>) -> ResourceContents {
    let as_text = match (source.masked(piece.range.start, &piece.bytes), source.gap()) {
        (Some(text), _) => Some((piece.range.clone(), text)),
        (None, None) => piece.as_text().map(|(range, text)| (range, text.to_owned())),
        // With a gap, positions do not follow from the number of bytes.
        (None, Some(_)) => piece.as_text().map(|(_, text)| (piece.range.clone(), text.to_owned())),
    };
    let range = as_text.as_ref().map_or(piece.range.clone(), |(range, _)| range.clone());
    let mut meta = MetaObject::new();
    let mut add = |key: &str, value: Value| meta.0.insert(format!("headwater/{key}"), value);
    add("from", json!(range.start));
    add("to", json!(range.end));
    add("size", json!(source.end()));
    if let Some(gap) = source.gap() {
        add("gap", json!([gap.start, gap.end]));
    }
    let made = match as_text {
        Some((_, text)) => ResourceContents::text(text, address),
        None => ResourceContents::blob(BASE64_STANDARD.encode(&piece.bytes), address)
            .with_mime_type("application/octet-stream"),
    };
    made.with_meta(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, bytes: &[u8]) -> Piece {
        Piece { range: start..0, bytes: bytes.to_vec() }.after()
    }

    #[test]
    fn a_character_that_is_cut_belongs_to_the_other_part() {
        let euro = "a\u{20ac}b".as_bytes();
        assert_eq!(piece(0, &euro[..3]).as_text(), Some((0..1, "a")));
        assert_eq!(piece(3, &euro[3..]).as_text(), Some((4..5, "b")));
        assert_eq!(piece(0, euro).as_text(), Some((0..5, "a\u{20ac}b")));
    }

    #[test]
    fn bytes_that_are_not_text_are_no_text() {
        assert_eq!(piece(0, b"a\xff\xfeb").as_text(), None);
        assert_eq!(piece(0, b"a\0b").as_text(), None);
        assert_eq!(piece(0, b"\x80abc").as_text(), None);
    }
}
