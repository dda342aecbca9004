//! Following a log: each event once, over any number of connections.
//!
//! A follower goes on by itself when the worker goes away and comes back: it asks again for what follows the last
//! event that it delivered. One that also starts what it follows asks for that again until the first event has come: a
//! worker that is killed before init has heard of a program forgets it.

use std::collections::VecDeque;

use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream};
use tonic::Streaming;

use crate::client::{Client, malformed};
use crate::error::ContractError;
use crate::revive::Reopening;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// How to follow a log.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a choice of its own, as in the message
pub struct FollowOptions {
    /// Events after this one.
    pub after: Seq,
    /// Go on until no writer is left, instead of until the program has ended.
    pub until_closed: bool,
    /// Only about the last so many bytes, with a stated gap; who falls behind by more skips ahead in the same way.
    pub tail_bytes: Option<u64>,
    /// ... but only to begin with: once output has come, nothing is skipped, however slow the reader.
    pub tail_once: bool,
    /// Hold events back up to so long to get fewer, larger ones.
    pub batch_ms: u32,
    /// ... but no longer than until so many bytes are there.
    pub batch_bytes: u32,
    /// Only these streams; empty means all.
    pub streams: Vec<Stream>,
    /// What is there, without waiting for more.
    pub no_wait: bool,
    /// The program waits for this reader rather than that output is dropped before it was read.
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

    /// Whether nothing that was asked for follows this event.
    const fn ends_with(&self, event: &Event) -> bool {
        match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => !self.until_closed,
            _ => false,
        }
    }
}

/// The events of one log, each once, over any number of connections.
#[derive(Debug)]
pub struct Follower {
    client: Client,
    id: ExecutionId,
    options: FollowOptions,
    /// What is followed, until it is known to have started.
    start: Option<v1::StartRequest>,
    stream: Option<Streaming<v1::FollowResponse>>,
    ready: VecDeque<v1::Event>,
    /// The stream still skips ahead, and is to be left for one that does not.
    skips: bool,
    reopening: Reopening,
    ended: bool,
}

impl Follower {
    /// Opens the stream; with `start`, starts what is followed.
    pub(crate) async fn open(
        client: Client,
        id: ExecutionId,
        options: FollowOptions,
        start: Option<v1::StartRequest>,
    ) -> Result<Self> {
        let (stream, ready) = (None, VecDeque::new());
        let reopening = Reopening::new();
        let mut follower =
            Self { client, id, options, start, stream, ready, skips: false, reopening, ended: false };
        follower.reopen().await?;
        Ok(follower)
    }

    /// The last event that was delivered: where to go on from.
    pub const fn position(&self) -> Seq {
        self.options.after
    }

    /// How it follows.
    pub const fn options(&self) -> &FollowOptions {
        &self.options
    }

    /// The next event; `None` after the one that was asked for as the last, and when the worker says that nothing more
    /// will come (`no_wait` has read all, or what was asked for lies behind the log's end).
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
        if self.options.tail_once && matches!(event.kind, EventKind::Output { .. }) {
            self.skips |= self.options.tail_bytes.take().is_some();
        }
        Ok(Some(event))
    }

    /// Waits until it is known whether there is a next event, and says so without taking it. Dropping the future loses
    /// nothing.
    pub async fn has_next(&mut self) -> Result<bool> {
        // What is rare is boxed: thousands of followers wait here, and each carries the largest of all ways.
        loop {
            if !self.ready.is_empty() {
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            if self.skips && self.stream.is_some() {
                match Box::pin(self.reopen()).await {
                    Err(error) if error.is_disconnected() => self.stream = None,
                    other => other?,
                }
            }
            self.skips = false;
            let Some(stream) = self.stream.as_mut() else {
                Box::pin(self.come_back()).await?;
                continue;
            };
            match stream.message().await.map_err(ContractError::from) {
                Ok(Some(batch)) => self.ready.extend(batch.events),
                // A worker that goes away breaks the stream; one that ends it has no more to say.
                Ok(None) => self.ended = true,
                Err(ContractError::Disconnected(cause)) => {
                    self.stream = None;
                    if !Box::pin(self.reopening.pause()).await {
                        return Err(ContractError::Disconnected(cause));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Goes on after the last event, when the worker is there again.
    async fn come_back(&mut self) -> Result<()> {
        loop {
            self.client = self.client.come_back().await?;
            match self.reopen().await {
                Err(error) if error.is_disconnected() => {
                    if !self.reopening.pause().await {
                        return Err(error);
                    }
                }
                other => return other,
            }
        }
    }

    async fn reopen(&mut self) -> Result<()> {
        let (mut worker, options) = (self.client.raw(), Some(self.options.message()));
        let answer = match self.start.clone() {
            start @ Some(_) => worker.run(v1::RunRequest { start, follow: options }).await?,
            None => worker.follow(v1::FollowRequest { execution_id: self.id.to_string(), options }).await?,
        };
        self.stream = Some(answer.into_inner());
        self.reopening.has_opened();
        Ok(())
    }
}
