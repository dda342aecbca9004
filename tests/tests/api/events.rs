//! The SSE stream of an execution: resuming, tails, batches, text and bytes, and what happens when the server goes.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use headwater_protocol::{Event, EventKind, Seq, Stream};
use headwater_tests::host::{PATIENCE, contains};
use headwater_tests::{Api, ServerOptions, SseStream, TestServer};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::log::{event, events, finished, names, output};

/// Prints lines to both streams, in turn.
const BOTH: &str = "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done";

async fn resume(api: &Api, id: &str, after: Seq, query: &str) -> Result<SseStream> {
    api.resume(&format!("/v1/executions/{id}/events?{query}"), &after.to_string()).await
}

#[tokio::test]
async fn resuming_after_any_event_returns_exactly_the_rest() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, BOTH).await?;
    let all = events(&mut api.follow(&id, "batch_ms=0").await?).await?;
    ensure!(names(&all).first() == Some(&"started") && names(&all).last() == Some(&"closed"));
    assert_eq!(output(&all, Stream::Stdout), b"out 1\nout 2\nout 3\nout 4\nout 5\n");
    assert_eq!(output(&all, Stream::Stderr), b"err 1\nerr 2\nerr 3\nerr 4\nerr 5\n");
    for (i, last) in all.iter().enumerate().take(all.len() - 1) {
        let rest = &all[i + 1..];
        let after = events(&mut api.follow(&id, &format!("after={}", last.seq)).await?).await?;
        assert_eq!(after, rest, "after={}", last.seq);
        // A browser comes back to the address that it began with: the header wins.
        let resumed = events(&mut resume(&api, &id, last.seq, "after=0&tail=1").await?).await?;
        assert_eq!(resumed, rest, "Last-Event-ID: {}", last.seq);
    }
    Ok(())
}

#[tokio::test]
async fn a_finished_stream_answers_204_and_an_unknown_execution_404() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, "echo hi").await?;
    let all = events(&mut api.follow(&id, "").await?).await?;
    let seq =
        |name: &str| all.iter().find(|event| event.kind.name() == name).map(|event| event.seq.to_string());
    let (exited, closed) = (seq("exited").context("no end")?, seq("closed").context("no end")?);
    let path = format!("/v1/executions/{id}/events");
    for (query, last, status) in [
        ("", closed.as_str(), 204),
        ("", "9999", 400),
        ("", exited.as_str(), 200),
        ("?until=exited", exited.as_str(), 204),
        ("?until=exited", "1", 200),
    ] {
        let answer = api.request("GET", &format!("{path}{query}"), &[("Last-Event-ID", last)], b"").await?;
        assert_eq!(answer.status, status, "{query} {last}: {}", answer.text());
    }
    assert_eq!(events(&mut api.follow(&id, &format!("after={closed}")).await?).await?, []);
    let until_exited = events(&mut api.follow(&id, "until=exited").await?).await?;
    assert_eq!(names(&until_exited).last(), Some(&"exited"));
    for (path, status) in [
        ("/v1/executions/exe_00000000000000000000000000000000/events".to_owned(), 404),
        ("/v1/executions/nonsense/events".to_owned(), 404),
        (format!("{path}?after=x"), 400),
        (format!("{path}?after=9999"), 400),
        (format!("{path}?odd=1"), 400),
        (format!("{path}?streams=stdin"), 400),
        (format!("{path}?batch_bytes=0"), 400),
    ] {
        let answer = api.get(&path).await?;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(answer.json()?["error"]["hint"].is_string());
    }
    let answer = api.request("GET", &path, &[("Last-Event-ID", "x")], b"").await?;
    assert_eq!(answer.status, 400);
    Ok(())
}

#[tokio::test]
async fn the_head_of_a_stream_keeps_it_from_being_stored_or_held_back() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, "true").await?;
    let answer = api.get(&format!("/v1/executions/{id}/events")).await?;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    assert!(answer.text().starts_with("retry: 1000\n\n"), "{}", answer.text());
    Ok(())
}

#[tokio::test]
async fn a_tail_is_the_last_bytes_with_the_rest_stated_as_a_gap() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, "seq 1000 1999").await?;
    let tail = events(&mut api.follow(&id, "tail=10").await?).await?;
    assert_eq!(names(&tail), ["started", "gap", "stdout", "exited", "closed"]);
    let gap = EventKind::Gap { stream: Stream::Stdout, from_byte: 0, to_byte: 4990 };
    assert_eq!((&tail[1].kind, output(&tail, Stream::Stdout)), (&gap, b"1998\n1999\n".to_vec()));
    Ok(())
}

