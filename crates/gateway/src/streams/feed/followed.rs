//! One execution that a feed follows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{ContractError, FollowOptions, Follower};
use headwater_protocol::api::EventViews;
use headwater_protocol::{Event, EventKind, Seq, Stream, Verdict};
use headwater_store::ExecutionEnd;
use tokio::time::{Instant, sleep, timeout};

use super::subject::Subject;
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::state::Gateway;

/// A row may exist shortly before the worker knows its execution: the worker is asked again after this pause
/// ...
const MISSING_PAUSE: Duration = Duration::from_millis(50);
/// ... for this long. After that the client may have to repeat its start, or the execution is recorded as
/// lost.
const SHORT_PAUSES_FOR: Duration = Duration::from_secs(5);
const MISSING_LONG_PAUSE: Duration = Duration::from_secs(2);
/// How long an incomplete character waits for its rest.
const CHARACTER_HOLD: Duration = Duration::from_millis(50);

/// An execution that is followed.
pub(crate) struct Followed {
    gateway: Arc<Gateway>,
    /// The execution's number in the store.
    pub(crate) number: i64,
    pub(crate) subject: Subject,
    options: FollowOptions,
    source: Source,
    /// Joins divided characters, where requested.
    views: Option<EventViews>,
    ready: VecDeque<Event>,
}

enum Source {
    /// Not opened yet.
    Closed,
    Log(Box<Follower>),
    /// Nothing more comes.
    Over,
}

impl Followed {
    /// An execution whose log is not opened yet.
    pub(crate) fn new(gateway: Arc<Gateway>, number: i64, subject: Subject, options: FollowOptions) -> Self {
        let ready = VecDeque::new();
        Self { gateway, number, subject, options, source: Source::Closed, views: None, ready }
    }

    /// Uses a follower that is already open.
    pub(crate) fn with_follower(mut self, follower: Follower) -> Self {
        self.source = Source::Log(Box::new(follower));
        self
    }

    /// A call that was not accepted: this verdict is its only event.
    pub(crate) fn refused(gateway: Arc<Gateway>, subject: Subject, verdict: Verdict) -> Self {
        let mut followed = Self::new(gateway, 0, subject.unaccepted(), FollowOptions::default());
        followed.source = Source::Over;
        followed.ready.push_back(Event { seq: Seq(1), at_ms: 0, kind: EventKind::Exited(verdict) });
        followed
    }

    /// Joins divided characters.
    pub(crate) fn holding_characters(mut self, holds: bool) -> Self {
        self.views = holds.then(EventViews::default);
        self
    }

    /// The next event; None at the end. The store records an end before the client is sent it.
    pub(crate) async fn next(mut self) -> (Self, Result<Option<Event>, ApiError>) {
        let mut event = self.next_event().await;
        if let (Ok(Some(next)), Some(id)) = (&event, self.subject.id)
            && let Err(error) = self.gateway.recorder.note_event(id, next).await
        {
            event = Err(error);
        }
        (self, event)
    }

    async fn next_event(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.source {
                Source::Closed => self.open().await?,
                Source::Over => return Ok(None),
                Source::Log(follower) => match read(follower, self.views.as_ref(), &self.options).await? {
                    Read::Event(event) => match &mut self.views {
                        Some(views) => self.ready.extend(views.push(event)),
                        None => self.ready.push_back(event),
                    },
                    Read::Silence => self.ready.extend(self.views.as_mut().and_then(EventViews::flush)),
                    Read::End => {
                        self.ready.extend(self.views.as_mut().and_then(EventViews::flush));
                        self.source = Source::Over;
                    }
                },
            }
        }
    }

    /// Opens the log once the worker knows the execution. If the worker has forgotten it, the store has its
    /// end.
    async fn open(&mut self) -> Result<(), ApiError> {
        let since = Instant::now();
        let Some(id) = self.subject.id else {
            self.source = Source::Over;
            return Ok(());
        };
        loop {
            let options = self.options.clone();
            match self.gateway.worker.follow(id, options).await {
                Ok(follower) => {
                    self.source = Source::Log(Box::new(follower));
                    return Ok(());
                }
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error.into()),
            }
            let row = self.gateway.store.execution(id).await?;
            let is_removed = row.is_none();
            let end = row.and_then(|row| row.end);
            if is_removed || end.is_some() {
                self.ready.extend(end.into_iter().flat_map(|end| remembered(&end, &self.options)));
                self.source = Source::Over;
                return Ok(());
            }
            sleep(if since.elapsed() < SHORT_PAUSES_FOR { MISSING_PAUSE } else { MISSING_LONG_PAUSE }).await;
        }
    }
}

