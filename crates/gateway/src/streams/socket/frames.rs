//! Frames of the WebSocket; their kinds are in [`headwater_protocol::frames`].
//!
//! The type of a client's message decides how it is parsed: binary messages are binary frames, text messages
//! are JSON, in both modes. The mode only applies to the server's frames.

use axum::extract::ws::{Message, Utf8Bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use headwater_protocol::api::{RequestError, SignalName, write_event};
use headwater_protocol::frames::{CREDIT, EOF, EVENT, OUTPUT, RESIZE, SIGNAL, STDIN};
use headwater_protocol::{Event, EventKind, Seq, Stream, TtySize};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::ApiError;

/// A command of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Input for the program.
    Stdin(Bytes),
    /// The end of the input.
    Eof,
    /// The terminal's new size.
    Resize(TtySize),
    /// A signal for the foreground process group.
    Signal(i32),
    /// An interrupt, as by `^C`.
    Interrupt,
    /// SIGTERM, the grace period, SIGKILL.
    Cancel,
    /// The server may send this many more bytes of output.
    Credit(u32),
}

/// Why a frame is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame must have at least one byte, its kind")]
    Empty,
    #[error("unknown kind of frame `{0:#04x}`")]
    UnknownKind(u8),
    #[error("a frame of kind `{0:#04x}` must have `{2}` bytes after its kind, not `{1}`")]
    WrongLength(u8, usize, usize),
    #[error(transparent)]
    Signal(#[from] RequestError),
    #[error("a text frame must be JSON with a known `type`: {0}")]
    Json(#[from] serde_json::Error),
    #[error("`base64` is not valid base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("`stdin` needs either `text` or `base64`")]
    NoInput,
}

impl From<FrameError> for ApiError {
    fn from(error: FrameError) -> Self {
        Self::invalid(error.to_string()).hint("`/docs` describes the frames under `attach`")
    }
}

/// Parses a binary frame.
pub(crate) fn parse_binary(frame: &Bytes) -> Result<Command, FrameError> {
    let (kind, rest) = frame.split_first().ok_or(FrameError::Empty)?;
    let exactly = |length: usize| {
        if rest.len() == length { Ok(()) } else { Err(FrameError::WrongLength(*kind, rest.len(), length)) }
    };
    match (*kind, rest) {
        (STDIN, _) => Ok(Command::Stdin(frame.slice(1..))),
        (EOF, _) => exactly(0).map(|()| Command::Eof),
        (RESIZE, [a, b, c, d]) => {
            let (rows, cols) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
            Ok(Command::Resize(TtySize { rows, cols }))
        }
        (SIGNAL, [number]) => Ok(Command::Signal(SignalName::Number((*number).into()).number()?)),
        (CREDIT, [a, b, c, d]) => Ok(Command::Credit(u32::from_le_bytes([*a, *b, *c, *d]))),
        (RESIZE | CREDIT, _) => Err(FrameError::WrongLength(*kind, rest.len(), 4)),
        (SIGNAL, _) => Err(FrameError::WrongLength(*kind, rest.len(), 1)),
        (kind, _) => Err(FrameError::UnknownKind(kind)),
    }
}

/// The messages of a client, as text frames. Both sockets take them, in every format of the server's frames.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TextCommand {
    /// Input: either text or bytes in base64. On a terminal, the keys as they are.
    Stdin {
        /// The input, if it is text.
        text: Option<String>,
        /// The input in base64.
        base64: Option<String>,
    },
    /// The same as `stdin` with text.
    Input {
        /// The input.
        data: String,
    },
    /// The end of the input; on a terminal, `^D`.
    Eof {},
    /// A new size of the terminal, or of the viewer's window.
    Resize {
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
    },
    /// A signal for the foreground process group.
    Signal {
        /// Its name or number.
        signal: SignalName,
    },
    /// The same as `^C`: SIGINT for the foreground process group.
    Interrupt {},
    /// Cancels the execution: SIGTERM, and SIGKILL after the grace period.
    Cancel {},
    /// The server may send this many more bytes of output.
    Credit {
        /// Bytes.
        bytes: u32,
    },
}

