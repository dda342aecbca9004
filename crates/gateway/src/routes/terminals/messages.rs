//! The JSON messages of a terminal, as used by IDE front ends.
//!
//! Client: `command` (a line and Enter), and the messages of all sockets ([`TextCommand`]).
//! Server: `output`, `error`, `prompt`, `exit`, `resized`, `execution_ended`.
//!
//! [`TextCommand`]: crate::streams::socket::frames::TextCommand

use std::borrow::Cow;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, TtySize};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::replies::without_replies;
use crate::error::ApiError;
use crate::streams::socket::frames::{Command, parse_text};

/// A command of a viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ViewerCommand {
    /// Input bytes.
    Keys(Bytes),
    /// An interrupt, as by `^C`.
    Interrupt,
    /// The end of the input, as by `^D`.
    End,
    /// The viewer's window has this size.
    Resize(TtySize),
    /// A signal for the foreground process group.
    Signal(i32),
    /// Ends the shell and its programs.
    Cancel,
    /// The server may send this many more bytes of output.
    Credit(u32),
}

impl From<Command> for ViewerCommand {
    fn from(command: Command) -> Self {
        match command {
            Command::Stdin(keys) => Self::Keys(without_replies(&keys)),
            Command::Eof => Self::End,
            Command::Resize(size) => Self::Resize(size),
            Command::Signal(signal) => Self::Signal(signal),
            Command::Interrupt => Self::Interrupt,
            Command::Cancel => Self::Cancel,
            Command::Credit(bytes) => Self::Credit(bytes),
        }
    }
}

/// The message of a client that only terminals take.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum LineMessage {
    /// A line and Enter.
    Command {
        /// The line.
        command: Option<String>,
        /// Another name for `command`.
        data: Option<String>,
    },
}

const MESSAGE_HINT: &str =
    r#"for example `{"type": "command", "command": "ls"}`; `/docs` describes the others under `terminal`"#;

/// Only the type of a message.
#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

/// Parses a text message of a viewer.
pub(crate) fn parse(text: &str) -> Result<ViewerCommand, ApiError> {
    let is_line = serde_json::from_str::<Typed<'_>>(text).is_ok_and(|typed| typed.r#type == "command");
    if !is_line {
        return parse_text(text).map(Into::into).map_err(|error| ApiError::from(error).hint(MESSAGE_HINT));
    }
    let message = serde_json::from_str(text)
        .map_err(|error| ApiError::invalid(error.to_string()).hint(MESSAGE_HINT))?;
    match message {
        LineMessage::Command { command: Some(line), data: None }
        | LineMessage::Command { command: None, data: Some(line) } => Ok(ViewerCommand::Keys(typed(line))),
        LineMessage::Command { .. } => {
            Err(ApiError::invalid("`command` needs either `command` or `data`").hint(MESSAGE_HINT))
        }
    }
}

/// A line with the carriage return that Enter sends, which the terminal turns into the end of the line.
fn typed(mut line: String) -> Bytes {
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    line.push('\r');
    line.into()
}

/// The messages of a terminal, as editors expect them (`frames=json`).
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ServerMessage<'a> {
    /// Output of the terminal, or of an execution that the editor started in the session.
    Output {
        /// The output as text; bytes that are not UTF-8 are replaced. Lines end with `\r\n`.
        content: &'a str,
        /// The position in the terminal to continue after.
        seq: u64,
        /// The execution; absent for output of the terminal.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution_id: Option<ExecutionId>,
        /// The position in the execution, as in its events.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution_seq: Option<u64>,
        /// `stdout` or `stderr` of the execution.
        #[serde(skip_serializing_if = "Option::is_none")]
        stream: Option<&'static str>,
    },
    /// An execution that the editor started in the session has ended. Output of its children may follow.
    ExecutionEnded {
        /// The execution.
        execution_id: ExecutionId,
        /// The exit code, or 128 plus the signal; -1 if there is neither.
        code: i32,
        /// Why it ended, unless the program exited by itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
    /// A request of the viewer failed.
    Error {
        /// What is wrong.
        message: &'a str,
        /// The code.
        code: &'a str,
        /// What to do about it.
        hint: &'a str,
    },
    /// The shell is waiting for a command.
    Prompt,
    /// The shell has ended.
    Exit {
        /// The exit code, or 128 plus the signal.
        code: i32,
    },
    /// The terminal was resized.
    Resized {
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
    },
}

