//! The first output of a program is sent at once on every kind of stream, however long later output is held back.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, SseStream, TestServer};
use serde_json::{Value, json};

/// Output is held back for 10 s (the most that can be asked for). The first output must come before that.
const HOLD: &str = "batch_ms=10000&batch_bytes=1048576";
const BEFORE_THE_HOLD_ENDS: Duration = Duration::from_secs(9);
/// How long a stream is watched that must show nothing. What is sent at once is there already.
const NOTHING_ARRIVES: Duration = Duration::from_millis(50);
/// How often a stream is tried: a machine that is so busy that a hold passes meanwhile shows nothing.
const ATTEMPTS: usize = 5;

/// Prints `first`, and then each line of its input.
fn program() -> Value {
    json!({ "shell": "echo first; exec cat", "stdin": "open", "metadata": {
        "conversation_id": "talk", "tool_call_id": "call" } })
}

/// The output in an event of any dialect.
fn printed(event: &Value) -> String {
    let progress = &event["progress"];
    if progress["type"] == "stdout" {
        return text(&progress["content"]);
    }
    let event = event.get("payload").unwrap_or(event);
    ["text", "stdout"].iter().map(|key| text(&event[*key])).collect()
}

async fn next_output(stream: &mut SseStream) -> Result<String> {
    loop {
        let event = stream.next().await?.context("the stream ended")?.json()?;
        let printed = printed(&event);
        if !printed.is_empty() {
            return Ok(printed);
        }
    }
}

async fn type_line(asker: &Api, id: &str, line: &str) -> Result<()> {
    let path = format!("/v1/executions/{id}/stdin");
    json_of(&asker.request("POST", &path, &[], format!("{line}\n").as_bytes()).await?, 204)?;
    asker.until_printed(id, line).await
}

#[tokio::test]
async fn the_first_output_is_sent_at_once_on_every_stream_and_later_output_is_held_back() -> Result<()> {
    let server = TestServer::small().await?;
    let asker = server.api();
    let session = asker.session(&json!({})).await?;
    for path in [
        format!("/v1/executions/ID/events?{HOLD}"),
        format!("/v1/sessions/{session}/events?after=now&{HOLD}"),
        format!("/v1/sessions/{session}/events?after=now&dialect=tool_calls&{HOLD}"),
        format!("/v1/conversations/talk/events?after=now&dialect=tool_progress&{HOLD}"),
        format!("/tool-progress/talk?after=now&{HOLD}"),
    ] {
        let mut shown = false;
        for _ in 0..ATTEMPTS {
            // A feed is opened before the program starts: it shows the program's `started` too.
            let mut feed = None;
            if !path.contains("ID") {
                feed = Some(asker.stream(&path).await?);
            }
            let id = asker.start(&session, &program()).await?;
            let mut stream = match feed {
                Some(feed) => feed,
                None => asker.stream(&path.replace("ID", &id)).await?,
            };
            shown = check(&asker, &id, &path, &mut stream).await?;
            if shown {
                break;
            }
        }
        assert!(shown, "output was held back each time: {path}");
    }
    Ok(())
}

/// Reads the first output while the program waits for input; then two lines, which must come after the hold or with the
/// end, as one event or two. False: a hold has passed in between.
async fn check(asker: &Api, id: &str, path: &str, stream: &mut SseStream) -> Result<bool> {
    // It is in the log: from here on only a hold delays it.
    asker.until_printed(id, "first").await?;
    let Ok(first) = tokio::time::timeout(BEFORE_THE_HOLD_ENDS, next_output(stream)).await else {
        asker.cancel(id).await?;
        asker.closed(id).await?;
        return Ok(false);
    };
    assert_eq!(first?, "first\n", "{path}");
    let typed = Instant::now();
    type_line(asker, id, "second").await?;
    type_line(asker, id, "third").await?;
    let early = tokio::time::timeout(NOTHING_ARRIVES, next_output(stream)).await;
    let in_time = typed.elapsed() < BEFORE_THE_HOLD_ENDS;
    asker.end_input(id, b"").await?;
    let mut later = match early {
        Ok(early) if in_time => anyhow::bail!("later output is held back: {path}: {:?}", early?),
        Ok(early) => early?,
        Err(_) => String::new(),
    };
    while later.len() < "second\nthird\n".len() {
        later += &next_output(stream).await?;
    }
    asker.closed(id).await?;
    assert_eq!(later, "second\nthird\n", "{path}");
    Ok(in_time)
}

#[tokio::test]
async fn the_first_output_is_sent_at_once_by_the_request_that_starts_it() -> Result<()> {
    let server = TestServer::small().await?;
    let asker = server.api();
    let path = format!("/v1/executions?{HOLD}");
    for _ in 0..ATTEMPTS {
        let mut stream = asker.post_stream(&path, &program()).await?;
        let started = stream.next().await?.context("no start")?.json()?;
        if check(&asker, &text(&started["execution_id"]), &path, &mut stream).await? {
            return Ok(());
        }
    }
    anyhow::bail!("output was held back each time: {path}")
}
