//! Lines of at most a given length, from a stream of bytes.

use std::io;

use rmcp::model::RequestId;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The longest message, as in the HTTP API.
pub(super) const MAX_BYTES: usize = 16 << 20;
/// The bytes at each end of a message that is too long, in which its id is searched.
const ENDS_BYTES: usize = 256;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line; [`Lines::take`] returns it.
    Complete,
    /// A line that is too long, with the id of its message if that is at one of its ends.
    TooLong(Option<RequestId>),
    /// The end of the stream.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    read: R,
    line: Vec<u8>,
    /// The first bytes of a line that is too long; then `line` has its last bytes.
    head: Option<Vec<u8>>,
    max: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) const fn new(read: R) -> Self {
        Self { read, line: Vec::new(), head: None, max: MAX_BYTES }
    }

    /// The line that was read last.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.line)
    }

    /// Reads until the end of a line. If it is dropped, the next call continues.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                // A last line without an end is a message that the client did not complete.
                return Ok(Line::End);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let used = part.len() + usize::from(end.is_some());
            self.line.extend_from_slice(part);
            self.read.consume(used);
            self.shorten();
            if end.is_some() {
                return Ok(self.head.take().map_or(Line::Complete, |head| {
                    let tail = std::mem::take(&mut self.line);
                    Line::TooLong(id_of(&head, &tail))
                }));
            }
        }
    }

    /// Keeps only the ends of a line that is too long.
    fn shorten(&mut self) {
        if self.head.is_none() && self.line.len() > self.max {
            self.head = Some(self.line[..ENDS_BYTES.min(self.line.len())].to_vec());
        }
        if self.head.is_some() && self.line.len() > ENDS_BYTES {
            self.line.drain(..self.line.len() - ENDS_BYTES);
            self.line.shrink_to(ENDS_BYTES);
        }
    }
}

/// The id of a message: clients write it at its beginning, or as its last field.
fn id_of(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let compact = |text: &str| text.chars().filter(|ch| !ch.is_whitespace()).collect::<String>();
    let (head, tail) = (compact(&head), compact(&tail));
    let first = head.strip_prefix(r#"{"jsonrpc":"2.0","id":"#).or_else(|| head.strip_prefix(r#"{"id":"#));
    if let Some(id) = first.and_then(|rest| rest.split(',').next()) {
        return serde_json::from_str(id).ok();
    }
    let (_, last) = tail.strip_suffix('}')?.rsplit_once(r#","id":"#)?;
    serde_json::from_str(last).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str, max: usize) -> (Vec<Line>, Vec<String>) {
        let mut lines = Lines { max, ..Lines::new(tokio::io::BufReader::with_capacity(7, text.as_bytes())) };
        let (mut found, mut texts) = (Vec::new(), Vec::new());
        loop {
            let line = lines.next().await.unwrap();
            if line == Line::End {
                return (found, texts);
            }
            found.push(line);
            texts.push(String::from_utf8(lines.take()).unwrap());
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_its_id_found() {
        let long = "x".repeat(2000);
        let text = format!(
            "one\n{{\"jsonrpc\":\"2.0\", \"id\":7,\"params\":\"{long}\"}}\ntwo\n{{\"params\":\"{long}\",\"jsonrpc\":\"2.0\",\"id\":\"b\"}}\n{long}\nthree\nhalf"
        );
        let (found, texts) = read(&text, 1000).await;
        assert_eq!(texts, ["one", "", "two", "", "", "three"]);
        assert_eq!(found[1], Line::TooLong(Some(RequestId::Number(7))));
        assert_eq!(found[3], Line::TooLong(Some(RequestId::String("b".into()))));
        assert_eq!(found[4], Line::TooLong(None));
    }

    #[tokio::test]
    async fn an_id_inside_of_the_arguments_is_not_the_id_of_the_message() {
        let text = format!("{{\"params\":{{\"text\":\"{}\",\"id\":3}}}}\n", "x".repeat(2000));
        assert_eq!(read(&text, 1000).await.0, [Line::TooLong(None)]);
    }
}