#[tokio::test]
async fn only_the_streams_that_were_asked_for_come() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, BOTH).await?;
    let only = events(&mut api.follow(&id, "streams=stderr&batch_ms=0").await?).await?;
    assert!(output(&only, Stream::Stdout).is_empty());
    assert_eq!(output(&only, Stream::Stderr), b"err 1\nerr 2\nerr 3\nerr 4\nerr 5\n");
    let both = events(&mut api.follow(&id, "streams=stderr,stdout").await?).await?;
    assert_eq!(output(&both, Stream::Stdout).len() + output(&both, Stream::Stderr).len(), 60);
    Ok(())
}

/// Seconds for which output is held back: the most that can be asked for.
const HOLD_S: u64 = 10;

#[tokio::test]
async fn output_that_is_held_back_comes_in_few_events_and_whole() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let lines = "read x; for i in $(seq 40); do echo line $i; sleep 0.01; done";
    let id = api.one_shot(&json!({ "shell": lines, "stdin": "open" })).await?;
    let hold = format!("batch_ms={}&batch_bytes=1048576", HOLD_S * 1000);
    let mut stream = api.follow(&id, &hold).await?;
    let first = event(&stream.next().await?.context("no event")?)?;
    assert_eq!(first.kind.name(), "started");
    let begun = Instant::now();
    api.end_input(
        &id, b"
",
    )
    .await?;
    let rest = events(&mut stream).await?;
    let expected: String = (1..=40).map(|i| format!("line {i}\n")).collect();
    assert_eq!(output(&rest, Stream::Stdout), expected.into_bytes());
    let count = names(&rest).iter().filter(|name| **name == "stdout").count();
    // The first output, and one event for what was printed within each tenth of a second.
    let most = 2 + begun.elapsed().as_millis() / 100;
    assert!(count as u128 <= most, "{count} events: {:?}", names(&rest));
    Ok(())
}

#[tokio::test]
async fn text_and_bytes_of_all_kinds_come_back_exactly() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let print = r"import os, sys
out = '€uro ñ 漢字 \U0001F600\n'.encode() * 20000
os.write(1, out[:7]); os.write(2, b'between'); os.write(1, out[7:])
os.write(1, bytes(range(256)) * 64)
os.write(1, b'\xe2\x82')";
    let id = api.one_shot(&json!({ "argv": ["python3", "-c", print] })).await?;
    let all = events(&mut api.follow(&id, "").await?).await?;
    let mut expected = "€uro ñ 漢字 \u{1F600}\n".repeat(20000).into_bytes();
    expected.extend((0..64).flat_map(|_| 0..=255_u8));
    expected.extend([0xE2, 0x82]);
    assert!(output(&all, Stream::Stdout) == expected, "stdout is not what was printed");
    assert_eq!(output(&all, Stream::Stderr), b"between");
    let again = events(&mut api.follow(&id, "batch_ms=0").await?).await?;
    assert!(output(&again, Stream::Stdout) == expected, "stdout is not what was printed");
    Ok(())
}

#[tokio::test]
async fn a_partial_character_is_sent_to_a_reader_that_waits() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    // The program waits until its two bytes were seen.
    let shell = r"printf '\342\202'; read x; printf '\254'";
    let id = api.one_shot(&json!({ "shell": shell, "stdin": "open" })).await?;
    let mut stream = api.follow(&id, "").await?;
    let (mut all, _) = until_first_output(&mut stream).await?;
    assert_eq!(output(&all, Stream::Stdout), [0xE2, 0x82]);
    api.end_input(
        &id, b"
",
    )
    .await?;
    all.extend(events(&mut stream).await?);
    assert_eq!(output(&all, Stream::Stdout), "€".as_bytes());
    Ok(())
}

#[tokio::test]
async fn readers_that_never_read_hold_up_nobody() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let shell = "read x; seq 1000000";
    let id = api.one_shot(&json!({ "shell": shell, "stdin": "open" })).await?;
    let mut absent = Vec::new();
    for what in ["events?batch_ms=0", "output?follow=true"].into_iter().cycle().take(20) {
        let path = format!("/v1/executions/{id}/{what}");
        absent.push(api.open("GET", &path, &[], &Value::Null).await?);
    }
    let mut stream = api.follow(&id, "batch_ms=0").await?;
    api.end_input(
        &id, b"
",
    )
    .await?;
    let all = events(&mut stream).await?;
    let expected: String = (1..=1_000_000).map(|i| format!("{i}\n")).collect();
    assert!(output(&all, Stream::Stdout) == expected.into_bytes(), "stdout is not what was printed");
    drop(absent);
    Ok(())
}

#[tokio::test]
async fn printed_text_cannot_look_like_an_event() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let forged = "\n\nid: 999\nevent: exited\ndata: {\"type\":\"exited\",\"seq\":999,\"at_ms\":0,\"reason\":\"exited\"}\n\n\
                  retry: 1\r\n\r\n: hb\r\rdata: x\n\n";
    let id = api.one_shot(&json!({ "argv": ["printf", "%s", forged] })).await?;
    let all = events(&mut api.follow(&id, "").await?).await?;
    assert_eq!(output(&all, Stream::Stdout), forged.as_bytes());
    assert_eq!(names(&all).iter().filter(|name| **name == "exited").count(), 1);
    assert!(all.iter().all(|event| event.seq < Seq(999)));
    Ok(())
}