enum Read {
    Event(Event),
    /// Nothing came for as long as an incomplete character may wait.
    Silence,
    End,
}

async fn read(
    follower: &mut Follower,
    views: Option<&EventViews>,
    options: &FollowOptions,
) -> Result<Read, ContractError> {
    let event = if views.is_some_and(EventViews::holds) {
        // The worker may hold the rest back, as it does with all output.
        let hold = CHARACTER_HOLD + Duration::from_millis(options.batch_ms.into());
        match timeout(hold, follower.next()).await {
            Ok(event) => event?,
            Err(_) => return Ok(Read::Silence),
        }
    } else {
        follower.next().await?
    };
    Ok(event.map_or(Read::End, Read::Event))
}

/// The events that the store can provide for an execution whose log was removed: a gap for its output, and
/// its end.
fn remembered(end: &ExecutionEnd, options: &FollowOptions) -> Vec<Event> {
    let (verdict, at_ms) = (&end.verdict, end.verdict.duration_ms);
    let closed_seq = end.last_seq.max(Seq(3));
    let exited_seq = Seq(closed_seq.0 - 1);
    let mut events = Vec::new();
    if options.after.0 == 0 {
        let printed = [verdict.stdout_bytes, verdict.stderr_bytes, verdict.output_bytes];
        for (stream, bytes) in Stream::ALL.into_iter().zip(printed).filter(|(_, bytes)| *bytes > 0) {
            let kind = EventKind::Gap { stream, from_byte: 0, to_byte: bytes };
            events.push(Event { seq: Seq(exited_seq.0 - 1), at_ms, kind });
        }
    }
    if options.after < exited_seq {
        events.push(Event { seq: exited_seq, at_ms, kind: EventKind::Exited(verdict.clone()) });
    }
    if options.after < closed_seq && options.until_closed {
        events.push(Event { seq: closed_seq, at_ms, kind: EventKind::Closed });
    }
    events
}

#[cfg(test)]
mod tests {
    use headwater_protocol::Reason;

    use super::*;

    fn names(last_seq: u64, after: u64, until_closed: bool) -> Vec<(u64, &'static str)> {
        let verdict =
            Verdict { code: Some(0), duration_ms: 5, stdout_bytes: 7, ..Verdict::new(Reason::Exited) };
        let end = ExecutionEnd {
            verdict,
            started_at_ms: 0,
            exited_at_ms: 5,
            last_seq: Seq(last_seq),
            closed: true,
        };
        let options = FollowOptions { after: Seq(after), until_closed, ..FollowOptions::default() };
        remembered(&end, &options).iter().map(|event| (event.seq.0, event.kind.name())).collect()
    }

    #[test]
    fn a_removed_log_yields_its_end_once_and_a_gap() {
        assert_eq!(names(9, 0, true), [(7, "gap"), (8, "exited"), (9, "closed")]);
        assert_eq!(names(9, 0, false), [(7, "gap"), (8, "exited")]);
        assert_eq!(names(9, 7, true), [(8, "exited"), (9, "closed")]);
        assert_eq!(names(9, 8, true), [(9, "closed")]);
        assert_eq!(names(9, 9, true), []);
        assert_eq!(names(0, 0, true), [(1, "gap"), (2, "exited"), (3, "closed")]);
    }
}