/// Parses a JSON frame.
pub(crate) fn parse_text(frame: &str) -> Result<Command, FrameError> {
    Ok(match serde_json::from_str(frame)? {
        TextCommand::Stdin { text: Some(text), base64: None } => Command::Stdin(text.into()),
        TextCommand::Stdin { text: None, base64: Some(text) } => {
            Command::Stdin(STANDARD.decode(text)?.into())
        }
        TextCommand::Stdin { .. } => return Err(FrameError::NoInput),
        TextCommand::Input { data } => Command::Stdin(data.into()),
        TextCommand::Eof {} => Command::Eof,
        TextCommand::Resize { rows, cols } => Command::Resize(TtySize { rows, cols }),
        TextCommand::Signal { signal } => Command::Signal(signal.number()?),
        TextCommand::Interrupt {} => Command::Interrupt,
        TextCommand::Cancel {} => Command::Cancel,
        TextCommand::Credit { bytes } => Command::Credit(bytes),
    })
}

/// JSON as a text frame.
pub(crate) fn text(json: Vec<u8>) -> Message {
    // JSON is UTF-8.
    Message::Text(Utf8Bytes::try_from(Bytes::from(json)).unwrap_or_default())
}

/// An event as a binary frame: output has its own kind, the rest is JSON.
pub(crate) fn binary_event(event: &Event) -> Bytes {
    if let EventKind::Output { stream, bytes, .. } = &event.kind {
        return binary_output(*stream, event.seq, bytes);
    }
    let mut frame = vec![EVENT];
    write_event(event, &mut frame);
    frame.into()
}

fn binary_output(stream: Stream, seq: Seq, bytes: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(10 + bytes.len());
    frame.put_u8(OUTPUT);
    frame.put_u8(stream as u8);
    frame.put_u64_le(seq.0);
    frame.put_slice(bytes);
    frame.freeze()
}

/// An error, as an event: a request of the client failed. The socket stays open.
#[derive(Serialize)]
struct ErrorEvent<'a> {
    r#type: &'static str,
    code: &'static str,
    message: &'a str,
    hint: &'a str,
}

