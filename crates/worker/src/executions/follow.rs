//! Follows a log over the contract: replay, then live, at the pace of the reader.

mod batch;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use headwater_contract::{Fault, FaultKind, v1};
use headwater_log::{Log, LogError, Reader, ReaderOptions, Streams};
use headwater_protocol::{Event, EventKind, Seq};
use tokio::time::Instant;
use tonic::Status;

use self::batch::Batch;
use crate::terminals::redact::Redactor;

/// The response of `Run` and `Follow`.
pub(crate) type FollowStream = Pin<Box<dyn Stream<Item = Result<v1::FollowResponse, Status>> + Send>>;

/// The largest event. A follower that does not read keeps it in memory as read, as encoded, and in the buffers of the
/// transport (see `connections.rs`).
const MAX_EVENT_BYTES: usize = 32 << 10;
/// Output that was written later than this after the first bytes of an event starts an event of its own, so that
/// recordings and charts keep the time at which each part was written.
const JOIN: Duration = Duration::from_millis(100);
/// The most events in one message.
const MAX_EVENTS: usize = 256;

struct Follower {
    reader: Reader,
    until: v1::Until,
    no_wait: bool,
    tail: Option<u64>,
    batch: Duration,
    batch_bytes: usize,
    /// When output was last sent. Output is held back only after other output, so that what a quiet program prints
    /// appears at once.
    sent_at: Option<Instant>,
    ended: bool,
    redactor: Option<Redactor>,
}

/// Follows a log with these options. What the redactor hides is not sent.
pub(crate) fn follow(
    log: &Arc<Log>,
    options: &v1::FollowOptions,
    redactor: Option<Redactor>,
) -> Result<FollowStream, Fault> {
    let mut streams = Streams::NONE;
    for stream in &options.streams {
        streams = streams.and(headwater_contract::stream(*stream)?);
    }
    if options.streams.is_empty() {
        streams = Streams::ALL;
    }
    let until = v1::Until::try_from(options.until)
        .map_err(|_| Fault::new(FaultKind::Invalid, "`until` must be `exited` or `closed`"))?;
    let after = Seq(options.after_seq);
    let last = log.head().last_seq;
    if after > last {
        return Err(past_end(&LogError::PastEnd { after: after.0, last: last.0 }));
    }
    let reader =
        ReaderOptions { max_bytes: MAX_EVENT_BYTES, max_join: JOIN, tail: options.tail_bytes, streams };
    let reader =
        if options.lossless { log.lossless_reader(after, reader) } else { Ok(log.reader(after, reader)) };
    let follower = Follower {
        reader: reader.map_err(|error| read_fault(&error))?,
        until,
        no_wait: options.no_wait,
        // A lossless reader only skips output that was there when it started.
        tail: options.tail_bytes.filter(|_| !options.lossless),
        batch: Duration::from_millis(options.batch_ms.into()),
        batch_bytes: options.batch_bytes as usize,
        sent_at: None,
        ended: false,
        redactor,
    };
    Ok(Box::pin(futures_util::stream::unfold(follower, |mut follower| async move {
        let batch = follower.next_batch().await.transpose()?;
        follower.ended |= batch.is_err();
        Some((batch.map_err(|error| Status::from(read_fault(&error))), follower))
    })))
}

fn read_fault(error: &LogError) -> Fault {
    match error {
        LogError::TooSlow => Fault::new(FaultKind::TooSlow, error.to_string()).hint(
            "output after this point may have been dropped; follow without `lossless` to read what is kept",
        ),
        LogError::TooManyReaders => Fault::new(FaultKind::Exhausted, error.to_string())
            .hint("follow without `lossless`, or close another lossless reader"),
        LogError::DiskFull { .. } => Fault::new(FaultKind::Unavailable, error.to_string())
            .hint("free space on the disk of the data folder, or follow without `lossless`"),
        _ => Fault::new(FaultKind::Internal, format!("cannot read the log: {error}")),
    }
}

