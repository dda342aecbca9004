//! Encodes a terminal's output and events for a viewer: as JSON messages, or as binary frames once the viewer
//! has requested or sent one.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use headwater_contract::{Mark, MarkFollower, MarkKind};
use headwater_protocol::api::write_event;
use headwater_protocol::{Event, EventKind, ExecutionId, Seq};
use serde::Serialize;
use utoipa::ToSchema;

use super::editor_output::EditorOutput;
use super::messages::ServerMessage;
use super::screen::screen;
use crate::bodies::exit_number;
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::socket::frames::{binary_event, binary_json, error_json, text};
use crate::streams::socket::notice::Notice;
use crate::streams::socket::outgoing::{Encoder, More, OtherEvent, Screen};
use crate::streams::socket::shared::Shared;

/// Small output in JSON waits this long for more: half a frame of a screen.
pub(crate) const JSON_BATCH: Duration = Duration::from_millis(8);
/// Lines of scrollback sent with the screen to a viewer that fell behind; a viewer that reconnects gets all
/// of it.
const SCROLLBACK_LINES_BEHIND: u32 = 200;

/// Encodes for one viewer of a terminal.
pub(crate) struct ViewerEncoder {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) id: ExecutionId,
    pub(crate) name: String,
    pub(crate) shared: Arc<Shared>,
    /// Whether text frames are the JSON of events, and not the messages of editors.
    pub(crate) sends_events: bool,
    pub(crate) read_only: bool,
    /// The position at which the viewer continued.
    pub(crate) came_at: Seq,
    /// The shell's marks; None if they cannot be followed.
    pub(crate) marks: Option<MarkFollower>,
    /// A mark that belongs to an event that was not sent yet.
    pub(crate) held: Option<Mark>,
    /// The output of executions of the session, if this viewer gets it.
    pub(crate) editor_output: Option<EditorOutput>,
}

impl Encoder for ViewerEncoder {
    fn is_text(&self) -> bool {
        !self.shared.is_binary()
    }

    fn pace(&self) -> Duration {
        if self.is_text() { JSON_BATCH } else { Duration::ZERO }
    }

    fn event(&self, event: &Event) -> Option<Message> {
        if self.shared.is_binary() {
            return Some(Message::Binary(binary_event(event)));
        }
        if self.sends_events {
            let mut json = Vec::new();
            write_event(event, &mut json);
            return Some(text(json));
        }
        let json = match &event.kind {
            EventKind::Output { bytes, .. } => {
                // JSON can only carry text; clients that need all bytes request binary frames.
                ServerMessage::output(&String::from_utf8_lossy(bytes), event.seq.0).json()
            }
            EventKind::Exited(verdict) => ServerMessage::Exit { code: exit_number(verdict) }.json(),
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Closed => return None,
        };
        Some(text(json))
    }

    fn notice(&self, notice: &Notice) -> Option<Message> {
        if self.shared.is_binary() {
            return Some(Message::Binary(binary_json(&self.frame(notice))));
        }
        if self.sends_events {
            return Some(text(self.frame(notice)));
        }
        let json = match notice {
            Notice::Error(error) => {
                ServerMessage::Error { message: &error.message, code: error.code.name(), hint: &error.hint }
                    .json()
            }
            Notice::Resized(size) => ServerMessage::Resized { rows: size.rows, cols: size.cols }.json(),
            Notice::Mark(Mark { kind: MarkKind::Prompt, .. }) => ServerMessage::Prompt.json(),
            // The screen that follows resets the viewer's terminal.
            Notice::Attached(_) | Notice::Snapshot(_) | Notice::Mark(_) => return None,
        };
        Some(text(json))
    }

    fn other(&self, other: &OtherEvent, position: Seq) -> Option<Message> {
        if self.shared.is_binary() {
            return None; // it switched to binary frames since
        }
        let json = match &other.event.kind {
            EventKind::Output { stream, bytes, .. } => ServerMessage::Output {
                content: &String::from_utf8_lossy(bytes),
                seq: position.0,
                execution_id: Some(other.id),
                execution_seq: Some(other.event.seq.0),
                stream: Some(stream.name()),
            }
            .json(),
            EventKind::Exited(verdict) => ServerMessage::ExecutionEnded {
                execution_id: other.id,
                code: exit_number(verdict),
                message: verdict.message.as_deref(),
            }
            .json(),
            EventKind::Started { .. } | EventKind::Gap { .. } | EventKind::Closed => return None,
        };
        Some(text(json))
    }