impl ServerMessage<'_> {
    /// Output of the terminal.
    pub(crate) const fn output(content: &str, seq: u64) -> ServerMessage<'_> {
        ServerMessage::Output { content, seq, execution_id: None, execution_seq: None, stream: None }
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_message_is_understood() {
        for (message, command) in [
            (json!({"type": "command", "command": "ls -la"}), ViewerCommand::Keys("ls -la\r".into())),
            (json!({"type": "command", "data": "ls\n"}), ViewerCommand::Keys("ls\r".into())),
            (json!({"type": "command", "command": ""}), ViewerCommand::Keys("\r".into())),
            (json!({"type": "input", "data": "ec\t"}), ViewerCommand::Keys("ec\t".into())),
            (json!({"type": "stdin", "base64": "bHM="}), ViewerCommand::Keys("ls".into())),
            (json!({"type": "eof"}), ViewerCommand::End),
            (json!({"type": "signal", "signal": "TERM"}), ViewerCommand::Signal(15)),
            (json!({"type": "cancel"}), ViewerCommand::Cancel),
            (json!({"type": "interrupt"}), ViewerCommand::Interrupt),
            (
                json!({"type": "resize", "rows": 1, "cols": 2}),
                ViewerCommand::Resize(TtySize { rows: 1, cols: 2 }),
            ),
            (json!({"type": "credit", "bytes": 7}), ViewerCommand::Credit(7)),
        ] {
            assert_eq!(parse(&message.to_string()).unwrap(), command, "{message}");
        }
    }

    #[test]
    fn an_invalid_message_is_refused_with_a_hint() {
        for text in [
            "",
            "[]",
            "{}",
            "ls",
            r#"{"type":"odd"}"#,
            r#"{"type":"command"}"#,
            r#"{"type":"command","command":1}"#,
            r#"{"type":"command","command":"a","data":"b"}"#,
            r#"{"type":"resize","rows":-1,"cols":5}"#,
            r#"{"type":"resize","rows":70000,"cols":5}"#,
            r#"{"type":"interrupt","more":1}"#,
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.status == 400 && !error.hint.is_empty(), "{text}");
        }
    }

    #[test]
    fn the_server_speaks_as_front_ends_expect() {
        let id = ExecutionId::random();
        for (message, expected) in [
            (ServerMessage::output("a\u{1b}", 3), json!({"type": "output", "content": "a\u{1b}", "seq": 3})),
            (
                ServerMessage::Output {
                    content: "a",
                    seq: 3,
                    execution_id: Some(id),
                    execution_seq: Some(2),
                    stream: Some("stdout"),
                },
                json!({"type": "output", "content": "a", "seq": 3, "execution_id": id.to_string(),
                    "execution_seq": 2, "stream": "stdout"}),
            ),
            (
                ServerMessage::ExecutionEnded { execution_id: id, code: 137, message: Some("it was killed") },
                json!({"type": "execution_ended", "execution_id": id.to_string(), "code": 137,
                    "message": "it was killed"}),
            ),
            (ServerMessage::Prompt, json!({"type": "prompt"})),
            (ServerMessage::Exit { code: 3 }, json!({"type": "exit", "code": 3})),
        ] {
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&message.json()).unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = parse(&text);
            let _ = parse(&format!("{{\"type\":\"command\",\"command\":{text:?}}}"));
        }
    }
}
