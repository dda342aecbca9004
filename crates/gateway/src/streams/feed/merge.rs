//! Many logs in one: whatever comes first is told first, and each log in its order.
//!
//! No task and no queue: logs are read only while somebody waits for the next frame, and each that is read ahead holds
//! one event. At most [`MAX_OPEN`] are followed at once; those that started later wait until one of them has ended.
//! What has ended already is history, and is told one after the other, in the order in which it started.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::http::StatusCode;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use headwater_contract::FollowOptions;
use headwater_protocol::{Event, ExecutionId};
use headwater_store::{ExecutionFilter, ExecutionRow, PageRequest, StateFilter};

use super::dialect::{Dialect, Frame};
use super::followed::Followed;
use super::hub::{Topic, Watch};
use super::subject::Subject;
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::state::Gateway;
use crate::streams::feed::cursor::Token;
use crate::streams::feed::position::Place;

/// Executions that are followed at once, and so places in a token.
pub(crate) const MAX_OPEN: usize = 64;
/// Rows that are read at once: each may hold megabytes of code, and is held until it is told.
const PAGE: u32 = 1;

/// Where a feed begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// With the first execution that there was.
    Start,
    /// With what happens next.
    Now,
    /// Where another ended.
    Token(Token),
}

/// What came of waiting for an execution's next event.
type Came = (Followed, Result<Option<Event>, ApiError>);

/// The executions of one topic, or one execution.
pub(crate) struct Feed {
    gateway: Arc<Gateway>,
    dialect: Dialect,
    options: FollowOptions,
    watch: Option<Watch>,
    /// The execution, if it is a feed of one.
    one: Option<ExecutionId>,
    /// Whether there may be rows that were not read.
    look: bool,
    /// Rows that were read and not taken up.
    rows: VecDeque<ExecutionRow>,
    /// An execution that had ended when it was taken up: nothing later is taken up before it is told.
    history: Option<i64>,
    token: Token,
    waiting: FuturesUnordered<BoxFuture<'static, Came>>,
    /// What is being told.
    current: Option<(Followed, Event)>,
}

/// Something to tell.
pub(crate) enum Told {
    Frame(Frame),
    /// One log cannot be read any further.
    Broken(Box<(Subject, ApiError)>),
}

impl Feed {
    /// A feed of this topic, whose watcher may see it.
    pub(crate) async fn of_topic(
        gateway: &Arc<Gateway>,
        topic: Topic,
        dialect: Dialect,
        from: From,
        batch: FollowOptions,
    ) -> Result<Self, ApiError> {
        // First the watch, then the rows: what starts in between is seen twice rather than not at all.
        let watch = gateway.feeds.watch(topic);
        let mut feed = Self::new(gateway, dialect, batch, Some(watch));
        match from {
            From::Start => {}
            From::Now => feed.begin_now().await?,
            From::Token(token) => feed.go_on(token).await?,
        }
        Ok(feed)
    }

    /// A feed of one execution.
    pub(crate) fn of_one(gateway: &Arc<Gateway>, dialect: Dialect, followed: Followed) -> Self {
        let mut feed = Self::new(gateway, dialect, FollowOptions::default(), None);
        feed.one = followed.subject.id;
        feed.token = Token { newest: followed.number, open: BTreeMap::new() };
        feed.token.open.insert(followed.number, Place::default());
        feed.wait_for(followed);
        feed
    }

    fn new(gateway: &Arc<Gateway>, dialect: Dialect, batch: FollowOptions, watch: Option<Watch>) -> Self {
        Self {
            gateway: Arc::clone(gateway),
            dialect,
            options: FollowOptions {
                until_closed: dialect.is_until_closed(),
                tail_bytes: dialect.tail_bytes(),
                tail_once: false, // whoever falls behind later skips ahead too
                ..batch
            },
            look: watch.is_some(),
            rows: VecDeque::new(),
            history: None,
            watch,
            one: None,
            token: Token::default(),
            waiting: FuturesUnordered::new(),
            current: None,
        }
    }

    /// Where a feed of this topic goes on; none if this is one of a single execution.
    pub(crate) fn token(&self) -> Option<&Token> {
        self.watch.is_some().then_some(&self.token)
    }

    /// The execution, if it is a feed of one.
    pub(crate) const fn one(&self) -> Option<ExecutionId> {
        self.one
    }

