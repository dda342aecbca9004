//! The executions of a conversation or a session in one stream.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, SseEvent, SseStream, TestServer};
use serde_json::{Value, json};

/// Starts a shell line in a conversation; the id of the execution.
async fn start(api: &Api, conversation: &str, line: &str) -> Result<String> {
    api.one_shot(&json!({"shell": line, "metadata": {"conversation_id": conversation}})).await
}

/// Reads until `ends` executions have had the event `last`.
async fn read(stream: &mut SseStream, ends: usize, last: &str) -> Result<Vec<SseEvent>> {
    let (mut events, mut ended) = (Vec::new(), 0);
    while ended < ends {
        let event = stream.next().await?.context("the stream ended")?;
        ended += usize::from(event.event.as_deref() == Some(last));
        events.push(event);
    }
    Ok(events)
}

/// What a client has of each execution after these events: its text by type, and a mark for each other event.
fn sum(events: &[SseEvent]) -> Result<BTreeMap<String, String>> {
    let mut sum = BTreeMap::<String, String>::new();
    for event in events {
        let json = event.json()?;
        let json = json.get("payload").unwrap_or(&json);
        let (id, name) =
            (json["execution_id"].as_str().context("no execution")?, event.event.clone().unwrap_or_default());
        let text = ["text", "stdout", "stderr"].iter().find_map(|key| json[*key].as_str()).unwrap_or("|");
        let kind = json["source"].as_str().unwrap_or_default();
        *sum.entry(format!("{id} {name} {kind}")).or_default() += text;
    }
    Ok(sum)
}

#[tokio::test]
async fn a_feed_cut_after_any_event_goes_on_with_each_event_once() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let line = |n: usize| {
        format!(
            "for i in 1 2 3 4; do echo ä€{n}-$i; echo ß{n}-$i >&2; sleep 0.02; done; printf '\\342'; exit {n}"
        )
    };
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(start(&api, "cut", &line(n)).await?);
    }
    for id in &ids {
        api.closed(id).await?;
    }
    for (dialect, last) in
        [("native", "closed"), ("tool_calls", "TOOL_RESULT"), ("tool_calls_flat", "TOOL_RESULT")]
    {
        let path = format!("/v1/conversations/cut/events?batch_ms=0&dialect={dialect}");
        let all = read(&mut api.stream(&path).await?, 3, last).await?;
        let whole = sum(&all)?;
        assert!(all.len() >= 12, "{} events", all.len());
        for n in 0..all.len() {
            let id = all[n].id.clone().context("no id")?;
            let ended = all[..=n].iter().filter(|event| event.event.as_deref() == Some(last)).count();
            let mut stream = api.resume(&path, &id).await?;
            let rest = read(&mut stream, 3 - ended, last).await?;
            let both: Vec<_> = all[..=n].iter().chain(&rest).cloned().collect();
            assert_eq!(sum(&both)?, whole, "{dialect}: cut after event {n}, at `{id}`");
        }
    }
    Ok(())
}

#[tokio::test]
async fn later_executions_are_sent_to_the_feeds_of_their_conversation_and_session() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}");
    let mut of_session = api.stream(&format!("{path}/events")).await?;
    let mut of_talk = api.stream("/v1/conversations/later/events").await?;
    let executions = format!("{path}/executions");
    for n in 0..3 {
        let metadata = json!({"conversation_id": "later", "tool_call_id": format!("call{n}")});
        api.post(&executions, &json!({"shell": format!("echo {n}"), "metadata": metadata})).await?;
        for stream in [&mut of_session, &mut of_talk] {
            let events = read(stream, 1, "closed").await?;
            let names: Vec<_> = events.iter().filter_map(|event| event.event.as_deref()).collect();
            assert_eq!(names, ["started", "stdout", "exited", "closed"]);
            for event in events {
                let json = event.json()?;
                assert_eq!(
                    (&json["tool_call_id"], &json["conversation_id"]),
                    (&json!(format!("call{n}")), &json!("later"))
                );
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn history_is_sent_one_execution_after_the_other() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let mut ids = Vec::new();
    for n in 0..12 {
        let id = start(&api, "past", &format!("echo {n}; echo {n} >&2")).await?;
        api.closed(&id).await?;
        ids.push(id);
    }
    let mut stream = api.stream("/v1/conversations/past/events").await?;
    let mut info: Vec<String> = Vec::new();
    for event in read(&mut stream, 12, "closed").await? {
        info.push(event.json()?["execution_id"].as_str().context("no execution")?.to_owned());
    }
    info.dedup();
    assert_eq!(info, ids);
    Ok(())
}

#[tokio::test]
async fn more_executions_than_are_followed_at_once_are_all_followed() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}");
    let mut ids = Vec::new();
    for n in 0..70 {
        let body = json!({"shell": format!("read line; echo {n}"), "stdin": "open"});
        ids.push(api.start(&session, &body).await?);
    }
    let mut stream = api.stream(&format!("{path}/events")).await?;
    let mut events = read(&mut stream, 64, "started").await?;
    assert_eq!(events.len(), 64, "none has printed anything");
    for id in &ids {
        api.end_input(id, b"go\n").await?;
    }
    events.extend(read(&mut stream, 70, "closed").await?);
    let sum = sum(&events)?;
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(sum[&format!("{id} stdout ")], format!("{n}\n"));
        assert_eq!((&*sum[&format!("{id} started ")], &*sum[&format!("{id} exited ")]), ("|", "|"));
    }
    Ok(())
}

