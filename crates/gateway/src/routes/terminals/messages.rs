//! The JSON messages of a terminal: those that front ends of an IDE speak.
//!
//! Client: `command` (its line and a return), `input` (keys as they are), `interrupt`, `resize`, `credit`.
//! Server: `output`, `error`, `prompt`, `exit`, `resized`.

use bytes::Bytes;
use headwater_protocol::TtySize;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Keys.
    Keys(Bytes),
    /// What `^C` does.
    Interrupt,
    /// The end of the input: what `^D` does.
    End,
    /// The viewer has this size.
    Resize(TtySize),
    /// A signal for the foreground group.
    Signal(i32),
    /// So many more bytes of output may be sent.
    Credit(u32),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Message {
    Command { command: Option<String>, data: Option<String> },
    Input { data: String },
    Interrupt {},
    Resize { rows: u16, cols: u16 },
    Credit { bytes: u32 },
}

const HINT: &str =
    r#"`{"type": "command", "command": "ls"}`, for one; `/docs` describes the others under `terminal`"#;

/// Reads a message.
pub(crate) fn parse(text: &str) -> Result<Wish, ApiError> {
    let message = serde_json::from_str(text).map_err(|error| {
        ApiError::invalid(format!("a text frame must be JSON with a known `type`: {error}")).hint(HINT)
    })?;
    Ok(match message {
        Message::Command { command: Some(line), data: None }
        | Message::Command { command: None, data: Some(line) } => Wish::Keys(typed(line)),
        Message::Command { .. } => {
            return Err(ApiError::invalid("`command` has either `command` or `data`").hint(HINT));
        }
        Message::Input { data } => Wish::Keys(data.into()),
        Message::Interrupt {} => Wish::Interrupt,
        Message::Resize { rows, cols } => Wish::Resize(TtySize { rows, cols }),
        Message::Credit { bytes } => Wish::Credit(bytes),
    })
}

/// A line as it is typed: Enter is a return, which the terminal makes the end of the line.
fn typed(mut line: String) -> Bytes {
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    line.push('\r');
    line.into()
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Told<'a> {
    /// What the terminal shows. `seq` is where to go on from after a break.
    Output { content: &'a str, seq: u64 },
    /// What was asked for cannot be done.
    Error { message: &'a str, code: &'a str, hint: &'a str },
    /// The shell waits for a command.
    Prompt,
    /// The shell has ended.
    Exit { code: i32 },
    /// The terminal has another size.
    Resized { rows: u16, cols: u16 },
}

impl Told<'_> {
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
        for (message, wish) in [
            (json!({"type": "command", "command": "ls -la"}), Wish::Keys("ls -la\r".into())),
            (json!({"type": "command", "data": "ls\n"}), Wish::Keys("ls\r".into())),
            (json!({"type": "command", "command": ""}), Wish::Keys("\r".into())),
            (json!({"type": "input", "data": "ec\t"}), Wish::Keys("ec\t".into())),
            (json!({"type": "interrupt"}), Wish::Interrupt),
            (json!({"type": "resize", "rows": 1, "cols": 2}), Wish::Resize(TtySize { rows: 1, cols: 2 })),
            (json!({"type": "credit", "bytes": 7}), Wish::Credit(7)),
        ] {
            assert_eq!(parse(&message.to_string()).unwrap(), wish, "{message}");
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
        for (told, expected) in [
            (
                Told::Output { content: "a\u{1b}", seq: 3 },
                json!({"type": "output", "content": "a\u{1b}", "seq": 3}),
            ),
            (Told::Prompt, json!({"type": "prompt"})),
            (Told::Exit { code: 3 }, json!({"type": "exit", "code": 3})),
        ] {
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&told.json()).unwrap(), expected);
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
