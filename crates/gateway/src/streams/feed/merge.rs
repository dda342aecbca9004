//! Many logs in one stream: in order of arrival, and each log in its own order.
//!
//! It has no task and no queue: logs are read only while a client waits for the next frame, and each log
//! holds at most one event in memory. At most [`MAX_OPEN`] are followed at once; executions that started
//! later wait until one of them has ended. Executions that have already ended are sent one after the other,
//! in the order in which they started.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use headwater_contract::FollowOptions;
use headwater_protocol::api::ErrorCode;
use headwater_protocol::{Event, ExecutionId};
use headwater_store::{ExecutionFilter, ExecutionRow, PageRequest, StateFilter};

use super::dialect::{Dialect, Frame};
use super::followed::Followed;
use super::hub::{Subscription, Topic};
use super::subject::Subject;
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::state::Gateway;
use crate::streams::feed::cursor::Cursor;
use crate::streams::feed::position::Position;

/// The maximum number of executions that are followed at once, and of positions in a cursor.
pub(crate) const MAX_OPEN: usize = 64;
/// The number of rows read at once: each may hold megabytes of code, and is kept until it is sent.
const ROWS_PER_READ: u32 = 1;

/// Where a feed begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// At the first execution.
    Start,
    /// At the present.
    Now,
    /// After the position of an earlier feed.
    Cursor(Cursor),
}

/// The result of waiting for an execution's next event.
type NextEvent = (Followed, Result<Option<Event>, ApiError>);

/// The executions of one topic, or one execution.
pub(crate) struct Feed {
    gateway: Arc<Gateway>,
    dialect: Dialect,
    options: FollowOptions,
    subscription: Option<Subscription>,
    /// The execution, if this is a feed of one.
    one: Option<ExecutionId>,
    /// Whether the store may have unread rows.
    may_have_rows: bool,
    /// Rows that were read and are not followed yet.
    rows: VecDeque<ExecutionRow>,
    /// An execution that had already ended when it was opened: later ones wait until it was sent.
    history: Option<i64>,
    cursor: Cursor,
    waiting: FuturesUnordered<BoxFuture<'static, NextEvent>>,
    /// The event that is being sent.
    current: Option<(Followed, Event)>,
}

/// An item of a feed.
pub(crate) enum FeedItem {
    Frame(Frame),
    /// The rest of one log cannot be read.
    Broken(Box<(Subject, ApiError)>),
}

impl Feed {
    /// A feed of this topic, which the caller may see.
    pub(crate) async fn of_topic(
        gateway: &Arc<Gateway>,
        topic: Topic,
        dialect: Dialect,
        from: From,
        batch: FollowOptions,
    ) -> Result<Self, ApiError> {
        // First subscribe, then read the rows: an execution that starts in between is seen twice rather than not at all.
        let subscription = gateway.feeds.subscribe(topic);
        let mut feed = Self::new(gateway, dialect, batch, Some(subscription));
        match from {
            From::Start => {}
            From::Now => feed.begin_now().await?,
            From::Cursor(cursor) => feed.resume(cursor).await?,
        }
        Ok(feed)
    }

    /// A feed of one execution.
    pub(crate) fn of_one(gateway: &Arc<Gateway>, dialect: Dialect, followed: Followed) -> Self {
        let mut feed = Self::new(gateway, dialect, FollowOptions::default(), None);
        feed.one = followed.subject.id;
        feed.cursor = Cursor { newest: followed.number, open: BTreeMap::new() };
        feed.cursor.open.insert(followed.number, Position::default());
        feed.wait_for(followed);
        feed
    }

    fn new(
        gateway: &Arc<Gateway>,
        dialect: Dialect,
        batch: FollowOptions,
        subscription: Option<Subscription>,
    ) -> Self {
        Self {
            gateway: Arc::clone(gateway),
            dialect,
            options: FollowOptions {
                until_closed: dialect.is_until_closed(),
                tail_bytes: dialect.tail_bytes(),
                tail_once: false, // a reader that falls behind later skips ahead too
                ..batch
            },
            may_have_rows: subscription.is_some(),
            rows: VecDeque::new(),
            history: None,
            subscription,
            one: None,
            cursor: Cursor::default(),
            waiting: FuturesUnordered::new(),
            current: None,
        }
    }