fn past_end(error: &LogError) -> Fault {
    let hint = "follow from the last event or from the beginning; if you received a later event, the log \
                lost its end when the host lost power";
    Fault::new(FaultKind::PastEnd, error.to_string()).hint(hint)
}

impl Follower {
    /// The next events: those that exist, or the next one and those that arrive while it is held back.
    async fn next_batch(&mut self) -> Result<Option<v1::FollowResponse>, LogError> {
        if self.ended || self.is_past_last_event() {
            return Ok(None);
        }
        let first = match self.reader.try_next()? {
            Some(event) => event,
            None if self.no_wait => return Ok(None),
            None => match self.reader.next().await? {
                Some(event) => event,
                None if self.reader.is_complete() => return Ok(None),
                // The writer is gone: without an error the client would take the log for complete.
                None => return Err(LogError::NotClosed),
            },
        };
        let mut batch = Batch::default();
        let hold = self.sent_at.map(|at| at + self.batch).filter(|until| *until > Instant::now());
        self.add(&mut batch, first);
        while !self.ended && !batch.is_full(self.batch_bytes, hold.is_some()) {
            let next = match (self.reader.try_next()?, hold) {
                (Some(event), _) => Some(event),
                (None, Some(until)) => match tokio::time::timeout_at(until, self.reader.next()).await {
                    Ok(event) => event?,
                    Err(_) => None,
                },
                (None, None) => None,
            };
            let Some(event) = next else { break };
            self.add(&mut batch, event);
        }
        if self.tail.is_some() {
            self.reader.skip_to_tail()?;
        }
        if batch.has_output() {
            self.sent_at = Some(Instant::now());
        }
        Ok(Some(v1::FollowResponse { events: batch.events() }))
    }

    /// Whether the last requested event is before the first requested one.
    fn is_past_last_event(&self) -> bool {
        self.until == v1::Until::Exited && self.reader.is_past_verdict()
    }

    fn add(&mut self, batch: &mut Batch, mut event: Event) {
        if let (Some(redactor), EventKind::Output { offset, bytes, .. }) =
            (&mut self.redactor, &mut event.kind)
        {
            *bytes = redactor.redact(*offset, std::mem::take(bytes));
        }
        self.ended = match event.kind {
            EventKind::Closed => true,
            EventKind::Exited(_) => self.until == v1::Until::Exited,
            _ => false,
        };
        batch.add(event);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};
    use headwater_protocol::{ExecutionId, Reason};

    use super::*;
    use crate::sessions::session::unseen;
    use headwater_log::{LogOptions, Writer};

    /// A log of three records: a start, a verdict and, if wanted, `closed`.
    fn log(folder: &tempfile::TempDir, closed: bool) -> (Arc<Log>, Writer) {
        let options = LogOptions::new(1 << 20);
        let dir = folder.path().join("log");
        let (log, mut writer) = Log::create(&dir, ExecutionId::random(), options).unwrap();
        writer.started(1, 1).unwrap();
        writer.exited(&unseen(Reason::Exited, ""), 2).unwrap();
        if closed {
            writer.closed(3).unwrap();
        }
        (log, writer)
    }

    async fn seqs(log: &Arc<Log>, after_seq: u64, until: v1::Until) -> Vec<Result<u64, tonic::Code>> {
        let options = v1::FollowOptions { after_seq, until: until.into(), ..v1::FollowOptions::default() };
        let mut all = Vec::new();
        let mut responses = follow(log, &options, None).unwrap();
        while let Some(response) = responses.next().await {
            match response {
                Ok(batch) => all.extend(batch.events.iter().map(|event| Ok(event.seq))),
                Err(status) => all.push(Err(status.code())),
            }
        }
        all
    }

