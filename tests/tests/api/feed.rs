//! The executions of a conversation or a session in one stream.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use headwater_tests::{SseEvent, SseStream, TestServer, raw};
use serde_json::{Value, json};

use crate::calls::{get, post};

/// Starts a line in a conversation; answers the execution's id.
async fn start(server: &TestServer, conversation: &str, line: &str) -> Result<String> {
    let body = json!({"shell": line, "metadata": {"conversation_id": conversation}});
    let made = post(server, "/v1/executions", &body).await?;
    Ok(made.json()?["id"].as_str().with_context(|| made.text())?.to_owned())
}

/// Waits until an execution has closed, so that all of its log is there.
async fn closed(server: &TestServer, id: &str) -> Result<()> {
    loop {
        let told = get(server, &format!("/v1/executions/{id}?wait=30s")).await?.json()?;
        if told["state"] == "closed" {
            return Ok(());
        }
    }
}

/// Reads until so many executions have had the event that ends them.
async fn read(stream: &mut SseStream, ends: usize, last: &str) -> Result<Vec<SseEvent>> {
    let (mut events, mut ended) = (Vec::new(), 0);
    while ended < ends {
        let event = stream.next().await?.context("the stream ended")?;
        ended += usize::from(event.event.as_deref() == Some(last));
        events.push(event);
    }
    Ok(events)
}

