//! The WebSocket of an execution: frames both ways, credits, viewers, and what happens when something goes.

use anyhow::{Context, Result, ensure};
use headwater_protocol::Stream;
use headwater_tests::{Api, Received, Socket, TestServer};
use serde_json::{Value, json};

use crate::log::finished;

const STDIN: u8 = 0x10;
const EOF: u8 = 0x11;
const RESIZE: u8 = 0x12;
const SIGNAL: u8 = 0x13;
const CREDIT: u8 = 0x14;

fn path(id: &str, query: &str) -> String {
    format!("/v1/executions/{id}/attach?{query}")
}

async fn cat(api: &Api) -> Result<String> {
    api.one_shot(&json!({ "argv": ["cat"], "stdin": "open" })).await
}

/// Output until there is as much as wanted.
async fn output(socket: &mut Socket, wanted: usize) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    while all.len() < wanted {
        match socket.next().await? {
            Received::Output(_, _, bytes) => all.extend_from_slice(&bytes),
            Received::Event(event) => {
                ensure!(event["type"] == "started", "{event} after {} bytes", all.len());
            }
            other => anyhow::bail!("{other:?}"),
        }
    }
    Ok(all)
}

/// The next error; only `started` may come before it.
async fn error(socket: &mut Socket) -> Result<Value> {
    loop {
        match socket.next().await? {
            Received::Event(event) | Received::Text(event) if event["type"] == "error" => return Ok(event),
            Received::Event(event) | Received::Text(event) if event["type"] == "started" => {}
            other => anyhow::bail!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn typed_text_comes_back_and_the_socket_closes_after_the_last_event() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    let Received::Event(started) = socket.next().await? else { anyhow::bail!("no start") };
    assert_eq!((&started["type"], &started["execution_id"]), (&json!("started"), &json!(id)));
    for word in ["hello\n", "wörld\n"] {
        socket.send(STDIN, word.as_bytes()).await?;
        assert_eq!(output(&mut socket, word.len()).await?, word.as_bytes());
    }
    socket.send(EOF, b"").await?;
    let (rest, events, code) = socket.rest().await?;
    assert!(rest.is_empty());
    let names: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect();
    assert_eq!((names, code), (vec!["exited", "closed"], 1000));
    assert_eq!(events[0]["code"], 0);
    Ok(())
}

#[tokio::test]
async fn json_frames_do_the_same() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut socket = api.socket(&path(&id, "mode=json")).await?;
    socket.say(r#"{"type":"stdin","text":"héllo\n"}"#).await?;
    socket.say(r#"{"type":"stdin","base64":"/wA="}"#).await?;
    socket.say(r#"{"type":"eof"}"#).await?;
    let (_, events, code) = socket.rest().await?;
    assert_eq!(code, 1000);
    assert_eq!(events.first().map(|event| &event["type"]), Some(&json!("started")));
    assert_eq!(events.last().map(|event| &event["type"]), Some(&json!("closed")));
    let mut all = Vec::new();
    for event in &events {
        let event = headwater_protocol::api::read_event(event.to_string().as_bytes())?;
        if let headwater_protocol::EventKind::Output { bytes, .. } = event.kind {
            all.extend_from_slice(&bytes);
        }
    }
    assert_eq!(all, ["héllo\n".as_bytes(), &[0xFF, 0]].concat());
    Ok(())
}

#[tokio::test]
async fn sizes_and_signals_reach_the_program() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let tty = json!({ "shell": "read x; stty size", "tty": { "rows": 24, "cols": 80 } });
    let id = api.one_shot(&tty).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    socket.send(RESIZE, &[33, 0, 44, 1]).await?;
    socket.send(STDIN, b"\n").await?;
    let (out, _, code) = socket.rest().await?;
    let out = String::from_utf8_lossy(&out).into_owned();
    assert!(out.contains("33 300"), "{out}");
    assert_eq!(code, 1000);
    for (frame, signal) in [("", 10), (r#"{"type":"signal","signal":"SIGUSR2"}"#, 12)] {
        let id = api.one_shot(&json!({ "argv": ["sleep", "1000"] })).await?;
        let mut socket = api.socket(&path(&id, "")).await?;
        if frame.is_empty() {
            socket.send(SIGNAL, &[10]).await?;
        } else {
            socket.say(frame).await?;
        }
        let (_, events, _) = socket.rest().await?;
        let exited = events.iter().find(|event| event["type"] == "exited").context("no end")?;
        assert_eq!((&exited["reason"], &exited["signal"]), (&json!("signalled"), &json!(signal)));
    }
    let id = api.one_shot(&json!({ "argv": ["sleep", "1000"] })).await?;
    let mut socket = api.socket(&path(&id, "until=exited")).await?;
    socket.say(r#"{"type":"cancel"}"#).await?;
    let (_, events, _) = socket.rest().await?;
    assert_eq!(events.last().map(|event| &event["reason"]), Some(&json!("cancelled")));
    Ok(())
}

#[tokio::test]
async fn an_invalid_frame_is_answered_with_an_error_and_the_socket_stays_open() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    for (kind, rest) in [(0x99, &b"x"[..]), (RESIZE, b"\x01"), (SIGNAL, b"\xff"), (CREDIT, b"")] {
        socket.send(kind, rest).await?;
        let info = error(&mut socket).await?;
        assert_eq!(info["code"], "invalid_request", "{info}");
        assert!(info["message"].is_string() && info["hint"].is_string(), "{info}");
    }
    socket.say("not JSON").await?;
    assert_eq!(error(&mut socket).await?["code"], "invalid_request");
    // `cat` on pipes has no terminal.
    socket.send(RESIZE, &[1, 0, 1, 0]).await?;
    let info = error(&mut socket).await?;
    assert_eq!(info["code"], "conflict", "{info}");
    socket.send(STDIN, b"still here").await?;
    assert_eq!(output(&mut socket, 10).await?, b"still here");
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_too_large_closes_the_socket() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    // The server may close before it has taken all of it.
    let _ = socket.send(STDIN, &vec![b'x'; 2 << 20]).await;
    let closed = socket.rest().await;
    if let Ok((_, _, code)) = closed {
        assert_eq!(code, 1009);
    }
    let state = api.execution(&id).await?;
    assert_eq!(state["state"], "running", "the program has nothing to do with it");
    Ok(())
}

#[tokio::test]
async fn no_more_output_is_sent_than_was_granted_and_a_small_credit_never_stalls() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "shell": "read x; seq 50000", "stdin": "open" })).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    let expected: String = (1..=50_000).map(|i| format!("{i}\n")).collect();
    let expected = expected.into_bytes();
    socket.send(CREDIT, &1000_u32.to_le_bytes()).await?;
    socket.send(STDIN, b"\n").await?;
    let mut all = output(&mut socket, 1000).await?;
    // An answer to this comes next: nothing that was not granted is before it.
    socket.send(0x99, b"").await?;
    error(&mut socket).await?;
    for credit in [1_u32, 7, 64, 5000] {
        socket.send(CREDIT, &credit.to_le_bytes()).await?;
        all.extend(output(&mut socket, credit as usize).await?);
        socket.send(0x99, b"").await?;
        error(&mut socket).await?;
    }
    assert_eq!(all.len(), 1000 + 1 + 7 + 64 + 5000);
    assert!(expected.starts_with(&all));
    socket.send(CREDIT, &10_000_000_u32.to_le_bytes()).await?;
    let (rest, events, code) = socket.rest().await?;
    all.extend(rest);
    assert!(all == expected, "output is not what was printed");
    assert_eq!((events.len(), code), (2, 1000));
    Ok(())
}

