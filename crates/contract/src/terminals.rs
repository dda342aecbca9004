//! What an emulator on the worker knows of a terminal: its screen, its sizes, and what its shell told.

use std::collections::VecDeque;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, Seq, TtySize};
use tonic::Streaming;

use crate::client::Client;
use crate::error::ContractError;
use crate::resume::ResumingStream;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// What a terminal shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// All events up to this one are in it: following goes on after it.
    pub seq: Seq,
    /// How large it is.
    pub size: TtySize,
    /// What draws it on an empty terminal of that size: scrollback, screen, cursor, modes.
    pub data: Bytes,
    /// The title that its program gave it; data of the program's.
    pub title: String,
}

/// A size that a terminal has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeChange {
    /// Since the start.
    pub at_ms: u64,
    /// The event that came before it.
    pub after: Seq,
    /// The size from then on.
    pub size: TtySize,
}

/// What a shell told of its prompts and commands. All of it is data of the program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The event of the log whose bytes carried it.
    pub seq: Seq,
    /// What it told.
    pub kind: MarkKind,
}

/// What a shell told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkKind {
    /// It waits for a command.
    Prompt,
    /// It begins to carry one out.
    Command {
        /// As it was typed, if that is known.
        line: Option<String>,
    },
    /// It has carried it out.
    Ended {
        /// How, if that is known.
        exit_code: Option<i32>,
    },
    /// It is in another folder.
    Directory {
        /// Which.
        path: String,
    },
}

fn size(rows: u32, cols: u32) -> Result<TtySize> {
    match (u16::try_from(rows), u16::try_from(cols)) {
        (Ok(rows), Ok(cols)) => Ok(TtySize { rows, cols }),
        _ => Err(ContractError::Malformed(format!("a terminal of {rows} rows and {cols} columns"))),
    }
}

/// None for kinds that a newer worker may know.
fn mark(told: v1::Mark) -> Option<Mark> {
    use v1::mark::Kind;
    let kind = match told.kind? {
        Kind::Prompt(_) => MarkKind::Prompt,
        Kind::Command(command) => MarkKind::Command { line: command.line },
        Kind::Ended(ended) => MarkKind::Ended { exit_code: ended.exit_code },
        Kind::Directory(directory) => MarkKind::Directory { path: directory.path },
    };
    Some(Mark { seq: Seq(told.seq), kind })
}

impl Client {
    /// What a terminal shows now, with at most so many lines of scrollback (none: all that are kept).
    pub async fn snapshot(&self, id: ExecutionId, scrollback_lines: Option<u32>) -> Result<Snapshot> {
        let request = v1::SnapshotRequest { execution_id: id.to_string(), scrollback_lines };
        let told = self.terminals().snapshot(request).await?.into_inner();
        let (seq, size) = (Seq(told.seq), size(told.rows, told.cols)?);
        Ok(Snapshot { seq, size, data: told.data, title: told.title })
    }

    /// How a terminal's size changed, the first one included.
    pub async fn sizes(&self, id: ExecutionId) -> Result<Vec<SizeChange>> {
        let request = v1::ListSizesRequest { execution_id: id.to_string() };
        let told = self.terminals().list_sizes(request).await?.into_inner().sizes;
        let change = |told: v1::SizeChange| {
            let size = size(told.rows, told.cols)?;
            Ok(SizeChange { at_ms: told.at_ms, after: Seq(told.after_seq), size })
        };
        told.into_iter().map(change).collect()
    }

    /// What a terminal's shell tells after this event. The stream goes on over a restart of the worker.
    pub async fn follow_marks(&self, id: ExecutionId, after: Seq) -> Result<MarkFollower> {
        let marks = ResumingStream::new(self.clone(), Some(open(self.clone(), id, after).await?));
        Ok(MarkFollower { id, after, marks, ready: VecDeque::new() })
    }
}

async fn open(client: Client, id: ExecutionId, after: Seq) -> Result<Streaming<v1::FollowMarksResponse>> {
    let request = v1::FollowMarksRequest { execution_id: id.to_string(), after_seq: after.0 };
    Ok(client.terminals().follow_marks(request).await?.into_inner())
}

/// The marks of one terminal, over any number of connections.
#[derive(Debug)]
pub struct MarkFollower {
    id: ExecutionId,
    after: Seq,
    marks: ResumingStream<v1::FollowMarksResponse>,
    ready: VecDeque<Mark>,
}

impl MarkFollower {
    /// The next mark; none when there are no more. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Mark>> {
        loop {
            if let Some(mark) = self.ready.pop_front() {
                return Ok(Some(mark));
            }
            let (id, after) = (self.id, self.after);
            let Some(batch) = self.marks.next(|client| open(client, id, after)).await? else {
                return Ok(None);
            };
            // The marks of one event come together: whoever goes on after it has them all.
            self.ready.extend(batch.marks.into_iter().filter_map(mark));
            self.after = self.ready.back().map_or(self.after, |last| last.seq);
        }
    }
}
