//! Events as SSE. Nothing that a program prints can look like an event: its bytes are inside one line of JSON, which
//! has no line's end in it, or inside base64.

use std::io::Write;

use headwater_protocol::api::write_event;
use headwater_protocol::{Event, EventKind, Seq};

/// How long a client waits before it comes back.
pub(super) const RETRY: &[u8] = b"retry: 1000\n\n";
/// A comment that says that the stream lives.
pub(super) const HEARTBEAT: &[u8] = b": hb\n\n";
/// Room for what surrounds the bytes of an event.
const AROUND: usize = 256;

/// Appends an event.
pub(super) fn write_frame(event: &Event, out: &mut Vec<u8>) {
    let bytes = match &event.kind {
        EventKind::Output { bytes, .. } => bytes.len(),
        _ => 0,
    };
    // What is escaped takes more: of text about one byte in sixty is a line's end.
    out.reserve(bytes + bytes / 16 + AROUND);
    // Writing to memory does not fail.
    let _ = write!(out, "id: {}\nevent: {}\ndata: ", event.seq, event.kind.name());
    write_event(event, out);
    out.extend_from_slice(b"\n\n");
}

/// Appends the word that the client shall come back: without an `id`, which would move its position.
pub(super) fn write_reconnect(after: Seq, out: &mut Vec<u8>) {
    let _ = write!(out, "event: reconnect\ndata: {{\"after\":{after}}}\n\n");
}

/// Appends why the stream ends here.
pub(super) fn write_error(json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: error\ndata: ");
    out.extend_from_slice(json);
    out.extend_from_slice(b"\n\n");
}