    async fn more(&mut self, position: Seq, output: bool) -> More {
        if self.shared.is_binary() {
            self.editor_output = None;
        }
        let Self { id, marks, held, editor_output, .. } = self;
        let editor_output = async {
            match editor_output {
                Some(editor_output) => editor_output.next().await,
                None => pending().await,
            }
        };
        tokio::select! {
            mark = next_mark(*id, marks, held, position) => More::Notice(Notice::Mark(mark)),
            more = editor_output, if output => more,
        }
    }

    async fn instead_of_gap(&mut self, position: Seq) -> Result<Option<Screen>, ApiError> {
        let has_come_back = position == self.came_at;
        screen(&self.gateway, self.id, (!has_come_back).then_some(SCROLLBACK_LINES_BEHIND)).await
    }
}

/// The next mark of the shell that belongs to an event that was sent. Cancel-safe.
async fn next_mark(
    id: ExecutionId,
    marks: &mut Option<MarkFollower>,
    held: &mut Option<Mark>,
    position: Seq,
) -> Mark {
    while let (None, Some(follower)) = (&held, &mut *marks) {
        match follower.next().await {
            Ok(Some(mark)) => *held = Some(mark),
            Ok(None) => *marks = None,
            Err(error) => {
                tracing::debug!(%error, %id, "the terminal's marks can no longer be followed");
                *marks = None;
            }
        }
    }
    match held.take_if(|mark| mark.seq <= position) {
        Some(mark) => mark,
        None => pending().await,
    }
}

/// The events of a terminal that are not in its log.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum TerminalEvent<'a> {
    /// The first event: which terminal this is.
    Attached {
        /// Its execution.
        execution_id: ExecutionId,
        /// Its name.
        name: &'a str,
        /// Its rows.
        rows: u16,
        /// Its columns.
        cols: u16,
        /// Whether input of this viewer is refused.
        read_only: bool,
    },
    /// The terminal was resized.
    Resized {
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
    },
    /// The screen follows as output, in place of earlier output.
    Snapshot {
        /// The position of the screen in the log.
        seq: u64,
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
        /// The title of the terminal.
        title: &'a str,
        /// The length of the output that draws the screen.
        bytes: usize,
    },
    /// The shell is waiting for a command.
    Prompt {
        /// The position in the log.
        seq: u64,
    },
    /// The shell has started a command.
    CommandStarted {
        /// The position in the log.
        seq: u64,
        /// The line, if the shell reports it.
        line: Option<&'a str>,
    },
    /// The command has ended.
    CommandEnded {
        /// The position in the log.
        seq: u64,
        /// Its exit code, if the shell reports it.
        exit_code: Option<i32>,
    },
    /// The shell has changed its working directory.
    Directory {
        /// The position in the log.
        seq: u64,
        /// The directory.
        path: &'a str,
    },
}

impl ViewerEncoder {
    /// A notice, which is not an event of the log, as the JSON of an event.
    fn frame(&self, notice: &Notice) -> Vec<u8> {
        let event = match notice {
            Notice::Error(error) => return error_json(error),
            Notice::Attached(size) => TerminalEvent::Attached {
                execution_id: self.id,
                name: &self.name,
                rows: size.rows,
                cols: size.cols,
                read_only: self.read_only,
            },
            Notice::Resized(size) => TerminalEvent::Resized { rows: size.rows, cols: size.cols },
            Notice::Snapshot(head) => TerminalEvent::Snapshot {
                seq: head.seq,
                rows: head.size.rows,
                cols: head.size.cols,
                title: &head.title,
                bytes: head.bytes,
            },
            Notice::Mark(mark) => {
                let seq = mark.seq.0;
                match &mark.kind {
                    MarkKind::Prompt => TerminalEvent::Prompt { seq },
                    MarkKind::Command { line } => {
                        TerminalEvent::CommandStarted { seq, line: line.as_deref() }
                    }
                    MarkKind::Ended { exit_code } => {
                        TerminalEvent::CommandEnded { seq, exit_code: *exit_code }
                    }
                    MarkKind::Directory { path } => TerminalEvent::Directory { seq, path },
                }
            }
        };
        serde_json::to_vec(&event).unwrap_or_default()
    }
}
