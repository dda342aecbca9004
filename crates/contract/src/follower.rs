//! Following a log: each event exactly once, over any number of connections.
//!
//! A follower continues by itself over a restart of the worker: it requests the events after the last one
//! that it delivered. A follower that also starts the execution repeats the start until the first event has
//! come: a worker that is killed before init has received the start forgets it.

use std::collections::VecDeque;

use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream};
use tonic::Streaming;

use crate::client::{Client, malformed};
use crate::error::ContractError;
use crate::resume::ResumingStream;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// How to follow a log.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a choice of its own, as in the message
pub struct FollowOptions {
    /// Return events after this one.
    pub after: Seq,
    /// Continue until no writer is left, instead of until the program has exited.
    pub until_closed: bool,
    /// Start about this many bytes before the end, with a `gap` event. A reader that falls further behind
    /// skips ahead.
    pub tail_bytes: Option<u64>,
    /// Apply `tail_bytes` only at the beginning: after the first output nothing is skipped, however slow the
    /// reader is.
    pub tail_once: bool,
    /// Batch output for at most this long, to get fewer and larger events.
    pub batch_ms: u32,
    /// Send a batch earlier when it has this many bytes.
    pub batch_bytes: u32,
    /// Only these streams; empty means all.
    pub streams: Vec<Stream>,
    /// Return the events that exist now, without waiting for more.
    pub no_wait: bool,
    /// Make the program wait for this reader instead of dropping output that it has not read.
    pub lossless: bool,
}

impl FollowOptions {
    pub(crate) fn message(&self) -> v1::FollowOptions {
        v1::FollowOptions {
            after_seq: self.after.0,
            until: self.until().into(),
            tail_bytes: self.tail_bytes,
            batch_ms: self.batch_ms,
            batch_bytes: self.batch_bytes,
            streams: self.streams.iter().map(|stream| v1::Stream::from(*stream).into()).collect(),
            no_wait: self.no_wait,
            lossless: self.lossless,
        }
    }

    const fn until(&self) -> v1::Until {
        if self.until_closed { v1::Until::Closed } else { v1::Until::Exited }
    }

    /// Whether this is the last event of the requested range.
    const fn ends_with(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.until_closed,
            _ => false,
        }
    }
}

/// The events of one log, each exactly once, over any number of connections.
#[derive(Debug)]
pub struct Follower {
    id: ExecutionId,
    options: FollowOptions,
    /// The start request, until the execution is known to have started.
    start: Option<v1::StartRequest>,
    batches: ResumingStream<v1::FollowResponse>,
    ready: VecDeque<v1::Event>,
    ended: bool,
}

async fn open(
    client: Client,
    id: ExecutionId,
    options: &FollowOptions,
    start: Option<&v1::StartRequest>,
) -> Result<Streaming<v1::FollowResponse>> {
    let (mut worker, options) = (client.raw(), Some(options.message()));
    let answer = match start.cloned() {
        start @ Some(_) => worker.run(v1::RunRequest { start, follow: options }).await?,
        None => worker.follow(v1::FollowRequest { execution_id: id.to_string(), options }).await?,
    };
    Ok(answer.into_inner())
}

impl Follower {
    /// Opens the stream; with `start`, starts the execution.
    pub(crate) async fn open(
        client: Client,
        id: ExecutionId,
        options: FollowOptions,
        start: Option<v1::StartRequest>,
    ) -> Result<Self> {
        let stream = open(client.clone(), id, &options, start.as_ref()).await?;
        let batches = ResumingStream::new(client, Some(stream));
        Ok(Self { id, options, start, batches, ready: VecDeque::new(), ended: false })
    }

    /// The last event that was delivered, after which to continue.
    pub const fn position(&self) -> Seq {
        self.options.after
    }

    /// The options, with `after` advanced to the last delivered event.
    pub const fn options(&self) -> &FollowOptions {
        &self.options
    }

    /// The next event; `None` after the last requested one, or when the worker ends the stream (`no_wait` has
    /// read everything, or the requested position is past the end of the log).
    pub async fn next(&mut self) -> Result<Option<Event>> {
        if !self.has_next().await? {
            return Ok(None);
        }
        let Some(event) = self.ready.pop_front() else {
            return Ok(None);
        };
        let event = Event::try_from(event).map_err(|fault| malformed(&fault))?;
        self.options.after = event.seq;
        self.start = None;
        self.ended = self.options.ends_with(&event);
        let is_begun = self.options.tail_once && matches!(event.kind, EventKind::Output { .. });
        if is_begun && self.options.tail_bytes.take().is_some() {
            self.batches.replace(); // by a stream that does not skip
        }
        Ok(Some(event))
    }

    /// Waits until it is known whether there is a next event, without taking it. Dropping the future loses
    /// nothing.
    pub async fn has_next(&mut self) -> Result<bool> {
        loop {
            if !self.ready.is_empty() {
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            let (id, options, start) = (self.id, &self.options, self.start.as_ref());
            match self.batches.next(|client| open(client, id, options, start)).await? {
                Some(batch) => self.ready.extend(batch.events),
                // A worker that dies breaks the stream; one that ends the stream has no more events.
                None => self.ended = true,
            }
        }
    }
}
