//! The JSON messages of a terminal, as used by IDE front ends.
//!
//! Client: `command` (a line and Enter), `input` (raw keys), `interrupt`, `resize`, `credit`.
//! Server: `output`, `error`, `prompt`, `exit`, `resized`.

use bytes::Bytes;
use headwater_protocol::TtySize;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;

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
    /// The server may send this many more bytes of output.
    Credit(u32),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum ClientMessage {
    Command { command: Option<String>, data: Option<String> },
    Input { data: String },
    Interrupt {},
    Resize { rows: u16, cols: u16 },
    Credit { bytes: u32 },
}

const MESSAGE_HINT: &str =
    r#"for example `{"type": "command", "command": "ls"}`; `/docs` describes the others under `terminal`"#;

/// Parses a text message of a viewer.
pub(crate) fn parse(text: &str) -> Result<ViewerCommand, ApiError> {
    let message = serde_json::from_str(text).map_err(|error| {
        ApiError::invalid(format!("a text frame must be JSON with a known `type`: {error}"))
            .hint(MESSAGE_HINT)
    })?;
    Ok(match message {
        ClientMessage::Command { command: Some(line), data: None }
        | ClientMessage::Command { command: None, data: Some(line) } => ViewerCommand::Keys(typed(line)),
        ClientMessage::Command { .. } => {
            return Err(ApiError::invalid("`command` needs either `command` or `data`").hint(MESSAGE_HINT));
        }
        ClientMessage::Input { data } => ViewerCommand::Keys(data.into()),
        ClientMessage::Interrupt {} => ViewerCommand::Interrupt,
        ClientMessage::Resize { rows, cols } => ViewerCommand::Resize(TtySize { rows, cols }),
        ClientMessage::Credit { bytes } => ViewerCommand::Credit(bytes),
    })
}

/// A line with the carriage return that Enter sends, which the terminal turns into the end of the line.
fn typed(mut line: String) -> Bytes {
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    line.push('\r');
    line.into()
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ServerMessage<'a> {
    /// Output of the terminal. `seq` is the position to continue after.
    Output { content: &'a str, seq: u64 },
    /// A request of the viewer failed.
    Error { message: &'a str, code: &'a str, hint: &'a str },
    /// The shell is waiting for a command.
    Prompt,
    /// The shell has ended.
    Exit { code: i32 },
    /// The terminal was resized.
    Resized { rows: u16, cols: u16 },
}

impl ServerMessage<'_> {
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
        for (message, expected) in [
            (
                ServerMessage::Output { content: "a\u{1b}", seq: 3 },
                json!({"type": "output", "content": "a\u{1b}", "seq": 3}),
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
