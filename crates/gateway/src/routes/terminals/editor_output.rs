//! The output of the executions that an editor starts in a session (`POST /v1/sessions/execute/...`), for the
//! viewers of the session's terminals: one socket shows the shell and everything that the editor runs.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use headwater_contract::FollowOptions;
use headwater_protocol::{Event, EventKind, Seq, SessionId};
use headwater_store::{ExecutionFilter, ExecutionRow, PageRequest, StateFilter};

use super::screen::MAX_MISSED_BYTES;
use super::viewer_encoder::JSON_BATCH;
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::feed::{Followed, Subject, Subscription, Topic};
use crate::streams::socket::notice::Notice;
use crate::streams::socket::outgoing::{More, OtherEvent};
use crate::terminals::EDITOR;

/// The maximum number of executions that are followed at once; later ones wait until one of them has closed.
const MAX_OPEN: usize = 64;
/// The number of rows read at once: each may hold megabytes of code.
const ROWS_PER_READ: u32 = 1;
/// Held-back output is sent early once it has this size.
const BATCH_BYTES: u32 = 4 << 10;

/// An execution that is followed.
struct Open {
    followed: Followed,
    /// The last event that was taken.
    position: Seq,
    /// Whether the output so far ends with a carriage return.
    ends_with_return: bool,
}

/// The result of waiting for an execution's next event.
type NextEvent = (Open, Result<Option<Event>, ApiError>);

/// The output of a session's executions, as they start, print and end.
pub(crate) struct EditorOutput {
    gateway: Arc<Gateway>,
    subscription: Subscription,
    /// The number of the newest execution that was seen.
    newest: i64,
    /// Whether the store may have newer executions.
    may_have_rows: bool,
    waiting: FuturesUnordered<BoxFuture<'static, NextEvent>>,
}

impl EditorOutput {
    /// Begins now. Executions that are running are shown from their beginning, or the last 256 KiB of them: a
    /// viewer that reconnects misses nothing of them.
    pub(crate) async fn open(gateway: &Arc<Gateway>, session: SessionId) -> Result<Self, ApiError> {
        // First subscribe, then read the rows: an execution that starts in between is not missed.
        let subscription = gateway.feeds.subscribe(Topic::Session(session));
        let mut output = Self {
            gateway: Arc::clone(gateway),
            subscription,
            newest: 0,
            may_have_rows: true,
            waiting: FuturesUnordered::new(),
        };
        output.begin().await?;
        Ok(output)
    }

    async fn begin(&mut self) -> Result<(), ApiError> {
        let gateway = Arc::clone(&self.gateway);
        let filter = self.filter();
        let newest = gateway.store.executions(&filter, PageRequest::first(1)).await?;
        self.newest = newest.items.first().map_or(0, |row| row.number);
        let running = ExecutionFilter { state: Some(StateFilter::Running), ..filter };
        let mut page = PageRequest::first(ROWS_PER_READ);
        while self.waiting.len() < MAX_OPEN {
            let found = gateway.store.executions(&running, page).await?;
            // Those that started after the first query are found later.
            for row in found.items.into_iter().filter(|row| row.number <= self.newest) {
                let tail_bytes = Some(MAX_MISSED_BYTES);
                self.follow(row, FollowOptions { tail_bytes, tail_once: true, ..options() });
            }
            if found.next.is_none() {
                break;
            }
            page.cursor = found.next;
        }
        Ok(())
    }

    fn filter(&self) -> ExecutionFilter {
        self.subscription.topic().filter()
    }

    /// The next output or end of an execution, or an error. Cancel-safe.
    pub(crate) async fn next(&mut self) -> More {
        loop {
            if self.may_have_rows && self.waiting.len() < MAX_OPEN {
                if let Err(error) = self.take_up().await {
                    // Until the next execution starts.
                    self.may_have_rows = false;
                    return More::Notice(Notice::Error(error));
                }
                continue;
            }
            tokio::select! {
                Some((open, event)) = self.waiting.next(), if !self.waiting.is_empty() => {
                    if let Some(more) = self.take(open, event) {
                        return more;
                    }
                }
                () = self.subscription.woken() => self.may_have_rows = true,
            }
        }
    }

    /// Follows the next execution that has started.
    async fn take_up(&mut self) -> Result<(), ApiError> {
        let rows = self.gateway.store.executions_after(&self.filter(), self.newest, ROWS_PER_READ).await?;
        self.may_have_rows = !rows.is_empty();
        for row in rows {
            self.newest = row.number;
            self.follow(row, options());
        }
        Ok(())
    }

    /// Follows an execution, if an editor started it.
    fn follow(&self, row: ExecutionRow, options: FollowOptions) {
        if !row.spec.metadata.contains_key(EDITOR) {
            return;
        }
        let number = row.number;
        let mut subject = Subject::new(row);
        subject.tool_args = serde_json::Value::Null; // it may be large
        let followed = Followed::new(Arc::clone(&self.gateway), number, subject, options);
        let followed = followed.holding_characters(true);
        self.wait_for(Open { followed, position: Seq(0), ends_with_return: false });
    }

    fn wait_for(&self, open: Open) {
        self.waiting.push(Box::pin(async move {
            let (followed, event) = open.followed.next().await;
            (Open { followed, ..open }, event)
        }));
    }

    fn take(&self, mut open: Open, event: Result<Option<Event>, ApiError>) -> Option<More> {
        let mut event = match event {
            Ok(event) => event?,
            Err(error) => return Some(More::Notice(Notice::Error(error))),
        };
        let before = std::mem::replace(&mut open.position, event.seq);
        let id = open.followed.subject.id;
        let is_shown = match &mut event.kind {
            EventKind::Output { bytes, .. } => {
                *bytes = with_returns(std::mem::take(bytes), &mut open.ends_with_return);
                true
            }
            EventKind::Exited(_) => true,
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Closed => false,
        };
        self.wait_for(open);
        Some(More::Other(Box::new(OtherEvent { id: id.filter(|_| is_shown)?, event, before })))
    }
}

/// How an execution is followed: until no writer is left, with small output joined.
fn options() -> FollowOptions {
    FollowOptions {
        until_closed: true,
        batch_ms: u32::try_from(JSON_BATCH.as_millis()).unwrap_or(0),
        batch_bytes: BATCH_BYTES,
        ..FollowOptions::default()
    }
}

/// Output with a carriage return before each line feed, as a terminal prints it: the executions have none, and
/// the viewers write this to theirs.
fn with_returns(bytes: Bytes, ends_with_return: &mut bool) -> Bytes {
    let mut is_after_return = *ends_with_return;
    let Some(last) = bytes.last() else {
        return bytes;
    };
    *ends_with_return = *last == b'\r';
    if !bytes.contains(&b'\n') {
        return bytes;
    }
    let mut text = BytesMut::with_capacity(bytes.len() + bytes.len() / 8);
    for byte in &bytes {
        if *byte == b'\n' && !is_after_return {
            text.extend_from_slice(b"\r");
        }
        text.extend_from_slice(std::slice::from_ref(byte));
        is_after_return = *byte == b'\r';
    }
    text.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_on_a_terminal_wherever_the_output_is_cut() {
        let printed = b"a\nb\r\n\n\rc\r\n";
        for cut in 0..=printed.len() {
            let (mut ends_with_return, mut text) = (false, Vec::new());
            for piece in [&printed[..cut], &printed[cut..]] {
                text.extend(with_returns(Bytes::from_static(piece), &mut ends_with_return));
            }
            assert_eq!(String::from_utf8_lossy(&text), "a\r\nb\r\n\r\n\rc\r\n", "cut at {cut}");
        }
    }
}