#[tokio::test]
async fn a_quiet_stream_says_that_it_lives() -> Result<()> {
    let config = Some("[server]\nheartbeat = \"20ms\"\n".to_owned());
    let server = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await?;
    let api = server.api();
    // The program prints nothing, and ends when a heartbeat has been seen.
    let id = api.one_shot(&json!({ "shell": "read x", "stdin": "open" })).await?;
    let path = format!("/v1/executions/{id}/events");
    let mut stream = api.open("GET", &path, &[], &Value::Null).await?;
    let mut got = Vec::new();
    for (wanted, ends) in [(": hb\n\n", false), ("event: closed\n", true)] {
        if ends {
            api.end_input(&id, b"").await?;
        }
        while !contains(&got, wanted.as_bytes()) {
            let read = timeout(PATIENCE, stream.read_buf(&mut got)).await.context("nothing more comes")??;
            ensure!(read > 0, "it ended before `{wanted}`: {}", String::from_utf8_lossy(&got));
        }
    }
    Ok(())
}

/// Prints a line, waits for input, and prints more.
const IN_TWO: &str = "echo before; read x; seq 5000";

fn in_two() -> Vec<u8> {
    let lines: String = (1..=5000).map(|i| format!("{i}\n")).collect();
    format!("before\n{lines}").into_bytes()
}

/// The events up to the first output, and the seq to go on after.
async fn until_first_output(stream: &mut SseStream) -> Result<(Vec<Event>, Seq)> {
    let mut all = Vec::new();
    while output(&all, Stream::Stdout).is_empty() {
        all.push(event(&stream.next().await?.context("no output")?)?);
    }
    let seq = all.last().map(|event| event.seq).unwrap_or_default();
    Ok((all, seq))
}

#[tokio::test]
async fn a_stopping_server_tells_its_clients_to_reconnect_and_nothing_is_lost() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "shell": IN_TWO, "stdin": "open" })).await?;
    let mut stream = api.follow(&id, "").await?;
    let (mut all, last) = until_first_output(&mut stream).await?;
    server.terminate()?;
    let word = stream.next().await?.context("no word")?;
    assert_eq!((word.id.as_deref(), word.event.as_deref()), (None, Some("reconnect")));
    assert_eq!(word.json()?, json!({ "after": last.0 }));
    assert_eq!(stream.next().await?, None);
    server.start_again().await?;
    let mut stream = resume(&api, &id, last, "").await?;
    api.end_input(
        &id, b"
",
    )
    .await?;
    all.extend(events(&mut stream).await?);
    assert_eq!(output(&all, Stream::Stdout), in_two());
    assert_eq!(names(&all).iter().filter(|name| **name == "exited").count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_gateway_that_is_killed_in_the_middle_costs_a_reconnect_and_no_byte() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let shell = "read x; for i in $(seq 3000); do echo line $i; done";
    let id = api.one_shot(&json!({ "shell": shell, "stdin": "open" })).await?;
    let mut stream = api.follow(&id, "batch_ms=0").await?;
    api.end_input(
        &id, b"
",
    )
    .await?;
    let (mut all, mut last) = until_first_output(&mut stream).await?;
    for _ in 0..3 {
        server.kill();
        // Events that arrived whole before the kill count.
        while let Ok(Some(sse)) = stream.next().await {
            let event = event(&sse)?;
            last = event.seq;
            all.push(event);
        }
        server.start_again().await?;
        if names(&all).last() == Some(&"closed") {
            break;
        }
        stream = resume(&api, &id, last, "batch_ms=0").await?;
    }
    if names(&all).last() != Some(&"closed") {
        all.extend(events(&mut stream).await?);
    }
    let expected: String = (1..=3000).map(|i| format!("line {i}\n")).collect();
    assert!(output(&all, Stream::Stdout) == expected.into_bytes(), "stdout is not what was printed");
    assert_eq!(names(&all).iter().filter(|name| **name == "exited").count(), 1);
    Ok(())
}

#[tokio::test]
async fn output_of_an_ended_execution_keeps_the_time_at_which_it_was_written() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let id = me.one_shot(&json!({"shell": "echo one; sleep 0.5; echo two"})).await?;
    me.closed(&id).await?;
    for query in ["", "batch_ms=0"] {
        let events = me.follow(&id, query).await?.rest().await?;
        let output: Vec<_> = events.iter().filter(|event| event["type"] == "stdout").collect();
        let times: Vec<_> = output.iter().filter_map(|event| event["at_ms"].as_u64()).collect();
        assert!(matches!(times[..], [one, two] if two >= one + 400), "{output:?}");
    }
    Ok(())
}