/// An error as the JSON of an event.
pub(crate) fn error_json(error: &ApiError) -> Vec<u8> {
    let event =
        ErrorEvent { r#type: "error", code: error.code.name(), message: &error.message, hint: &error.hint };
    serde_json::to_vec(&event).unwrap_or_default()
}

/// JSON as a binary frame.
pub(crate) fn binary_json(json: &[u8]) -> Bytes {
    [&[EVENT], json].concat().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn binary(frame: &[u8]) -> Result<Command, FrameError> {
        parse_binary(&Bytes::copy_from_slice(frame))
    }

    #[test]
    fn every_binary_frame_of_the_wire_is_understood() {
        for (frame, command) in [
            (&b"\x10hi\0"[..], Command::Stdin("hi\0".into())),
            (b"\x10", Command::Stdin(Bytes::new())),
            (b"\x11", Command::Eof),
            (b"\x12\x18\x00\x50\x01", Command::Resize(TtySize { rows: 24, cols: 0x150 })),
            (b"\x13\x02", Command::Signal(2)),
            (b"\x14\x00\x00\x01\x00", Command::Credit(65536)),
        ] {
            assert_eq!(binary(frame).unwrap(), command, "{frame:?}");
        }
    }

    #[test]
    fn every_text_frame_is_understood() {
        for (frame, command) in [
            (json!({"type": "stdin", "text": "hé"}), Command::Stdin("hé".into())),
            (json!({"type": "stdin", "base64": "AP8="}), Command::Stdin(Bytes::from_static(&[0, 255]))),
            (json!({"type": "eof"}), Command::Eof),
            (json!({"type": "resize", "rows": 1, "cols": 2}), Command::Resize(TtySize { rows: 1, cols: 2 })),
            (json!({"type": "signal", "signal": "SIGINT"}), Command::Signal(2)),
            (json!({"type": "signal", "signal": 9}), Command::Signal(9)),
            (json!({"type": "credit", "bytes": 7}), Command::Credit(7)),
            (json!({"type": "cancel"}), Command::Cancel),
            (json!({"type": "input", "data": "ec\t"}), Command::Stdin("ec\t".into())),
            (json!({"type": "interrupt"}), Command::Interrupt),
        ] {
            assert_eq!(parse_text(&frame.to_string()).unwrap(), command, "{frame}");
        }
    }

    #[test]
    fn an_invalid_frame_is_refused_by_name() {
        for frame in [
            &b""[..],
            b"\x11x",
            b"\x12\x01",
            b"\x13",
            b"\x13\x00",
            b"\x13\x41",
            b"\x14\x01\x02",
            b"\x01",
            b"\xff",
        ] {
            assert!(binary(frame).is_err(), "{frame:?}");
        }
        for frame in [
            "",
            "{}",
            "[]",
            r#"{"type":"odd"}"#,
            r#"{"type":"stdin"}"#,
            r#"{"type":"stdin","text":"a","base64":"YQ=="}"#,
            r#"{"type":"stdin","base64":"?"}"#,
            r#"{"type":"resize","rows":1}"#,
            r#"{"type":"signal","signal":"NOPE"}"#,
            r#"{"type":"eof","more":1}"#,
            r#"{"type":"interrupt","more":1}"#,
            r#"{"type":"resize","rows":-1,"cols":5}"#,
            r#"{"type":"resize","rows":70000,"cols":5}"#,
            r#"{"type":"credit","bytes":-1}"#,
        ] {
            assert!(parse_text(frame).is_err(), "{frame}");
        }
        let error = ApiError::from(binary(b"\x99").unwrap_err());
        let json: Value = serde_json::from_slice(&error_json(&error)).unwrap();
        assert_eq!((&json["type"], &json["code"]), (&json!("error"), &json!("invalid_request")));
        assert!(json["message"].as_str().unwrap().contains("0x99"));
    }

    #[test]
    fn output_has_its_stream_and_seq_before_its_bytes() {
        let kind = EventKind::Output { stream: Stream::Stderr, offset: 9, bytes: Bytes::from_static(b"abc") };
        let frame = binary_event(&Event { seq: Seq(0x0102), at_ms: 1, kind });
        assert_eq!(&frame[..], b"\x01\x02\x02\x01\x00\x00\x00\x00\x00\x00abc");
        let closed = binary_event(&Event { seq: Seq(5), at_ms: 1, kind: EventKind::Closed });
        assert_eq!(closed[0], 0x02);
        let json: Value = serde_json::from_slice(&closed[1..]).unwrap();
        assert_eq!(json, json!({"type": "closed", "seq": 5, "at_ms": 1}));
    }

    proptest! {
        #[test]
        fn no_bytes_and_no_text_make_it_panic(bytes in any::<Vec<u8>>(), text in "\\PC*") {
            let _ = binary(&bytes);
            let _ = parse_text(&text);
            let _ = parse_text(&format!("{{\"type\":\"stdin\",\"base64\":{text:?}}}"));
        }

        #[test]
        fn input_is_passed_on_byte_for_byte(bytes in any::<Vec<u8>>()) {
            let frame = [&[STDIN], &bytes[..]].concat();
            prop_assert_eq!(binary(&frame).unwrap(), Command::Stdin(bytes.clone().into()));
            let json = json!({"type": "stdin", "base64": STANDARD.encode(&bytes)}).to_string();
            prop_assert_eq!(parse_text(&json).unwrap(), Command::Stdin(bytes.into()));
        }
    }
}
