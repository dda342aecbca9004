//! What the tests of streams share: starting something, and asking for its output.

use anyhow::{Context, Result, ensure};
use headwater_protocol::api::read_event;
use headwater_protocol::{Event, EventKind, Stream};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{SseEvent, SseStream, TestServer};
use serde_json::Value;

/// Starts something by itself; its id.
pub(crate) async fn start(server: &TestServer, body: &Value) -> Result<String> {
    let answer = ask(server, "POST", "/v1/executions", &[], &body.to_string()).await?;
    ensure!(answer.status == 201, "{}: {}", answer.status, answer.text());
    Ok(answer.json()?["id"].as_str().context("no id")?.to_owned())
}

/// Starts a shell line and waits until all of it is over.
pub(crate) async fn finished(server: &TestServer, shell: &str) -> Result<String> {
    let id = start(server, &serde_json::json!({ "shell": shell })).await?;
    follow(server, &id, "").await?.rest().await?;
    Ok(id)
}

/// Asks with the first token.
pub(crate) async fn ask(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Raw> {
    let bearer = format!("Bearer {}", server.token());
    let mut all = vec![("Authorization", bearer.as_str())];
    if !body.is_empty() {
        all.push(("Content-Type", "application/json"));
    }
    all.extend_from_slice(headers);
    if method == "HEAD" {
        return raw::head(server.address(), method, path, &all, b"").await;
    }
    raw::request(server.address(), method, path, &all, body.as_bytes()).await
}

/// Follows an execution's events.
pub(crate) async fn follow(server: &TestServer, id: &str, query: &str) -> Result<SseStream> {
    SseStream::open(server, &format!("/v1/executions/{id}/events?{query}"), &[], "").await
}

/// All events to the end of the stream, each with the `id:` and `event:` that it must have.
pub(crate) async fn events(stream: &mut SseStream) -> Result<Vec<Event>> {
    let mut all = Vec::new();
    while let Some(sse) = stream.next().await? {
        all.push(event(&sse)?);
    }
    Ok(all)
}

/// An event of the log.
pub(crate) fn event(sse: &SseEvent) -> Result<Event> {
    let event = read_event(sse.data.as_bytes()).with_context(|| format!("{sse:?}"))?;
    ensure!(sse.id == Some(event.seq.to_string()), "{sse:?}");
    ensure!(sse.event.as_deref() == Some(event.kind.name()), "{sse:?}");
    Ok(event)
}

/// The bytes of a stream in these events, which must follow one another.
pub(crate) fn output(events: &[Event], wanted: Stream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut next = None;
    for event in events {
        if let EventKind::Output { stream, offset, bytes } = &event.kind
            && *stream == wanted
        {
            assert_eq!(*offset, next.unwrap_or(*offset), "output follows on output");
            next = Some(offset + bytes.len() as u64);
            all.extend_from_slice(bytes);
        }
    }
    all
}

/// The types of events.
pub(crate) fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.name()).collect()
}
