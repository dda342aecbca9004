//! How to follow a log.

use headwater_protocol::{Event, EventKind, Seq, Stream};
use reqwest::Url;

/// How to follow a log.
#[derive(Debug, Clone, Default)]
pub struct FollowOptions {
    /// Events after this one.
    pub after: Seq,
    /// Begin so that about so many bytes of output are left to read, with a stated gap. Once output has come, nothing is
    /// skipped any more, however slow the reader.
    pub tail_bytes: Option<u64>,
    /// Go on until no writer is left, instead of until the program has ended.
    pub until_closed: bool,
    /// Only these streams; empty means all.
    pub streams: Vec<Stream>,
    /// Hold events back up to so long to get fewer, larger ones; the server's own choice if not told.
    pub batch_ms: Option<u32>,
    /// ... but no longer than until so many bytes are there.
    pub batch_bytes: Option<u32>,
    /// Miss nothing: the program waits for this reader rather than that output is dropped before it was read. Needs the
    /// right to write to the session.
    pub lossless: bool,
}

impl FollowOptions {
    /// Writes them as a query.
    pub(crate) fn write(&self, url: &mut Url) {
        let mut query = url.query_pairs_mut();
        let until = if self.until_closed { "closed" } else { "exited" };
        query.append_pair("until", until);
        let numbers = [
            ("after", (self.after > Seq(0)).then_some(self.after.0)),
            ("tail", self.tail_bytes),
            ("batch_ms", self.batch_ms.map(u64::from)),
            ("batch_bytes", self.batch_bytes.map(u64::from)),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                query.append_pair(name, &value.to_string());
            }
        }
        if self.lossless {
            query.append_pair("lossless", "true");
        }
        if !self.streams.is_empty() {
            let names: Vec<_> = self.streams.iter().map(|stream| stream.name()).collect();
            query.append_pair("streams", &names.join(","));
        }
    }

    /// Whether nothing that was asked for follows this event.
    pub(crate) const fn ends_with(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.until_closed,
            _ => false,
        }
    }
}

/// How to attach to an execution.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// Events after this one.
    pub after: Seq,
    /// Begin so that about so many bytes of output are left to read, with a stated gap.
    pub tail_bytes: Option<u64>,
    /// Go on until no writer is left, instead of until the program has ended.
    pub until_closed: bool,
    /// Only watch: the server takes no input of this connection.
    pub read_only: bool,
    /// Let at most so many bytes of output be on their way; without it, as many as the connection takes. Larger events
    /// then come in parts, which but for the last have the seq of the event before.
    pub credit_bytes: Option<u32>,
    /// Miss nothing, as [`FollowOptions::lossless`].
    pub lossless: bool,
}

impl AttachOptions {
    /// Writes them as a query.
    pub(crate) fn write(&self, url: &mut Url) {
        let mut query = url.query_pairs_mut();
        query.append_pair("until", if self.until_closed { "closed" } else { "exited" });
        if self.after > Seq(0) {
            query.append_pair("after", &self.after.to_string());
        }
        if let Some(tail) = self.tail_bytes {
            query.append_pair("tail", &tail.to_string());
        }
        if self.lossless {
            query.append_pair("lossless", "true");
        }
        if self.read_only {
            query.append_pair("read_only", "true");
        }
    }

    /// Whether nothing that was asked for follows this event.
    pub(crate) const fn ends_with(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.until_closed,
            _ => false,
        }
    }
}
