//! Tasks of protocol version 2025-11-25 over HTTP, as [`crate::legacy`] does over stdio.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::Body;
use crate::legacy;

const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The line of an event that has its data.
const DATA: &str = "data: ";

/// The request, with methods of that version renamed.
pub(super) fn translated(request: Request<Bytes>) -> Result<Request<Bytes>, String> {
    let has_tasks = |headers: &HeaderMap| {
        headers.get(PROTOCOL_VERSION).is_some_and(|version| version.as_bytes() == legacy::VERSION.as_bytes())
    };
    if !has_tasks(request.headers()) || request.body().is_empty() {
        return Ok(request);
    }
    let mut message: Value =
        serde_json::from_slice(request.body()).map_err(|error| format!("invalid JSON: {error}"))?;
    if !legacy::rename(&mut message) {
        return Ok(request);
    }
    Ok(request.map(|_| Bytes::from(message.to_string())))
}

/// The response to a handshake, with what a client of that version must know.
pub(super) async fn with_capability(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    // One event or one object: the response to a handshake is short and complete.
    let Ok(collected) = body.collect().await;
    let bytes = collected.to_bytes();
    let changed = String::from_utf8(bytes.to_vec()).ok().and_then(|text| changed(&text));
    if changed.is_some() {
        parts.headers.remove(header::CONTENT_LENGTH);
    }
    Response::from_parts(parts, Full::new(changed.map_or(bytes, Bytes::from)).boxed())
}

/// The text with the answer changed, if there is something to change.
fn changed(text: &str) -> Option<String> {
    let mut has_changed = false;
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let data = line.strip_prefix(DATA).unwrap_or(line);
            let Ok(mut message) = serde_json::from_str::<Value>(data) else { return line.to_owned() };
            if !legacy::add_capability(&mut message) {
                return line.to_owned();
            }
            has_changed = true;
            format!("{}{message}", if line.len() == data.len() { "" } else { DATA })
        })
        .collect();
    has_changed.then(|| lines.join("\n") + "\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_handshake_names_tasks_only_in_the_version_that_has_them() {
        let answer = |version: &str| {
            let result = format!(r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#);
            format!("data: \nid: 0\nretry: 3000\n\ndata: {{\"id\":1,\"result\":{result}}}\n\n")
        };
        let with = changed(&answer("2025-11-25")).unwrap();
        assert!(
            with.starts_with("data: \nid: 0\nretry: 3000\n\ndata: {") && with.contains("\"tasks\""),
            "{with}"
        );
        assert_eq!(changed(&answer("2025-06-18")), None);
    }
}
