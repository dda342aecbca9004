//! Reads the events of a log from a stream.

use anyhow::{Context, Result, ensure};
use headwater_protocol::api::read_event;
use headwater_protocol::{Event, EventKind, Stream};
use headwater_tests::{Api, SseEvent, SseStream};
use serde_json::json;

/// Runs a one-shot shell line until its log is closed; its id.
pub(crate) async fn finished(api: &Api, shell: &str) -> Result<String> {
    let id = api.one_shot(&json!({ "shell": shell })).await?;
    api.closed(&id).await?;
    Ok(id)
}

/// All events to the end of the stream. The `id:` and `event:` of each must match its data.
pub(crate) async fn events(stream: &mut SseStream) -> Result<Vec<Event>> {
    let mut all = Vec::new();
    while let Some(sse) = stream.next().await? {
        all.push(event(&sse)?);
    }
    Ok(all)
}

/// The event of the log in a server-sent event.
pub(crate) fn event(sse: &SseEvent) -> Result<Event> {
    let event = read_event(sse.data.as_bytes()).with_context(|| format!("{sse:?}"))?;
    ensure!(sse.id == Some(event.seq.to_string()), "{sse:?}");
    ensure!(sse.event.as_deref() == Some(event.kind.name()), "{sse:?}");
    Ok(event)
}

/// The bytes of a stream in these events, which must be contiguous.
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
