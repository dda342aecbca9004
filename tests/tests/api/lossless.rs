//! Lossless readers through the API: who may be one, and positions after the end of a log.

use anyhow::{Context, Result, ensure};
use headwater_protocol::Stream;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text};
use headwater_tests::{Api, Received, TestServer};
use serde_json::{Value, json};

use crate::log::{events, names, output};

/// About 31 MB, more than the log and all buffers on the way hold.
const LINES: u64 = 4_000_000;

fn program() -> Value {
    json!({ "shell": format!("seq {LINES}"), "limits": { "output_bytes": 65536 } })
}

fn numbers() -> Vec<u8> {
    (1..=LINES).map(|i| format!("{i}\n")).collect::<String>().into_bytes()
}

/// Waits until the program of a reader that reads nothing is held: it has printed more than its log may keep, and not
/// all.
async fn held(asker: &Api, id: &str) -> Result<()> {
    eventually("the program is held", async || {
        let info = asker.execution(id).await;
        info.is_ok_and(|info| info["stdout_bytes"].as_u64() > Some(1 << 20))
    })
    .await
}

#[tokio::test]
async fn a_request_that_starts_and_streams_losslessly_gets_every_byte() -> Result<()> {
    let server = TestServer::small().await?;
    let asker = server.api();
    let path = "/v1/executions?lossless=true&until=exited";
    let mut stream = asker.post_stream(path, &program()).await?;
    let started = stream.next().await?.context("no start")?.json()?;
    let id = text(&started["execution_id"]);
    held(&asker, &id).await?;
    let all = events(&mut stream).await?;
    ensure!(!names(&all).contains(&"gap") && names(&all).last() == Some(&"exited"));
    ensure!(output(&all, Stream::Stdout) == numbers(), "other bytes");
    // The limit is what it was for those who come later.
    let mut late = asker.stream(&format!("/v1/executions/{id}/events")).await?;
    ensure!(names(&events(&mut late).await?).contains(&"gap"));
    Ok(())
}

#[tokio::test]
async fn a_socket_that_follows_what_was_started_for_it_gets_every_byte() -> Result<()> {
    // The reader may come as late as a busy machine needs.
    let server = TestServer::configured("lossless_grace = \"5m\"\n").await?;
    let asker = server.api();
    let info = json_of(&asker.post("/v1/executions?lossless=true", &program()).await?, 201)?;
    let id = text(&info["id"]);
    held(&asker, &id).await?;
    let path = format!("/v1/executions/{id}/attach?lossless=true&until=exited");
    let mut socket = asker.socket(&path).await?;
    let mut all = Vec::new();
    loop {
        match socket.next().await? {
            Received::Output(_, _, bytes) => all.extend_from_slice(&bytes),
            Received::Event(event) => ensure!(event["type"] != "gap" && event["type"] != "error", "{event}"),
            Received::Close(code, _) => break ensure!(code == 1000, "{code}"),
            Received::Text(other) => anyhow::bail!("{other}"),
        }
    }
    ensure!(all == numbers(), "{} bytes came", all.len());
    Ok(())
}

#[tokio::test]
async fn a_read_only_user_cannot_hold_a_program() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let session = ann.session(&json!({})).await?;
    let member = format!("/v1/sessions/{session}/members/bob");
    let id = ann.start(&session, &json!({ "shell": "echo hi; sleep 1000" })).await?;
    for (role, status) in [("viewer", 403), ("editor", 200)] {
        json_of(&ann.send("PUT", &member, &[], &json!({ "role": role })).await?, 200)?;
        // A membership is cached for a second.
        let events = format!("/v1/executions/{id}/events?lossless=true");
        eventually("the role applies", async || {
            let answer = bob.head("GET", &events, &[], &Value::Null).await;
            answer.is_ok_and(|answer| answer.status == status)
        })
        .await?;
        for path in ["events", "output?follow=true"] {
            let join = if path.contains('?') { '&' } else { '?' };
            let path = format!("/v1/executions/{id}/{path}{join}lossless=true");
            let answer = bob.head("GET", &path, &[], &Value::Null).await?;
            ensure!(answer.status == status, "{role} {path}: {} {}", answer.status, answer.text());
        }
        let path = format!("/v1/executions/{id}/attach?lossless=true");
        let socket = bob.socket(&path).await;
        ensure!(socket.is_ok() == (status == 200), "{role}: {socket:?}");
        // Reading without holding the program needs no more rights.
        let reads = format!("/v1/executions/{id}/events?lossless=false");
        ensure!(bob.head("GET", &reads, &[], &Value::Null).await?.status == 200);
    }
    Ok(())
}

#[tokio::test]
async fn a_position_after_the_end_is_refused_on_every_stream() -> Result<()> {
    let server = TestServer::small().await?;
    let asker = server.api();
    let session = asker.session(&json!({})).await?;
    let running = asker.start(&session, &json!({ "shell": "echo hi; sleep 1000" })).await?;
    asker.until_printed(&running, "hi").await?;
    let ended = asker.start(&session, &json!({ "shell": "echo hi" })).await?;
    asker.closed(&ended).await?;
    for id in [&running, &ended] {
        let last = asker.execution(id).await?["last_seq"].as_u64().context("no seq")?;
        let path = format!("/v1/executions/{id}");
        let beyond = (last + 1).to_string();
        for answer in [
            asker.get(&format!("{path}/events?after={beyond}")).await?,
            asker.request("GET", &format!("{path}/events"), &[("Last-Event-ID", &beyond)], b"").await?,
        ] {
            ensure!(error_code(&answer, 400)? == "after_past_end", "{}", answer.text());
            ensure!(answer.text().contains(&format!("`{last}`")), "{}", answer.text());
        }
        let refused = asker.socket(&format!("{path}/attach?after={beyond}")).await;
        let refused = refused.err().context("the socket opens")?.to_string();
        ensure!(refused.contains("400") && refused.contains("after_past_end"), "{refused}");
        // The last event is a valid position, even of a log that goes on.
        asker.socket(&format!("{path}/attach?after={last}")).await?;
        ensure!(
            asker.head("GET", &format!("{path}/events?after={last}"), &[], &Value::Null).await?.status == 200
        );
    }
    // A feed says so for the execution whose log is shorter, and goes on with the others.
    let path = format!("/v1/sessions/{session}/events");
    let mut feed = asker.stream(&path).await?;
    let mut token = String::new();
    while !token.contains(';') {
        token = feed.next().await?.context("no event")?.id.unwrap_or_default();
    }
    let (newest, place) = token.split_once(';').context("no place")?;
    let number = place.split('.').next().unwrap_or_default();
    let beyond = format!("{newest};{number}.99999");
    let mut feed = asker.resume(&path, &beyond).await?;
    let info = feed.until(|event| event["error"]["code"] == "after_past_end").await?;
    let info = info.last().context("no error")?;
    ensure!([json!(running), json!(ended)].contains(&info["execution_id"]), "{info}");
    Ok(())
}