    /// The position of a feed of a topic; None for a feed of one execution.
    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.subscription.is_some().then_some(&self.cursor)
    }

    /// The execution, if this is a feed of one.
    pub(crate) const fn one(&self) -> Option<ExecutionId> {
        self.one
    }

    /// The next item; None at the end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<FeedItem>, ApiError> {
        loop {
            if let Some(frame) = self.step() {
                return Ok(Some(FeedItem::Frame(frame)));
            }
            if self.current.is_some() {
                continue;
            }
            if self.can_take_up() {
                self.take_up().await?;
                continue;
            }
            let Some(subscription) = &mut self.subscription else {
                let Some((followed, event)) = self.waiting.next().await else {
                    return Ok(None);
                };
                if let Some(item) = self.take(followed, event)? {
                    return Ok(Some(item));
                }
                continue;
            };
            tokio::select! {
                Some((followed, event)) = self.waiting.next(), if !self.waiting.is_empty() => {
                    if let Some(item) = self.take(followed, event)? {
                        return Ok(Some(item));
                    }
                }
                () = subscription.woken() => self.may_have_rows = true,
            }
        }
    }

    /// Continues with the event that is being sent.
    fn step(&mut self) -> Option<Frame> {
        let (mut followed, event) = self.current.take()?;
        let number = followed.number;
        let position = self.cursor.open.get(&number).copied().unwrap_or_default();
        let step = self.dialect.step(&followed.subject, &event, position);
        self.cursor.open.insert(number, step.position);
        if !step.is_done {
            self.current = Some((followed, event));
        } else if self.dialect.ends_with(&event) {
            self.cursor.open.remove(&number);
        } else {
            // The arguments were sent if this dialect sends them, and may be large.
            followed.subject.tool_args = serde_json::Value::Null;
            self.wait_for(followed);
        }
        step.frame
    }

    fn take(
        &mut self,
        followed: Followed,
        event: Result<Option<Event>, ApiError>,
    ) -> Result<Option<FeedItem>, ApiError> {
        match event {
            Ok(Some(event)) => self.current = Some((followed, event)),
            Ok(None) => _ = self.cursor.open.remove(&followed.number),
            // Nothing can be read now: the client must reconnect at its position.
            Err(error) if error.retry_after.is_some() => return Err(error),
            Err(error) => {
                self.cursor.open.remove(&followed.number);
                return Ok(Some(FeedItem::Broken(Box::new((followed.subject, error)))));
            }
        }
        Ok(None)
    }

    fn wait_for(&mut self, followed: Followed) {
        self.waiting.push(Box::pin(followed.next()));
    }

    fn can_take_up(&self) -> bool {
        let open = &self.cursor.open;
        let is_in_history = self.history.is_some_and(|number| open.contains_key(&number));
        (self.may_have_rows || !self.rows.is_empty()) && !is_in_history && open.len() < MAX_OPEN
    }

    /// Opens the next execution that has started.
    async fn take_up(&mut self) -> Result<(), ApiError> {
        if self.rows.is_empty() {
            self.rows = self
                .gateway
                .store
                .executions_after(&self.filter(), self.cursor.newest, ROWS_PER_READ)
                .await?
                .into();
            self.may_have_rows = self.rows.len() >= ROWS_PER_READ as usize;
        }
        let Some(row) = self.rows.pop_front() else {
            return Ok(());
        };
        self.cursor.newest = row.number;
        self.history = row.end.is_some().then_some(row.number);
        self.follow(row.number, Subject::new(row), Position::default());
        Ok(())
    }

    fn follow(&mut self, number: i64, mut subject: Subject, position: Position) {
        if !(self.dialect.sends_args() && position.is_start()) {
            subject.tool_args = serde_json::Value::Null; // it may be large
        }
        self.cursor.open.insert(number, position);
        // A call with a `maxBuffer` shows its beginning, not its end.
        let tail_bytes = self.options.tail_bytes.filter(|_| subject.max_buffer.is_none());
        let options = FollowOptions { after: position.seq, tail_bytes, ..self.options.clone() };
        let followed = Followed::new(Arc::clone(&self.gateway), number, subject, options);
        self.wait_for(followed.holding_characters(self.dialect.holds_characters()));
    }

    fn filter(&self) -> ExecutionFilter {
        self.subscription.as_ref().map(|subscription| subscription.topic().filter()).unwrap_or_default()
    }

    /// Continues at the position of an earlier feed of the same topic.
    async fn resume(&mut self, cursor: Cursor) -> Result<(), ApiError> {
        if cursor.newest > self.gateway.store.last_execution_number().await? {
            return Err(past_end());
        }
        self.cursor.newest = cursor.newest;
        for (number, position) in cursor.open {
            // The filter ensures that no number leads to an execution of another owner.
            let rows =
                self.gateway.store.executions_after(&self.filter(), number.saturating_sub(1), 1).await?;
            if let Some(row) = rows.into_iter().find(|row| row.number == number) {
                self.follow(number, Subject::new(row), position);
            }
        }
        Ok(())
    }

    /// Begins at the present: running executions continue at their current position, and ended ones are left
    /// out.
    async fn begin_now(&mut self) -> Result<(), ApiError> {
        let filter = self.filter();
        let newest = self.gateway.store.executions(&filter, PageRequest::first(1)).await?;
        self.cursor.newest = newest.items.first().map_or(0, |row| row.number);
        let running = ExecutionFilter { state: Some(StateFilter::Running), ..filter };
        let mut page = PageRequest::first(ROWS_PER_READ);
        while self.cursor.open.len() < MAX_OPEN {
            let found = self.gateway.store.executions(&running, page).await?;
            page.cursor = found.next;
            let Some(row) = found.items.into_iter().next() else {
                break;
            };
            let id = row.id;
            let seq = match self.gateway.worker.execution(id).await {
                Ok(execution) => execution.last_seq,
                Err(error) if is_missing(&error) => headwater_protocol::Seq(0),
                Err(error) => return Err(error.into()),
            };
            // Executions that started after the first query are found later.
            if row.number <= self.cursor.newest {
                self.follow(row.number, Subject::new(row), Position::default().after(seq));
            }
            if page.cursor.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// The error for a position that no feed of this server has sent.
fn past_end() -> ApiError {
    ApiError::new(
        ErrorCode::AfterPastEnd,
        "`after` (or `Last-Event-ID`) is past the newest execution",
        "send the unchanged `id` of the last event, or `now`, or leave it out; if the server sent it, its store has been \
         replaced by an older one",
    )
}
