//! The log of a conversation: pages, streams, resuming.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures_util::future::{join_all, try_join_all};
use headwater_protocol::conversation::{Conversation, ConversationEvent, LogEntry};
use headwater_tests::host::contains;
use headwater_tests::http::{error_code, json_of};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::chat::{Chat, Talk, runs};
use super::readers::Reader;

/// A conversation with text, reasoning and a tool call.
async fn talked(chat: &Chat) -> Result<Talk> {
    let talk = chat.talk(&json!({"title": "Log"})).await?;
    talk.ask("go").await?;
    Ok(talk)
}

fn is_delta(event: &ConversationEvent) -> bool {
    matches!(event, ConversationEvent::TextDelta { .. } | ConversationEvent::ToolCallDelta { .. })
}

fn script() -> Value {
    json!([
        {"reasoning": "I think about it.", "text": "I run it.", "delta_chars": 3,
         "tool_calls": runs("echo one; echo two >&2")["tool_calls"]},
        {"text": "It printed two lines: äöü €.", "delta_chars": 2},
    ])
}

#[tokio::test]
async fn pages_of_any_size_are_the_whole_log() -> Result<()> {
    let chat = Chat::new(&script()).await?;
    let talk = talked(&chat).await?;
    let all = talk.log().await?;
    ensure!(all.windows(2).all(|two| two[0].seq < two[1].seq));
    for limit in [1, 2, 7, 1000] {
        let (mut paged, mut after) = (Vec::new(), 0);
        loop {
            let page = json_of(&talk.get(&format!("/log?after={after}&limit={limit}")).await?, 200)?;
            let items: Vec<LogEntry> = serde_json::from_value(page["items"].clone())?;
            ensure!(items.len() <= limit);
            paged.extend(items);
            match page["next_after"].as_u64() {
                Some(next) => after = next,
                None => break,
            }
        }
        ensure!(paged == all, "{limit}");
    }
    let last = all.last().context("no events")?.seq;
    ensure!(json_of(&talk.get(&format!("/log?after={last}")).await?, 200)? == json!({"items": []}));
    for accept in ["application/json", "text/event-stream"] {
        let ask = async |query: &str, headers: &[(&str, &str)]| {
            let headers = [&[("Accept", accept)], headers].concat();
            talk.api.request("GET", &talk.path(&format!("/log{query}")), &headers, b"").await
        };
        let answer = ask(&format!("?after={}", last + 1), &[]).await?;
        ensure!(error_code(&answer, 400)? == "after_past_end");
        for query in ["?limit=0", "?limit=1001", "?after=-1", "?after=x", "?odd=1"] {
            ensure!(error_code(&ask(query, &[]).await?, 400)? == "invalid_request", "{query}");
        }
        ensure!(error_code(&ask("", &[("Last-Event-ID", "x")]).await?, 400)? == "invalid_request");
    }
    // What an ended text has replaced is removed.
    ensure!(!all.iter().any(|entry| is_delta(&entry.event)));
    Ok(())
}

#[tokio::test]
async fn a_stream_resumed_after_any_event_has_every_later_event_once() -> Result<()> {
    let chat = Chat::new(&script()).await?;
    let talk = talked(&chat).await?;
    let all = talk.log().await?;
    let last = all.last().context("no events")?.seq;
    let tail = async |after: u64| -> Result<()> {
        let mut stream = talk.api.resume(&talk.path("/log"), &after.to_string()).await?;
        let mut got = Vec::new();
        while got.last().is_none_or(|entry: &LogEntry| entry.seq < last) {
            got.push(serde_json::from_value(stream.json().await?)?);
        }
        ensure!(got.windows(2).all(|two| two[0].seq < two[1].seq), "after {after}: {got:?}");
        // Deltas that the end of their text has replaced may be there for a while.
        got.retain(|entry| !is_delta(&entry.event));
        let expected: Vec<_> = all.iter().filter(|entry| entry.seq > after).cloned().collect();
        ensure!(got == expected, "after {after}: {got:?}");
        Ok(())
    };
    // Also after numbers of removed deltas.
    try_join_all((0..last).map(tail)).await?;
    Ok(())
}

#[tokio::test]
async fn many_readers_that_reconnect_anywhere_see_the_same_conversation_as_it_is_stored() -> Result<()> {
    let text = "word and {{hold}}another ".repeat(6);
    let turns = json!([{"text": text}, {"text": "unused"}]);
    let chat = Chat::new(&turns).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.say("go").await?;
    // Each reader leaves after a number of events of its own, and comes back.
    let readers = (1..=6).map(|pace| {
        let mut reader = Reader::new(&talk);
        async move {
            while reader.folded.turn.is_none() || reader.folded.running().is_some() {
                let goal = reader.folded.last_seq + pace;
                reader.until(|now| now.last_seq >= goal || is_over(now)).await?;
            }
            Ok::<_, anyhow::Error>(reader)
        }
    });
    let releases = async {
        for _ in 0..6 {
            chat.model.release().await;
        }
    };
    let (readers, ()) = tokio::join!(join_all(readers), releases);
    let stored = talk.folded().await?;
    // More than any reader takes at once. How many deltas there are depends on the time that appends take.
    ensure!(stored.last_seq > 6, "{}", stored.last_seq);
    for reader in readers {
        let reader = reader?;
        ensure!(reader.folded == stored, "{:#?}", reader.folded);
        ensure!(reader.connections > 1, "it reconnected");
    }
    Ok(())
}

fn is_over(now: &Conversation) -> bool {
    now.turn.is_some() && now.running().is_none()
}

#[tokio::test]
async fn a_reader_that_does_not_read_delays_nobody_and_has_everything_later() -> Result<()> {
    let turns = json!([{"text": "0123456789abcde ".repeat(150_000), "delta_chars": 4_000}]);
    let chat = Chat::new(&turns).await?;
    let talk = chat.talk(&json!({})).await?;
    let accept = [("Accept", "text/event-stream")];
    let mut slow = talk.api.open_unread("GET", &talk.path("/log"), &accept, &Value::Null).await?;
    let fast = Reader::new(&talk);
    talk.say("go").await?;
    let fast = fast.read_to_end().await?;
    ensure!(fast.folded == talk.folded().await?);
    let last = format!("id: {}\n", fast.folded.last_seq);
    let mut got = Vec::new();
    let read = async {
        while !contains(&got[got.len().saturating_sub(8 << 10)..], last.as_bytes()) {
            ensure!(slow.read_buf(&mut got).await? > 0, "the stream ended after {} bytes", got.len());
        }
        Ok(())
    };
    tokio::time::timeout(Duration::from_mins(1), read).await.context("the last event does not come")??;
    ensure!(got.len() > 2_400_000, "the whole text: {}", got.len());
    Ok(())
}
