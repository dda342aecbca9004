//! Options for following a log and for attaching.

use headwater_protocol::{Event, EventKind, Seq, Stream};
use reqwest::Url;

/// How to follow a log.
#[derive(Debug, Clone, Default)]
pub struct FollowOptions {
    /// Return events after this one.
    pub after: Seq,
    /// Start about this many bytes before the end, with a `gap` event. After the first output nothing is
    /// skipped, however slow the reader is.
    pub tail_bytes: Option<u64>,
    /// Continue until no writer is left, instead of until the program has exited.
    pub until_closed: bool,
    /// Only these streams; empty means all.
    pub streams: Vec<Stream>,
    /// Batch output for at most this long, to get fewer and larger events; the server's default if absent.
    pub batch_ms: Option<u32>,
    /// Send a batch earlier when it has this many bytes.
    pub batch_bytes: Option<u32>,
    /// Make the program wait for this reader instead of dropping output that it has not read. Requires write
    /// access to the session.
    pub lossless: bool,
}

impl FollowOptions {
    /// Adds them to a URL as a query.
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

    /// Whether this is the last event of the requested range.
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
    /// Return events after this one.
    pub after: Seq,
    /// Start about this many bytes before the end, with a `gap` event.
    pub tail_bytes: Option<u64>,
    /// Continue until no writer is left, instead of until the program has exited.
    pub until_closed: bool,
    /// Only receive: the server accepts no input from this connection.
    pub read_only: bool,
    /// The maximum number of bytes of output in flight; without it, as many as the connection takes. Larger
    /// events then come in parts, which except for the last have the seq of the event before.
    pub credit_bytes: Option<u32>,
    /// As [`FollowOptions::lossless`].
    pub lossless: bool,
}

impl AttachOptions {
    /// Adds them to a URL as a query.
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

    /// Whether this is the last event of the requested range.
    pub(crate) const fn ends_with(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.until_closed,
            _ => false,
        }
    }
}