#[tokio::test]
async fn a_client_with_a_part_of_an_event_resumes_with_the_rest() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "shell": "read x; seq 20000", "stdin": "open" })).await?;
    let expected: String = (1..=20_000).map(|i| format!("{i}\n")).collect();
    let mut first = api.socket(&path(&id, "")).await?;
    first.send(CREDIT, &777_u32.to_le_bytes()).await?;
    first.send(STDIN, b"\n").await?;
    let (mut all, mut last, mut part) = (Vec::new(), 0, 0);
    while all.len() < 777 {
        match first.next().await? {
            Received::Output(Stream::Stdout, seq, bytes) => {
                part = if seq > last { 0 } else { part + bytes.len() };
                last = last.max(seq);
                all.extend(bytes);
            }
            Received::Event(event) => last = event["seq"].as_u64().context("no seq")?,
            other => anyhow::bail!("{other:?}"),
        }
    }
    drop(first);
    assert!(part > 0, "777 bytes are a part of an event");
    let mut second = api.socket(&path(&id, &format!("after={last}&skip={part}"))).await?;
    let (rest, _, code) = second.rest().await?;
    all.extend(rest);
    assert!(all == expected.into_bytes(), "output is not what was printed");
    assert_eq!(code, 1000);
    Ok(())
}

#[tokio::test]
async fn many_viewers_see_the_same_and_only_editors_write() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "shell": "read x; seq 30000", "stdin": "open" })).await?;
    let expected: String = (1..=30_000).map(|i| format!("{i}\n")).collect();
    let mut viewers = Vec::new();
    for i in 0..16 {
        let query = if i % 2 == 0 { "read_only=true" } else { "" };
        viewers.push(api.socket(&path(&id, query)).await?);
    }
    let mut reader = api.socket(&path(&id, "read_only=true")).await?;
    reader.send(STDIN, b"\n").await?;
    assert_eq!(error(&mut reader).await?["code"], "forbidden");
    reader.send(SIGNAL, &[9]).await?;
    assert_eq!(error(&mut reader).await?["code"], "forbidden");
    viewers[1].send(STDIN, b"\n").await?;
    viewers.push(reader);
    let watching = viewers.into_iter().map(|mut viewer| tokio::spawn(async move { viewer.rest().await }));
    for (i, watching) in watching.collect::<Vec<_>>().into_iter().enumerate() {
        let (out, _, code) = watching.await??;
        assert!(out == expected.as_bytes(), "viewer {i}");
        assert_eq!(code, 1000);
    }
    Ok(())
}