/// What a client has of each execution after these events: its text by type, and how often each other type came.
fn sum(events: &[SseEvent]) -> Result<BTreeMap<String, String>> {
    let mut sum = BTreeMap::<String, String>::new();
    for event in events {
        let json = event.json()?;
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
    let line = |n: usize| {
        format!(
            "for i in 1 2 3 4; do echo ä€{n}-$i; echo ß{n}-$i >&2; sleep 0.02; done; printf '\\342'; exit {n}"
        )
    };
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(start(&server, "cut", &line(n)).await?);
    }
    for id in &ids {
        closed(&server, id).await?;
    }
    for (dialect, last) in [("native", "closed"), ("tool_calls", "TOOL_RESULT")] {
        let path = format!("/v1/conversations/cut/events?batch_ms=0&dialect={dialect}");
        let all = read(&mut SseStream::open(&server, &path, &[], "").await?, 3, last).await?;
        let whole = sum(&all)?;
        assert!(all.len() >= 12, "{} events", all.len());
        for n in 0..all.len() {
            let id = all[n].id.clone().context("no id")?;
            let ended = all[..=n].iter().filter(|event| event.event.as_deref() == Some(last)).count();
            let mut stream = SseStream::open(&server, &path, &[("Last-Event-ID", &id)], "").await?;
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
    let session = post(&server, "/v1/sessions", &json!({})).await?.json()?;
    let session = session["id"].as_str().context("no session")?;
    let path = format!("/v1/sessions/{session}");
    let mut of_session = SseStream::open(&server, &format!("{path}/events"), &[], "").await?;
    let mut of_talk = SseStream::open(&server, "/v1/conversations/later/events", &[], "").await?;
    let executions = format!("{path}/executions");
    for n in 0..3 {
        let metadata = json!({"conversation_id": "later", "tool_call_id": format!("call{n}")});
        post(&server, &executions, &json!({"shell": format!("echo {n}"), "metadata": metadata})).await?;
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
    let mut ids = Vec::new();
    for n in 0..12 {
        let id = start(&server, "past", &format!("echo {n}; echo {n} >&2")).await?;
        closed(&server, &id).await?;
        ids.push(id);
    }
    let mut stream = SseStream::open(&server, "/v1/conversations/past/events", &[], "").await?;
    let mut told: Vec<String> = Vec::new();
    for event in read(&mut stream, 12, "closed").await? {
        told.push(event.json()?["execution_id"].as_str().context("no execution")?.to_owned());
    }
    told.dedup();
    assert_eq!(told, ids);
    Ok(())
}

#[tokio::test]
async fn more_executions_than_are_followed_at_once_are_all_followed() -> Result<()> {
    let server = TestServer::start().await?;
    let session = post(&server, "/v1/sessions", &json!({})).await?.json()?;
    let path = format!("/v1/sessions/{}", session["id"].as_str().context("no session")?);
    let mut ids = Vec::new();
    for n in 0..70 {
        let body = json!({"shell": format!("read line; echo {n}"), "stdin": "open"});
        let made = post(&server, &format!("{path}/executions"), &body).await?.json()?;
        ids.push(made["id"].as_str().with_context(|| made.to_string())?.to_owned());
    }
    let mut stream = SseStream::open(&server, &format!("{path}/events"), &[], "").await?;
    let mut events = read(&mut stream, 64, "started").await?;
    assert_eq!(events.len(), 64, "none has printed anything");
    let bearer = format!("Bearer {}", server.token());
    for id in &ids {
        let stdin = format!("/v1/executions/{id}/stdin?eof=true");
        raw::request(server.address(), "POST", &stdin, &[("Authorization", &bearer)], b"go\n").await?;
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
    let old = start(&server, "now", "echo old").await?;
    closed(&server, &old).await?;
    let line = "echo before; read line; echo $line";
    let body = json!({"shell": line, "stdin": "open", "metadata": {"conversation_id": "now"}});
    let running = post(&server, "/v1/executions", &body);
    let running = running.await?.json()?["id"].as_str().context("no id")?.to_owned();
    let mut watch = SseStream::open(&server, &format!("/v1/executions/{running}/events"), &[], "").await?;
    watch.until(|event| event["text"] == "before\n").await?;
    let mut stream = SseStream::open(&server, "/v1/conversations/now/events?after=now", &[], "").await?;
    let bearer = format!("Bearer {}", server.token());
    let path = format!("/v1/executions/{running}/stdin?eof=true");
    raw::request(server.address(), "POST", &path, &[("Authorization", &bearer)], b"next\n").await?;
    let mut events = read(&mut stream, 1, "closed").await?;
    let new = start(&server, "now", "echo new").await?;
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
    let made = json!({"shell": "for i in 1 2 3; do echo a$i; read line; done", "stdin": "open", "metadata": {"conversation_id": "kill"}});
    let id =
        post(&server, "/v1/executions", &made).await?.json()?["id"].as_str().context("no id")?.to_owned();
    let path = "/v1/conversations/kill/events";
    let mut stream = SseStream::open(&server, path, &[], "").await?;
    let mut events = Vec::new();
    while !events.last().is_some_and(|event: &SseEvent| event.data.contains("a1")) {
        events.push(stream.next().await?.context("the stream ended")?);
    }
    server.kill();
    server.start_again().await?;
    let last = events.last().and_then(|event| event.id.clone()).context("no id")?;
    let mut stream = SseStream::open(&server, path, &[("Last-Event-ID", &last)], "").await?;
    let bearer = format!("Bearer {}", server.token());
    let stdin = format!("/v1/executions/{id}/stdin?eof=true");
    raw::request(server.address(), "POST", &stdin, &[("Authorization", &bearer)], b"x\nx\nx\n").await?;
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
    let id = start(&server, "end", "echo x").await?;
    closed(&server, &id).await?;
    let mut stream = SseStream::open(&server, "/v1/conversations/end/events", &[], "").await?;
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
    let id = start(&server, "mine", "echo secret").await?;
    closed(&server, &id).await?;
    let bob = server.make_token(&["--user", "bob", "--role", "member"])?;
    // A token of the owner's stream leads nobody else to what it names.
    let mut mine = SseStream::open(&server, "/v1/conversations/mine/events", &[], "").await?;
    let first = mine.next().await?.and_then(|event| event.id).context("no id")?;
    for after in ["", &format!("?after={}", first.replace(';', "%3B"))] {
        let path = format!("/v1/conversations/mine/events{after}");
        let mut his = SseStream::open_as(&server, &bob, &path, &[], "").await?;
        let bearer = format!("Bearer {bob}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body = json!({"shell": "echo his", "metadata": {"conversation_id": "mine"}}).to_string();
        raw::request(server.address(), "POST", "/v1/executions", &headers, body.as_bytes()).await?;
        let events = read(&mut his, 1, "closed").await?;
        assert!(events.iter().all(|event| !event.data.contains("secret")), "{events:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_invalid_feed_position_is_refused() -> Result<()> {
    let server = TestServer::start().await?;
    let path = "/v1/conversations/x/events";
    for query in ["after=x", "after=1%3B2.1", "dialect=odd", "batch_ms=99999999", "batch_bytes=0", "odd=1"] {
        let answer = get(&server, &format!("{path}?{query}")).await?;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
    let answer = get(&server, "/v1/sessions/ses_00000000000000000000000000000000/events").await?;
    assert_eq!(answer.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_feed_does_not_go_on_after_a_position_that_was_never_given_out() -> Result<()> {
    let server = TestServer::start().await?;
    let id = start(&server, "talk", "echo hello").await?;
    closed(&server, &id).await?;
    let session = get(&server, &format!("/v1/executions/{id}")).await?.json()?["session_id"].clone();
    let paths = [
        "/v1/conversations/talk/events".to_owned(),
        format!("/v1/sessions/{}/events", session.as_str().context("no session")?),
        "/tool-progress/talk".to_owned(),
    ];
    let bearer = format!("Bearer {}", server.token());
    let open = async |path: &str, more: &[(&str, &str)]| {
        let headers = [&[("Authorization", bearer.as_str())], more].concat();
        raw::head(server.address(), "GET", path, &headers, b"").await
    };
    let mut stream = SseStream::open(&server, &paths[0], &[], "").await?;
    let last = read(&mut stream, 1, "closed").await?.pop().and_then(|event| event.id).context("no id")?;
    for path in &paths {
        for position in ["1000", "1000;7.3"] {
            let answer = open(path, &[("Last-Event-ID", position)]).await?;
            assert_eq!(answer.status, 400, "{path} {}", answer.head);
        }
        let answer = get(&server, &format!("{path}?after=1000")).await?;
        assert_eq!(
            (answer.status, &answer.json()?["error"]["code"]),
            (400, &json!("after_past_end")),
            "{path}"
        );
        assert_eq!(open(path, &[("Last-Event-ID", &last)]).await?.status, 200, "the control: {path}");
    }
    // What was given out stays good when the execution is removed.
    let removed = raw::request(
        server.address(),
        "DELETE",
        &format!("/v1/executions/{id}"),
        &[("Authorization", &bearer)],
        b"",
    )
    .await?;
    assert_eq!(removed.status, 204);
    assert_eq!(open(&paths[0], &[("Last-Event-ID", &last)]).await?.status, 200);
    Ok(())
}