#[tokio::test]
async fn a_feed_from_now_on_shows_what_happens_next() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let old = start(&api, "now", "echo old").await?;
    api.closed(&old).await?;
    let line = "echo before; read line; echo $line";
    let body = json!({"shell": line, "stdin": "open", "metadata": {"conversation_id": "now"}});
    let running = api.one_shot(&body).await?;
    let mut watch = api.follow(&running, "").await?;
    watch.until(|event| event["text"] == "before\n").await?;
    let mut stream = api.stream("/v1/conversations/now/events?after=now").await?;
    api.end_input(&running, b"next\n").await?;
    let mut events = read(&mut stream, 1, "closed").await?;
    let new = start(&api, "now", "echo new").await?;
    events.extend(read(&mut stream, 1, "closed").await?);
    let jsons: Vec<Value> = events.iter().map(SseEvent::json).collect::<Result<_>>()?;
    let text: Vec<_> = jsons.iter().filter_map(|json| json["text"].as_str()).collect();
    assert_eq!(text, ["next\n", "new\n"]);
    assert!(jsons.iter().all(|json| json["execution_id"] == running || json["execution_id"] == new));
    Ok(())
}

#[tokio::test]
async fn a_feed_goes_on_over_a_kill_of_the_gateway() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let made = json!({"shell": "for i in 1 2 3; do echo a$i; read line; done", "stdin": "open", "metadata": {"conversation_id": "kill"}});
    let id = api.one_shot(&made).await?;
    let path = "/v1/conversations/kill/events";
    let mut stream = api.stream(path).await?;
    let mut events = Vec::new();
    while !events.last().is_some_and(|event: &SseEvent| event.data.contains("a1")) {
        events.push(stream.next().await?.context("the stream ended")?);
    }
    server.kill();
    server.start_again().await?;
    let last = events.last().and_then(|event| event.id.clone()).context("no id")?;
    let mut stream = api.resume(path, &last).await?;
    api.end_input(&id, b"x\nx\nx\n").await?;
    events.extend(read(&mut stream, 1, "closed").await?);
    let sum = sum(&events)?;
    assert_eq!(sum[&format!("{id} stdout ")], "a1\na2\na3\n");
    for once in ["started", "exited", "closed"] {
        assert_eq!(sum[&format!("{id} {once} ")], "|", "{once}");
    }
    Ok(())
}

#[tokio::test]
async fn a_stopping_server_tells_its_feeds_to_reconnect() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let id = start(&api, "end", "echo x").await?;
    api.closed(&id).await?;
    let mut stream = api.stream("/v1/conversations/end/events").await?;
    let events = read(&mut stream, 1, "closed").await?;
    let last = events.last().and_then(|event| event.id.clone()).context("no id")?;
    server.terminate()?;
    let word = stream.next().await?.context("no last word")?;
    assert_eq!((word.event.as_deref(), word.id), (Some("reconnect"), None));
    let word: Value = serde_json::from_str(&word.data)?;
    assert_eq!(word["after"], last);
    assert_eq!(stream.next().await?, None);
    Ok(())
}

#[tokio::test]
async fn a_conversation_is_its_owners() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = start(&api, "mine", "echo secret").await?;
    api.closed(&id).await?;
    let bob = server.user("bob", "member")?;
    // A position in the owner's stream gives others no access.
    let mut mine = api.stream("/v1/conversations/mine/events").await?;
    let first = mine.next().await?.and_then(|event| event.id).context("no id")?;
    for after in ["", &format!("?after={}", first.replace(';', "%3B"))] {
        let path = format!("/v1/conversations/mine/events{after}");
        let mut his = bob.stream(&path).await?;
        start(&bob, "mine", "echo his").await?;
        let events = read(&mut his, 1, "closed").await?;
        assert!(events.iter().all(|event| !event.data.contains("secret")), "{events:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_invalid_feed_position_is_refused() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let path = "/v1/conversations/x/events";
    for query in ["after=x", "after=1%3B2.1", "dialect=odd", "batch_ms=99999999", "batch_bytes=0", "odd=1"] {
        let answer = api.get(&format!("{path}?{query}")).await?;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
    let answer = api.get("/v1/sessions/ses_00000000000000000000000000000000/events").await?;
    assert_eq!(answer.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_feed_does_not_resume_after_an_unknown_position() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = start(&api, "talk", "echo hello").await?;
    api.closed(&id).await?;
    let session = text(&api.execution(&id).await?["session_id"]);
    let paths = [
        "/v1/conversations/talk/events".to_owned(),
        format!("/v1/sessions/{session}/events"),
        "/tool-progress/talk".to_owned(),
    ];
    let open = async |path: &str, position: &str| {
        api.head("GET", path, &[("Last-Event-ID", position)], &Value::Null).await
    };
    let mut stream = api.stream(&paths[0]).await?;
    let last = read(&mut stream, 1, "closed").await?.pop().and_then(|event| event.id).context("no id")?;
    for path in &paths {
        for position in ["1000", "1000;7.3"] {
            let answer = open(path, position).await?;
            assert_eq!(answer.status, 400, "{path} {}", answer.head);
        }
        let answer = api.get(&format!("{path}?after=1000")).await?;
        assert_eq!(
            (answer.status, &answer.json()?["error"]["code"]),
            (400, &json!("after_past_end")),
            "{path}"
        );
        assert_eq!(open(path, &last).await?.status, 200, "the control: {path}");
    }
    // A valid position stays valid when the execution is removed.
    json_of(&api.delete(&format!("/v1/executions/{id}")).await?, 204)?;
    assert_eq!(open(&paths[0], &last).await?.status, 200);
    Ok(())
}
