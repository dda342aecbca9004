//! The events of a log, from the worker or a server.

use headwater_client::Client as Server;
use headwater_contract::{FollowOptions, Follower as WorkerFollower};
use headwater_protocol::api::{ExecutionBody, ExecutionStateName};
use headwater_protocol::{Event, EventKind, ExecutionId, Seq, Stream};

use super::Result;

/// The events of a log, each once.
#[derive(Debug)]
pub enum Events {
    /// From the worker on this machine.
    Local(Box<WorkerFollower>),
    /// From a server.
    Remote {
        /// The stream of events.
        follower: Box<headwater_client::Follower>,
        /// Where to stop reading.
        stop: Stop,
    },
}

/// Where to stop reading a log that may grow: a server's stream waits for more, so reading only the existing events
/// requires knowing where they end.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the end of the log.
    Never,
    /// After this event, returning only these streams.
    At(Seq, Vec<Stream>),
    /// When each stream has reached its size at the time of the request, and the verdict, if it existed, has arrived.
    When {
        /// Streams that have not reached their size yet, with that size.
        missing: Vec<(Stream, u64)>,
        /// Whether the verdict is still to come.
        verdict: bool,
    },
    Now,
}

impl Stop {
    /// At the current end of the log.
    fn at_current_end(now: &ExecutionBody, after: Seq, streams: &[Stream]) -> Self {
        if now.state == ExecutionStateName::Closed {
            return Self::Never;
        }
        if now.last_seq <= after {
            return Self::Now;
        }
        if streams.is_empty() || after > Seq(0) {
            return Self::At(now.last_seq, streams.to_vec());
        }
        let end = |stream: Stream| match stream {
            Stream::Stdout => now.stdout_bytes,
            Stream::Stderr => now.stderr_bytes,
            Stream::Output => now.output_bytes,
        };
        let missing = streams.iter().map(|stream| (*stream, end(*stream))).filter(|(_, end)| *end > 0);
        Self::When { missing: missing.collect(), verdict: now.exit.is_some() }
    }

    /// The streams to request: all of them if a particular event is waited for.
    fn streams(&self, streams: &[Stream]) -> Vec<Stream> {
        if matches!(self, Self::At(..)) { Vec::new() } else { streams.to_vec() }
    }

    /// Whether to return this event; also records it.
    fn wants(&mut self, event: &Event) -> bool {
        match self {
            Self::Now => return false,
            Self::Never => {}
            Self::At(last, streams) => {
                let stream = match event.kind {
                    EventKind::Output { stream, .. } | EventKind::Gap { stream, .. } => Some(stream),
                    _ => None,
                };
                let wanted = streams.is_empty() || stream.is_none_or(|stream| streams.contains(&stream));
                if event.seq >= *last && !matches!(event.kind, EventKind::Gap { .. }) {
                    *self = Self::Now;
                }
                return wanted;
            }
            Self::When { missing, verdict } => {
                match &event.kind {
                    EventKind::Output { stream, offset, bytes } => {
                        missing.retain(|(one, end)| one != stream || offset + (bytes.len() as u64) < *end);
                    }
                    EventKind::Gap { stream, to_byte, .. } => {
                        missing.retain(|(one, end)| one != stream || to_byte < end);
                    }
                    EventKind::Exited(_) => *verdict = false,
                    _ => {}
                }
                if missing.is_empty() && !*verdict {
                    *self = Self::Now;
                }
            }
        }
        true
    }
}

impl Events {
    pub(super) fn local(follower: WorkerFollower) -> Self {
        Self::Local(Box::new(follower))
    }

    pub(super) fn started(follower: headwater_client::Follower) -> Self {
        Self::Remote { follower: Box::new(follower), stop: Stop::Never }
    }

    pub(super) async fn remote(server: &Server, id: ExecutionId, options: &FollowOptions) -> Result<Self> {
        let stop = if options.no_wait {
            let now = server.execution(id).await?;
            Stop::at_current_end(&now, options.after, &options.streams)
        } else {
            Stop::Never
        };
        let options = headwater_client::FollowOptions {
            after: options.after,
            tail_bytes: options.tail_bytes,
            until_closed: options.until_closed,
            streams: stop.streams(&options.streams),
            batch_ms: Some(options.batch_ms),
            batch_bytes: None,
            lossless: options.lossless,
        };
        Ok(Self::Remote { follower: Box::new(server.follow(id, options).await?), stop })
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        match self {
            Self::Local(follower) => Ok(follower.next().await?),
            Self::Remote { follower, stop } => {
                while *stop != Stop::Now {
                    let Some(event) = follower.next().await? else { break };
                    if stop.wants(&event) {
                        return Ok(Some(event));
                    }
                }
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Execution, ExecutionState, SessionId, StartSpec};

    use super::*;

    fn running() -> ExecutionBody {
        ExecutionBody::from(Execution {
            id: ExecutionId::random(),
            session_id: SessionId::random(),
            spec: StartSpec::shell("x"),
            state: ExecutionState::Running { pid: 1 },
            started_at_ms: 0,
            stdout_bytes: 4,
            stderr_bytes: 2,
            output_bytes: 0,
            last_seq: Seq(9),
            log_removed: None,
        })
    }

    fn output(seq: u64, stream: Stream, offset: u64, text: &'static str) -> Event {
        Event { seq: Seq(seq), at_ms: 0, kind: EventKind::Output { stream, offset, bytes: text.into() } }
    }

    #[test]
    fn reading_without_waiting_ends_with_the_last_event() {
        let mut stop = Stop::at_current_end(&running(), Seq(0), &[]);
        assert!(stop.wants(&output(8, Stream::Stdout, 0, "ab")) && stop != Stop::Now);
        assert!(stop.wants(&output(11, Stream::Stderr, 0, "ab")) && stop == Stop::Now);
        assert_eq!(Stop::at_current_end(&running(), Seq(9), &[]), Stop::Now);
    }

    #[test]
    fn reading_one_stream_stops_at_the_end_of_that_stream() {
        let mut stop = Stop::at_current_end(&running(), Seq(0), &[Stream::Stdout]);
        assert_eq!(stop.streams(&[Stream::Stdout]), [Stream::Stdout]);
        assert!(stop.wants(&output(3, Stream::Stdout, 0, "abc")) && stop != Stop::Now);
        assert!(stop.wants(&output(7, Stream::Stdout, 3, "d")) && stop == Stop::Now);
    }

    #[test]
    fn from_a_position_all_streams_are_read_and_one_is_returned() {
        let mut stop = Stop::at_current_end(&running(), Seq(5), &[Stream::Stdout]);
        assert_eq!(stop.streams(&[Stream::Stdout]), []);
        assert!(!stop.wants(&output(8, Stream::Stderr, 0, "ab")));
        assert!(!stop.wants(&output(9, Stream::Stderr, 0, "ab")) && stop == Stop::Now);
    }
}
