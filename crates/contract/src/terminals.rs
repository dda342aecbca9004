//! The state of terminals, from the worker's emulator: screen, sizes, and the shell's marks.

use std::collections::VecDeque;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, Seq, TtySize};
use tonic::Streaming;

use crate::client::Client;
use crate::error::ContractError;
use crate::resume::ResumingStream;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// The contents of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last event that is included. Continue following after it.
    pub seq: Seq,
    /// The size of the terminal.
    pub size: TtySize,
    /// The bytes that draw it on an empty terminal of that size: scrollback, screen, cursor, modes.
    pub data: Bytes,
    /// The title that the program set. It is untrusted.
    pub title: String,
}

/// A size that a terminal has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeChange {
    /// Milliseconds since the start.
    pub at_ms: u64,
    /// The event before the change.
    pub after: Seq,
    /// The size after the change.
    pub size: TtySize,
}

/// A mark that a shell printed about its prompts and commands. It is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The event of the log whose bytes contain it.
    pub seq: Seq,
    /// The kind of mark.
    pub kind: MarkKind,
}

/// The kinds of marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkKind {
    /// The shell waits for a command.
    Prompt,
    /// The shell runs a command.
    Command {
        /// The command as typed, if known.
        line: Option<String>,
    },
    /// The command has ended.
    Ended {
        /// Its exit code, if known.
        exit_code: Option<i32>,
    },
    /// The shell changed its directory.
    Directory {
        /// The path of the new directory.
        path: String,
    },
}

fn size(rows: u32, cols: u32) -> Result<TtySize> {
    match (u16::try_from(rows), u16::try_from(cols)) {
        (Ok(rows), Ok(cols)) => Ok(TtySize { rows, cols }),
        _ => Err(ContractError::Malformed(format!("a terminal with {rows} rows and {cols} columns"))),
    }
}

/// `None` for kinds of a newer worker.
fn mark(message: v1::Mark) -> Option<Mark> {
    use v1::mark::Kind;
    let kind = match message.kind? {
        Kind::Prompt(_) => MarkKind::Prompt,
        Kind::Command(command) => MarkKind::Command { line: command.line },
        Kind::Ended(ended) => MarkKind::Ended { exit_code: ended.exit_code },
        Kind::Directory(directory) => MarkKind::Directory { path: directory.path },
    };
    Some(Mark { seq: Seq(message.seq), kind })
}

impl Client {
    /// The contents of a terminal, with at most this many lines of scrollback (`None`: all that are kept).
    pub async fn snapshot(&self, id: ExecutionId, scrollback_lines: Option<u32>) -> Result<Snapshot> {
        let execution_id = id.to_string();
        self.get_snapshot(v1::SnapshotRequest { execution_id, scrollback_lines, for_list: false }).await
    }

    /// The title that the program of a terminal set, which may be empty. Does not count as use of the terminal.
    pub async fn terminal_title(&self, id: ExecutionId) -> Result<String> {
        let execution_id = id.to_string();
        let request = v1::SnapshotRequest { execution_id, scrollback_lines: Some(0), for_list: true };
        Ok(self.get_snapshot(request).await?.title)
    }

    async fn get_snapshot(&self, request: v1::SnapshotRequest) -> Result<Snapshot> {
        let answer = self.terminals().snapshot(request).await?.into_inner();
        let (seq, size) = (Seq(answer.seq), size(answer.rows, answer.cols)?);
        Ok(Snapshot { seq, size, data: answer.data, title: answer.title })
    }

    /// The sizes that a terminal has had, the first one included.
    pub async fn sizes(&self, id: ExecutionId) -> Result<Vec<SizeChange>> {
        let request = v1::ListSizesRequest { execution_id: id.to_string() };
        let answer = self.terminals().list_sizes(request).await?.into_inner().sizes;
        let change = |answer: v1::SizeChange| {
            let size = size(answer.rows, answer.cols)?;
            Ok(SizeChange { at_ms: answer.at_ms, after: Seq(answer.after_seq), size })
        };
        answer.into_iter().map(change).collect()
    }

    /// Follows a terminal's marks after this event. If the shell waits for a command there, its prompt, which is
    /// earlier, is the first mark. The stream continues over a restart of the worker.
    pub async fn follow_marks(&self, id: ExecutionId, after: Seq) -> Result<MarkFollower> {
        let marks = ResumingStream::new(self.clone(), Some(open(self.clone(), id, after, true).await?));
        Ok(MarkFollower { id, after, with_prompt: true, marks, ready: VecDeque::new() })
    }
}

async fn open(
    client: Client,
    id: ExecutionId,
    after: Seq,
    with_prompt: bool,
) -> Result<Streaming<v1::FollowMarksResponse>> {
    let request = v1::FollowMarksRequest { execution_id: id.to_string(), after_seq: after.0, with_prompt };
    Ok(client.terminals().follow_marks(request).await?.into_inner())
}

/// The marks of one terminal, over any number of connections.
#[derive(Debug)]
pub struct MarkFollower {
    id: ExecutionId,
    after: Seq,
    /// Whether the prompt before the first position may still come.
    with_prompt: bool,
    marks: ResumingStream<v1::FollowMarksResponse>,
    ready: VecDeque<Mark>,
}

impl MarkFollower {
    /// The next mark; `None` after the last. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Mark>> {
        loop {
            if let Some(mark) = self.ready.pop_front() {
                return Ok(Some(mark));
            }
            let (id, after, with_prompt) = (self.id, self.after, self.with_prompt);
            let next = self.marks.next(|client| open(client, id, after, with_prompt));
            let Some(batch) = next.await? else {
                return Ok(None);
            };
            self.with_prompt = false;
            // The marks of one event are sent together, so continuing after the event misses none.
            self.ready.extend(batch.marks.into_iter().filter_map(mark));
            self.after = self.ready.back().map_or(self.after, |last| self.after.max(last.seq));
        }
    }
}
