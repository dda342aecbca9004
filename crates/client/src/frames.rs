//! Encoding and decoding the frames of an attachment; their kinds are in [`headwater_protocol::frames`].

use bytes::{Buf, BufMut, Bytes, BytesMut};
use headwater_protocol::api::read_event;
use headwater_protocol::frames::{CREDIT, EOF, EVENT, OUTPUT, RESIZE, SIGNAL, STDIN};
use headwater_protocol::{Event, Seq, Stream, TtySize};
use serde::Deserialize;

use crate::Result;
use crate::error::{ApiError, ClientError};

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerFrame {
    /// Output of the program.
    Output {
        /// The stream of the output.
        stream: Stream,
        /// The number of the event.
        seq: Seq,
        /// The output bytes.
        bytes: Bytes,
    },
    /// An event other than output.
    Event(Event),
    /// An error about a frame that was sent, or about the log.
    Error(Box<ApiError>),
    /// A kind that this client does not know.
    Unknown,
}

impl ServerFrame {
    pub(crate) fn read(mut frame: Bytes) -> Result<Self> {
        let short = |_| ClientError::malformed("a frame is too short");
        match frame.try_get_u8().map_err(short)? {
            OUTPUT => {
                let number = frame.try_get_u8().map_err(short)?;
                let seq = Seq(frame.try_get_u64_le().map_err(short)?);
                let unknown = || ClientError::Malformed(format!("stream {number} does not exist"));
                let stream = Stream::from_number(number).ok_or_else(unknown)?;
                Ok(Self::Output { stream, seq, bytes: frame })
            }
            EVENT => match read_event(&frame) {
                Ok(event) => Ok(Self::Event(event)),
                Err(error) => other(&frame).ok_or_else(|| ClientError::malformed(error)),
            },
            _ => Ok(Self::Unknown),
        }
    }
}

/// Parses JSON that is not an event of a log: an error, or a message of a newer server.
fn other(json: &[u8]) -> Option<ServerFrame> {
    #[derive(Deserialize)]
    struct Other {
        r#type: String,
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
        #[serde(default)]
        hint: String,
    }
    let Other { r#type, code, message, hint } = serde_json::from_slice(json).ok()?;
    match r#type.as_str() {
        "started" | "stdout" | "stderr" | "output" | "gap" | "exited" | "closed" => None,
        "error" => Some(ServerFrame::Error(Box::new(ApiError {
            status: 0,
            code,
            message,
            hint,
            request_id: String::new(),
            retry_after: None,
        }))),
        _ => Some(ServerFrame::Unknown),
    }
}

/// A frame from the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientFrame {
    /// Bytes for the program's input.
    Stdin(Bytes),
    /// The end of the input.
    Eof,
    /// A new size of the terminal.
    Resize(TtySize),
    /// A signal for the foreground process group.
    Signal(u8),
    /// How many more bytes of output the server may send.
    Credit(u32),
}

impl ClientFrame {
    pub(crate) fn write(&self) -> Bytes {
        let mut frame = BytesMut::new();
        match self {
            Self::Stdin(bytes) => {
                frame.reserve(bytes.len() + 1);
                frame.put_u8(STDIN);
                frame.put_slice(bytes);
            }
            Self::Eof => frame.put_u8(EOF),
            Self::Resize(size) => {
                frame.put_u8(RESIZE);
                frame.put_u16_le(size.rows);
                frame.put_u16_le(size.cols);
            }
            Self::Signal(number) => frame.put_slice(&[SIGNAL, *number]),
            Self::Credit(bytes) => {
                frame.put_u8(CREDIT);
                frame.put_u32_le(*bytes);
            }
        }
        frame.freeze()
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::EventKind;

    use super::*;

    #[test]
    fn frames_of_the_server_are_read_as_the_wire_says() {
        let output = Bytes::from_static(b"\x01\x02\x07\0\0\0\0\0\0\0hi");
        let expected = ServerFrame::Output { stream: Stream::Stderr, seq: Seq(7), bytes: "hi".into() };
        assert_eq!(ServerFrame::read(output).unwrap(), expected);
        let closed = Bytes::from_static(b"\x02{\"type\":\"closed\",\"seq\":9,\"at_ms\":5}");
        let expected = Event { seq: Seq(9), at_ms: 5, kind: EventKind::Closed };
        assert_eq!(ServerFrame::read(closed).unwrap(), ServerFrame::Event(expected));
        assert_eq!(ServerFrame::read(Bytes::from_static(b"\x7f...")).unwrap(), ServerFrame::Unknown);
        assert_eq!(
            ServerFrame::read(Bytes::from_static(b"\x02{\"type\":\"news\"}")).unwrap(),
            ServerFrame::Unknown
        );
        let error = Bytes::from_static(
            b"\x02{\"type\":\"error\",\"code\":\"conflict\",\"message\":\"no\",\"hint\":\"look\"}",
        );
        let ServerFrame::Error(error) = ServerFrame::read(error).unwrap() else { panic!("no error") };
        assert_eq!(
            (error.code.as_str(), error.message.as_str(), error.hint.as_str()),
            ("conflict", "no", "look")
        );
    }

    #[test]
    fn frames_that_are_cut_or_wrong_are_refused() {
        for frame in [
            &b""[..],
            b"\x01",
            b"\x01\x01\0\0\0",
            b"\x01\x09\0\0\0\0\0\0\0\0",
            b"\x02nonsense",
            b"\x02{\"type\":\"gap\"}",
        ] {
            assert!(ServerFrame::read(Bytes::from_static(frame)).is_err(), "{frame:?}");
        }
    }

    #[test]
    fn frames_of_the_client_are_written_as_the_wire_says() {
        for (frame, bytes) in [
            (ClientFrame::Stdin("ab".into()), &b"\x10ab"[..]),
            (ClientFrame::Eof, b"\x11"),
            (ClientFrame::Resize(TtySize { rows: 24, cols: 0x0150 }), b"\x12\x18\0\x50\x01"),
            (ClientFrame::Signal(15), b"\x13\x0f"),
            (ClientFrame::Credit(65_536), b"\x14\0\0\x01\0"),
        ] {
            assert_eq!(frame.write(), bytes, "{frame:?}");
        }
    }
}
