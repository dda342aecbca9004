//! The raw bytes of an output stream, whole or in part.

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{CONTENT_RANGE, ETAG};
use tokio::time::timeout;

use crate::Result;
use crate::client::Client;
use crate::stream::silent;

/// The stream to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A terminal, or both streams if the execution merges them.
    Output,
    /// All streams, in the order in which their bytes were written.
    Merged,
}

impl OutputStream {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Output => "output",
            Self::Merged => "merged",
        }
    }
}

/// A range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From this byte on.
    From {
        /// The first byte.
        start: u64,
        /// The maximum number of bytes; all if absent.
        length: Option<u64>,
    },
    /// The last bytes, this many.
    Last(u64),
}

impl ByteRange {
    pub(crate) fn header(self) -> String {
        match self {
            Self::From { start, length: None } => format!("bytes={start}-"),
            Self::From { start, length: Some(length) } => {
                format!("bytes={start}-{}", start.saturating_add(length.max(1) - 1))
            }
            Self::Last(count) => format!("bytes=-{count}"),
        }
    }
}

/// The bytes of a stream as they are received.
#[derive(Debug)]
pub struct Output {
    client: Client,
    answer: Response,
}

impl Output {
    pub(crate) const fn new(client: Client, answer: Response) -> Self {
        Self { client, answer }
    }

    /// The next bytes; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        // Kept bytes are sent without waiting for a program.
        let chunk = timeout(self.client.idle_timeout(), self.answer.chunk()).await.map_err(|_| silent())?;
        chunk.map_err(|error| self.client.request_error(&error))
    }

    /// Reads all bytes into memory.
    pub async fn bytes(mut self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// The range of these bytes, from the header `Content-Range`, if a range was requested.
    pub fn content_range(&self) -> Option<&str> {
        self.answer.headers().get(CONTENT_RANGE)?.to_str().ok()
    }

    /// The range of bytes that are no longer kept and so are missing here, from the first to the one after
    /// the last. The bytes before and after it follow each other directly.
    pub fn gap(&self) -> Option<(u64, u64)> {
        let (from, to) = self.answer.headers().get("x-headwater-gap")?.to_str().ok()?.split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    }

    /// The tag of this state of the output.
    pub fn etag(&self) -> Option<&str> {
        self.answer.headers().get(ETAG)?.to_str().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_as_http_wants_them() {
        for (range, text) in [
            (ByteRange::From { start: 5, length: None }, "bytes=5-"),
            (ByteRange::From { start: 5, length: Some(3) }, "bytes=5-7"),
            (ByteRange::Last(9), "bytes=-9"),
        ] {
            assert_eq!(range.header(), text);
        }
    }
}