    /// The next thing to tell; none when nothing more can come. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>, ApiError> {
        loop {
            if let Some(frame) = self.step() {
                return Ok(Some(Told::Frame(frame)));
            }
            if self.current.is_some() {
                continue;
            }
            if self.can_take_up() {
                self.take_up().await?;
                continue;
            }
            let Some(watch) = &mut self.watch else {
                let Some((followed, event)) = self.waiting.next().await else {
                    return Ok(None);
                };
                if let Some(told) = self.take(followed, event)? {
                    return Ok(Some(told));
                }
                continue;
            };
            tokio::select! {
                Some((followed, event)) = self.waiting.next(), if !self.waiting.is_empty() => {
                    if let Some(told) = self.take(followed, event)? {
                        return Ok(Some(told));
                    }
                }
                () = watch.woken() => self.look = true,
            }
        }
    }

    /// Goes on with what is being told.
    fn step(&mut self) -> Option<Frame> {
        let (mut followed, event) = self.current.take()?;
        let number = followed.number;
        let place = self.token.open.get(&number).copied().unwrap_or_default();
        let step = self.dialect.step(&followed.subject, &event, place);
        self.token.open.insert(number, step.place);
        if !step.is_done {
            self.current = Some((followed, event));
        } else if self.dialect.ends_with(&event) {
            self.token.open.remove(&number);
        } else {
            // It was told, if it is told at all: it may be large.
            followed.subject.tool_args = serde_json::Value::Null;
            self.wait_for(followed);
        }
        step.frame
    }

    fn take(
        &mut self,
        followed: Followed,
        event: Result<Option<Event>, ApiError>,
    ) -> Result<Option<Told>, ApiError> {
        match event {
            Ok(Some(event)) => self.current = Some((followed, event)),
            Ok(None) => _ = self.token.open.remove(&followed.number),
            // Everything stands still: the client shall come back to where it was.
            Err(error) if error.retry_after.is_some() => return Err(error),
            Err(error) => {
                self.token.open.remove(&followed.number);
                return Ok(Some(Told::Broken(Box::new((followed.subject, error)))));
            }
        }
        Ok(None)
    }

    fn wait_for(&mut self, followed: Followed) {
        self.waiting.push(Box::pin(followed.next()));
    }

    fn can_take_up(&self) -> bool {
        let open = &self.token.open;
        let is_in_history = self.history.is_some_and(|number| open.contains_key(&number));
        (self.look || !self.rows.is_empty()) && !is_in_history && open.len() < MAX_OPEN
    }

    /// Takes up the next execution that started since.
    async fn take_up(&mut self) -> Result<(), ApiError> {
        if self.rows.is_empty() {
            self.rows =
                self.gateway.store.executions_after(&self.filter(), self.token.newest, PAGE).await?.into();
            self.look = self.rows.len() >= PAGE as usize;
        }
        let Some(row) = self.rows.pop_front() else {
            return Ok(());
        };
        self.token.newest = row.number;
        self.history = row.end.is_some().then_some(row.number);
        self.follow(row.number, Subject::new(row), Place::default());
        Ok(())
    }

    fn follow(&mut self, number: i64, mut subject: Subject, place: Place) {
        if !(self.dialect.tells_args() && place.is_start()) {
            subject.tool_args = serde_json::Value::Null; // it may be large
        }
        self.token.open.insert(number, place);
        let options = FollowOptions { after: place.seq, ..self.options.clone() };
        let followed = Followed::new(Arc::clone(&self.gateway), number, subject, options);
        self.wait_for(followed.holding_characters(self.dialect.holds_characters()));
    }

    fn filter(&self) -> ExecutionFilter {
        self.watch.as_ref().map(|watch| watch.topic().filter()).unwrap_or_default()
    }

    /// Goes on where another feed of the same topic was.
    async fn go_on(&mut self, token: Token) -> Result<(), ApiError> {
        if token.newest > self.gateway.store.last_execution_number().await? {
            return Err(past_end());
        }
        self.token.newest = token.newest;
        for (number, place) in token.open {
            // The filter sees to it that no number of another's execution leads there.
            let rows =
                self.gateway.store.executions_after(&self.filter(), number.saturating_sub(1), 1).await?;
            if let Some(row) = rows.into_iter().find(|row| row.number == number) {
                self.follow(number, Subject::new(row), place);
            }
        }
        Ok(())
    }

    /// Begins with what happens next: what runs goes on where it stands, and what started before is over.
    async fn begin_now(&mut self) -> Result<(), ApiError> {
        let filter = self.filter();
        let newest = self.gateway.store.executions(&filter, PageRequest::first(1)).await?;
        self.token.newest = newest.items.first().map_or(0, |row| row.number);
        let running = ExecutionFilter { state: Some(StateFilter::Running), ..filter };
        let mut page = PageRequest::first(PAGE);
        while self.token.open.len() < MAX_OPEN {
            let found = self.gateway.store.executions(&running, page).await?;
            page.cursor = found.next;
            let Some(row) = found.items.into_iter().next() else {
                break;
            };
            let id = row.id;
            let seq = match self.gateway.worker.execution(id).await {
                Ok(told) => told.last_seq,
                Err(error) if is_missing(&error) => headwater_protocol::Seq(0),
                Err(error) => return Err(error.into()),
            };
            // What started after the first look comes by itself.
            if row.number <= self.token.newest {
                self.follow(row.number, Subject::new(row), Place::default().after(seq));
            }
            if page.cursor.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// No feed of this server gave out such a position.
fn past_end() -> ApiError {
    ApiError::new(
        StatusCode::BAD_REQUEST,
        "after_past_end",
        "`after` (or `Last-Event-ID`) is past the newest execution",
        "send the `id` of the last event as it came, or `now`, or leave it out; if the server sent it, its store has been \
         replaced by an older one",
    )
}
