//! Lossless readers through the API: who may be one, and positions after the end of a log.

use anyhow::{Context, Result, ensure};
use headwater_protocol::Stream;
use headwater_tests::host::eventually;
use headwater_tests::{Received, Socket, SseStream};
use serde_json::{Value, json};

use crate::ask::{Asker, bad, good, server, text};
use crate::scene::{events, names, output};

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
async fn held(asker: &Asker, id: &str) -> Result<()> {
    eventually("the program is held", async || {
        let told = asker.json(&format!("/v1/executions/{id}")).await;
        told.is_ok_and(|told| told["stdout_bytes"].as_u64() > Some(1 << 20))
    })
    .await
}

#[tokio::test]
async fn a_request_that_starts_and_streams_losslessly_gets_every_byte() -> Result<()> {
    let server = server().await?;
    let asker = Asker::admin(&server);
    let path = "/v1/executions?lossless=true&until=exited";
    let mut stream = SseStream::open(&server, path, &[], &program().to_string()).await?;
    let started = stream.next().await?.context("no start")?.json()?;
    let id = text(&started["execution_id"]);
    held(&asker, &id).await?;
    let all = events(&mut stream).await?;
    ensure!(!names(&all).contains(&"gap") && names(&all).last() == Some(&"exited"));
    ensure!(output(&all, Stream::Stdout) == numbers(), "other bytes");
    // The limit is what it was for those who come later.
    let mut late = SseStream::open(&server, &format!("/v1/executions/{id}/events"), &[], "").await?;
    ensure!(names(&events(&mut late).await?).contains(&"gap"));
    Ok(())
}

#[tokio::test]
async fn a_socket_that_follows_what_was_started_for_it_gets_every_byte() -> Result<()> {
    let server = server().await?;
    let asker = Asker::admin(&server);
    let told = good(&asker.post("/v1/executions?lossless=true", &program()).await?, 201)?;
    let id = text(&told["id"]);
    held(&asker, &id).await?;
    let path = format!("/v1/executions/{id}/attach?lossless=true&until=exited");
    let mut socket = Socket::open(&server, &path).await?;
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
    let server = server().await?;
    let (ann, bob) = (Asker::user(&server, "ann", "member")?, Asker::user(&server, "bob", "member")?);
    let session = ann.session(&json!({})).await?;
    let member = format!("/v1/sessions/{session}/members/bob");
    let id = ann.start(&session, &json!({ "shell": "echo hi; sleep 1000" })).await?;
    for (role, status) in [("viewer", 403), ("editor", 200)] {
        good(&ann.send("PUT", &member, &[], &json!({ "role": role })).await?, 200)?;
        for path in ["events", "output?follow=true"] {
            let join = if path.contains('?') { '&' } else { '?' };
            let path = format!("/v1/executions/{id}/{path}{join}lossless=true");
            let answer = bob.look(&path).await?;
            ensure!(answer.status == status, "{role} {path}: {} {}", answer.status, answer.text());
        }
        let path = format!("/v1/executions/{id}/attach?lossless=true");
        let socket = Socket::open_with(&server, &path, bob.token()).await;
        ensure!(socket.is_ok() == (status == 200), "{role}: {socket:?}");
        // To look at it takes no more than it did.
        ensure!(bob.look(&format!("/v1/executions/{id}/events?lossless=false")).await?.status == 200);
        // A membership is believed for a second.
        tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_position_after_the_end_is_refused_on_every_stream() -> Result<()> {
    let server = server().await?;
    let asker = Asker::admin(&server);
    let session = asker.session(&json!({})).await?;
    let running = asker.start(&session, &json!({ "shell": "echo hi; sleep 1000" })).await?;
    asker.printed(&running, "hi").await?;
    let ended = asker.start(&session, &json!({ "shell": "echo hi" })).await?;
    asker.ended(&ended).await?;
    for id in [&running, &ended] {
        let last =
            asker.json(&format!("/v1/executions/{id}")).await?["last_seq"].as_u64().context("no seq")?;
        let path = format!("/v1/executions/{id}");
        let beyond = (last + 1).to_string();
        for answer in [
            asker.get(&format!("{path}/events?after={beyond}")).await?,
            asker.ask("GET", &format!("{path}/events"), &[("Last-Event-ID", &beyond)], b"").await?,
        ] {
            ensure!(bad(&answer, 400)? == "after_past_end", "{}", answer.text());
            ensure!(answer.text().contains(&format!("`{last}`")), "{}", answer.text());
        }
        let refused = Socket::open(&server, &format!("{path}/attach?after={beyond}")).await;
        let refused = refused.err().context("the socket opens")?.to_string();
        ensure!(refused.contains("400") && refused.contains("after_past_end"), "{refused}");
        // The last event itself is a position, also of a log that goes on.
        Socket::open(&server, &format!("{path}/attach?after={last}")).await?;
        ensure!(asker.look(&format!("{path}/events?after={last}")).await?.status == 200);
    }
    // A feed says so for the execution whose log is shorter, and goes on with the others.
    let path = format!("/v1/sessions/{session}/events");
    let mut feed = SseStream::open(&server, &path, &[], "").await?;
    let mut token = String::new();
    while !token.contains(';') {
        token = feed.next().await?.context("no event")?.id.unwrap_or_default();
    }
    let (newest, place) = token.split_once(';').context("no place")?;
    let number = place.split('.').next().unwrap_or_default();
    let beyond = format!("{newest};{number}.99999");
    let mut feed = SseStream::open(&server, &path, &[("Last-Event-ID", &beyond)], "").await?;
    let told = feed.until(|event| event["error"]["code"] == "after_past_end").await?;
    let told = told.last().context("no error")?;
    ensure!([json!(running), json!(ended)].contains(&told["execution_id"]), "{told}");
    Ok(())
}