#[tokio::test]
async fn a_reader_token_reads_and_does_not_write() -> Result<()> {
    let server = TestServer::start().await?;
    let (ann, reader) = (server.user("ann", "member")?, server.user("ann", "reader")?);
    let bob = server.user("bob", "member")?;
    let id = cat(&ann).await?;
    let mut reads = reader.socket(&path(&id, "")).await?;
    reads.send(STDIN, b"x").await?;
    assert_eq!(error(&mut reads).await?["code"], "forbidden");
    let mut writes = ann.socket(&path(&id, "")).await?;
    writes.send(STDIN, b"seen").await?;
    assert_eq!(output(&mut reads, 4).await?, b"seen");
    let refused = bob.socket(&path(&id, "")).await.err().context("bob is admitted")?;
    assert!(refused.to_string().starts_with("404"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn input_of_megabytes_arrives_in_order_while_output_comes_back() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut viewer = api.socket(&path(&id, "")).await?;
    let mut writer = api.socket(&path(&id, "tail=0")).await?;
    let all: Vec<u8> = (0..500_000_u32).flat_map(u32::to_le_bytes).collect();
    let sent = all.clone();
    let writing = tokio::spawn(async move {
        for chunk in sent.chunks(100_000) {
            writer.send(STDIN, chunk).await?;
        }
        writer.send(EOF, b"").await?;
        writer.rest().await
    });
    let (out, _, code) = viewer.rest().await?;
    assert!(out == all, "{} bytes of {}", out.len(), all.len());
    assert_eq!(code, 1000);
    writing.await??;
    Ok(())
}

#[tokio::test]
async fn input_that_was_sent_arrives_though_the_socket_is_gone() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    for i in 0..100 {
        socket.send(STDIN, format!("{i}\n").as_bytes()).await?;
    }
    socket.send(EOF, b"").await?;
    socket.close().await?;
    let mut viewer = api.socket(&path(&id, "")).await?;
    let (out, _, _) = viewer.rest().await?;
    let expected: String = (0..100).map(|i| format!("{i}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&out), expected);
    Ok(())
}

#[tokio::test]
async fn input_survives_a_worker_that_is_killed() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = cat(&api).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    let mut all = Vec::new();
    let line = |i: u32| format!("line {i}\n").into_bytes();
    for i in 0..200 {
        if i == 100 {
            server.kill_worker().await?;
        }
        socket.send(STDIN, &line(i)).await?;
    }
    socket.send(EOF, b"").await?;
    let (out, events, code) = socket.rest().await?;
    (0..200).for_each(|i| all.extend(line(i)));
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&all), "{events:?}");
    assert_eq!(code, 1000);
    Ok(())
}

#[tokio::test]
async fn a_stopping_server_closes_with_1012_and_the_next_one_resumes() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "shell": "echo before; read x; echo after", "stdin": "open" })).await?;
    let mut socket = api.socket(&path(&id, "")).await?;
    let mut last = 0;
    while last < 2 {
        match socket.next().await? {
            Received::Output(_, seq, bytes) => {
                assert_eq!(bytes, b"before\n");
                last = seq;
            }
            Received::Event(event) => last = event["seq"].as_u64().context("no seq")?,
            other => anyhow::bail!("{other:?}"),
        }
    }
    let ending = tokio::task::spawn_blocking(move || server.terminate().map(|_| server));
    assert_eq!(socket.next().await?, Received::Close(1012, "reconnect".to_owned()));
    drop(socket);
    let mut server = ending.await??;
    server.start_again().await?;
    let mut socket = api.socket(&path(&id, &format!("after={last}"))).await?;
    socket.send(STDIN, b"\n").await?;
    let (out, events, code) = socket.rest().await?;
    assert_eq!((out, events.len(), code), (b"after\n".to_vec(), 2, 1000));
    Ok(())
}

#[tokio::test]
async fn a_plain_request_and_an_unknown_execution_are_refused() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, "true").await?;
    let plain = api.get(&path(&id, "")).await?;
    assert_eq!((plain.status, &plain.json()?["error"]["code"]), (426, &json!("upgrade_required")));
    for (query, status) in [("odd=1", "400"), ("mode=odd", "400"), ("after=x", "400"), ("after=999", "400")] {
        let refused = api.socket(&path(&id, query)).await.err().context("refused")?;
        assert!(refused.to_string().starts_with(status), "{query}: {refused}");
    }
    let missing = path("exe_00000000000000000000000000000000", "");
    let refused = api.socket(&missing).await.err().context("refused")?;
    assert!(refused.to_string().starts_with("404"), "{refused}");
    let mut writes = api.socket(&path(&id, "")).await?;
    let (_, events, code) = writes.rest().await?;
    assert_eq!((events.len(), code), (3, 1000));
    Ok(())
}