    #[tokio::test]
    async fn output_that_is_held_back_comes_as_one_event_with_the_last_seq() {
        let folder = tempfile::tempdir().unwrap();
        let options = LogOptions::new(1 << 20);
        let (log, mut writer) =
            Log::create(&folder.path().join("log"), ExecutionId::random(), options).unwrap();
        writer.started(1, 1).unwrap();
        let hour = 3_600_000;
        let options = v1::FollowOptions { batch_ms: hour, batch_bytes: 10, ..v1::FollowOptions::default() };
        let mut responses = follow(&log, &options, None).unwrap();
        let first = responses.next().await.unwrap().unwrap();
        assert_eq!(first.events[0].seq, 1, "`started` is sent at once");
        writer.append(headwater_protocol::Stream::Stdout, b"first").unwrap();
        let first = responses.next().now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(first.events[0].seq, 2, "the first output is sent at once");
        let mut held = responses.next();
        for bytes in ["1", "23", "4"] {
            writer.append(headwater_protocol::Stream::Stdout, bytes.as_bytes()).unwrap();
            assert!((&mut held).now_or_never().is_none());
        }
        writer.append(headwater_protocol::Stream::Stdout, b"567890").unwrap();
        let batch = held.now_or_never().unwrap().unwrap().unwrap();
        let events: Vec<Event> = batch.events.into_iter().map(|event| event.try_into().unwrap()).collect();
        let bytes = bytes::Bytes::from_static(b"1234567890");
        let kind = EventKind::Output { stream: headwater_protocol::Stream::Stdout, offset: 5, bytes };
        assert_eq!(events, [Event { seq: Seq(6), at_ms: events[0].at_ms, kind }]);
    }

    #[tokio::test(start_paused = true)]
    async fn output_after_a_pause_is_sent_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (log, mut writer) =
            Log::create(&folder.path().join("log"), ExecutionId::random(), LogOptions::new(1 << 20)).unwrap();
        let options = v1::FollowOptions { batch_ms: 100, ..v1::FollowOptions::default() };
        let mut responses = follow(&log, &options, None).unwrap();
        for pause in [100, 5_000] {
            writer.append(headwater_protocol::Stream::Stdout, b"first").unwrap();
            assert!(responses.next().now_or_never().is_some(), "after a pause");
            writer.append(headwater_protocol::Stream::Stdout, b"second").unwrap();
            let mut held = responses.next();
            assert!((&mut held).now_or_never().is_none(), "right after other output");
            tokio::time::advance(Duration::from_millis(100)).await;
            assert!(held.now_or_never().is_some());
            tokio::time::advance(Duration::from_millis(pause)).await;
        }
    }

    #[tokio::test]
    async fn a_position_after_the_last_event_is_refused_and_the_last_event_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (log, _writer) = log(&folder, true);
        assert_eq!(seqs(&log, 0, v1::Until::Closed).await, [Ok(1), Ok(2), Ok(3)]);
        assert_eq!(seqs(&log, 3, v1::Until::Closed).await, [], "there is nothing after the last event");
        for until in [v1::Until::Closed, v1::Until::Exited] {
            let options =
                v1::FollowOptions { after_seq: 4, until: until.into(), ..v1::FollowOptions::default() };
            let fault = follow(&log, &options, None).err().unwrap();
            assert_eq!(fault.kind, FaultKind::PastEnd);
            assert!(fault.message.contains("`3`"), "{}", fault.message);
        }
    }

    #[tokio::test]
    async fn waiting_for_an_earlier_verdict_does_not_wait_for_the_close() {
        let folder = tempfile::tempdir().unwrap();
        let (log, _writer) = log(&folder, false);
        assert_eq!(seqs(&log, 0, v1::Until::Exited).await, [Ok(1), Ok(2)]);
        assert_eq!(seqs(&log, 2, v1::Until::Exited).await, []);
        let folder = tempfile::tempdir().unwrap();
        let (log, _writer) = self::log(&folder, true);
        assert_eq!(seqs(&log, 2, v1::Until::Exited).await, [], "nor does it get what follows the verdict");
    }

    #[tokio::test]
    async fn a_log_whose_writer_gave_up_ends_with_an_error_and_not_as_if_it_were_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (log, writer) = log(&folder, false);
        drop(writer);
        assert_eq!(seqs(&log, 0, v1::Until::Closed).await, [Ok(1), Ok(2), Err(tonic::Code::Internal)]);
    }
}
