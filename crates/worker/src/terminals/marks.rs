//! Follows the marks of a shell for its prompts and commands, with a reader of its log.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt, iter, unfold};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_log::{LogError, Reader, ReaderOptions};
use headwater_protocol::{EventKind, Seq};
use headwater_screen::{Mark, MarkFinder};
use tonic::Status;

use super::live::Viewer;
use crate::executions::execution::Execution;

/// The response of `FollowMarks`.
pub(crate) type Marks = BoxStream<'static, Result<v1::FollowMarksResponse, Status>>;

/// The most records that one mark may span.
const MAX_MARK_RECORDS: u64 = 32;

struct Follower {
    reader: Reader,
    finder: MarkFinder,
    after: u64,
    /// Keeps the terminal in use while the stream is open.
    _viewer: Option<Viewer>,
    ended: bool,
}

/// The marks after this record, and later ones; before them the prompt at `waits_since`, an earlier record.
pub(crate) fn follow(
    execution: &Arc<Execution>,
    secret: &str,
    after: u64,
    waits_since: Option<u64>,
) -> Result<Marks, Fault> {
    let log = execution.log()?;
    // One record at a time: a mark is reported with its record.
    let options = ReaderOptions { max_bytes: 1, ..ReaderOptions::default() };
    let follower = Follower {
        reader: log.reader(Seq(after.saturating_sub(MAX_MARK_RECORDS)), options),
        finder: MarkFinder::new(secret),
        after,
        _viewer: execution.screen().map(|live| live.viewer()),
        ended: false,
    };
    let marks = unfold(follower, async |mut follower| {
        let found = follower.next().await.transpose()?;
        follower.ended |= found.is_err();
        Some((found.map_err(|error| Status::from(fault(&error))), follower))
    });
    let prompt =
        waits_since.map(|seq| v1::FollowMarksResponse { marks: vec![to_proto(Seq(seq), Mark::Prompt)] });
    Ok(iter(prompt.map(Ok)).chain(marks).boxed())
}

fn fault(error: &LogError) -> Fault {
    Fault::new(FaultKind::Internal, format!("cannot read the log: {error}"))
}

impl Follower {
    /// All marks of the next record that has some.
    async fn next(&mut self) -> Result<Option<v1::FollowMarksResponse>, LogError> {
        while !self.ended {
            let Some(event) = self.reader.next().await? else {
                if self.reader.is_complete() {
                    return Ok(None);
                }
                return Err(LogError::NotClosed);
            };
            self.ended = matches!(event.kind, EventKind::Closed);
            let EventKind::Output { bytes, .. } = event.kind else { continue };
            let mut found = VecDeque::from(self.finder.feed(&bytes));
            if event.seq.0 <= self.after || found.is_empty() {
                continue;
            }
            let marks = found.drain(..).map(|mark| to_proto(event.seq, mark)).collect();
            return Ok(Some(v1::FollowMarksResponse { marks }));
        }
        Ok(None)
    }
}

fn to_proto(seq: Seq, mark: Mark) -> v1::Mark {
    use v1::mark::Kind;
    let kind = match mark {
        Mark::Prompt => Kind::Prompt(v1::PromptShown {}),
        Mark::Command(line) => Kind::Command(v1::CommandStarted { line }),
        Mark::Ended(exit_code) => Kind::Ended(v1::CommandEnded { exit_code }),
        Mark::Directory(path) => Kind::Directory(v1::DirectoryChanged { path }),
    };
    v1::Mark { seq: seq.0, kind: Some(kind) }
}
