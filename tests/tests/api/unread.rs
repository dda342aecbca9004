//! Clients that do not read their answers: what they hold is bounded, and it ends.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_protocol::EventKind;
use headwater_tests::host::{eventually, memory};
use headwater_tests::http::{error_code, json_of, peek_status, text, texts};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::log::event;

/// Unread answers of each kind.
const UNREAD: usize = 60;
/// The server may grow by this much for them, of any kind. Before answers were streamed and counted, 60 unread reads
/// of one file held 6 GB.
const GROWTH: u64 = 64 << 20;
/// Of the file that is read; JSON makes six bytes of each.
const FILE_BYTES: usize = 16 << 20;

/// A server without a limit of requests, and with more lines of `[server]`.
async fn server(config: &str) -> Result<TestServer> {
    TestServer::configured(&format!("[server]\nrequests_per_second = 0\n{config}")).await
}

/// A session with a file of control bytes, a folder with many long names, and a link to it.
async fn full_session(me: &Api) -> Result<(String, String)> {
    let session = me.session(&json!({})).await?;
    let file = vec![1; FILE_BYTES];
    let path = format!("/v1/sessions/{session}/files/content?path=/control");
    json_of(&me.request("PUT", &path, &[], &file).await?, 201)?;
    let shell = "mkdir many texts; cd many; p=$(printf '\\001%.0s' $(seq 200)); \
                 seq 4000 | sed \"s/^/$p/\" | xargs touch; \
                 cd ../texts; for n in 1 2 3 4 5 6 7 8; do head -c 1000000 /workspace/control > $n; done";
    let id = me.start(&session, &json!({"shell": shell})).await?;
    let ended = me.closed(&id).await?;
    ensure!(ended["exit"]["code"] == 0, "{ended}");
    let made = me.post(&format!("/v1/sessions/{session}/shares"), &json!({"access": "read"})).await?;
    Ok((session, text(&json_of(&made, 201)?["token"])))
}

#[tokio::test]
async fn sixty_unread_answers_of_any_kind_hold_little_memory() -> Result<()> {
    let server = server("").await?;
    let me = server.api();
    let (session, link) = full_session(&me).await?;
    let link = server.api_with(&link);
    let read = json!({"session_id": session, "path": "/control"});
    let list = json!({"session_id": session, "directory": "/many"});
    let code = json!({"language": "bash", "code": format!("#{}", "\u{1}".repeat(1 << 20))});
    let code = me.start(&session, &code).await?;
    me.closed(&code).await?;
    for (method, path, body) in [
        ("POST", "/v1/sessions/files/read".to_owned(), &read),
        ("POST", "/v1/sessions/files/list".to_owned(), &list),
        ("GET", format!("/v1/sessions/{session}/files?path=/many&limit=1000"), &Value::Null),
        ("GET", format!("/v1/sessions/{session}/files/content?path=/control"), &Value::Null),
        ("GET", format!("/v1/sessions/{session}/files/search?name=*&limit=10000"), &Value::Null),
        ("GET", format!("/v1/sessions/{session}/files/diff?content=true"), &Value::Null),
        ("GET", format!("/v1/executions/{code}"), &Value::Null),
        ("GET", "/openapi.json".to_owned(), &Value::Null),
    ] {
        // One that is read, so that the server's own caches are filled before.
        // The server may still be releasing those of the round before.
        eventually(&format!("{path} is answered"), async || {
            link.send(method, &path, &[], body).await.is_ok_and(|whole| whole.status == 200)
        })
        .await?;
        let before = memory(server.pid(), "VmRSS")?;
        let mut held = Vec::new();
        for _ in 0..UNREAD {
            held.push(link.open_unread(method, &path, &[], body).await?);
        }
        for stream in &held {
            let status = peek_status(stream).await?;
            ensure!(matches!(status, 200 | 429), "{path}: {status}");
        }
        let grown = memory(server.pid(), "VmRSS")?.saturating_sub(before);
        ensure!(grown < GROWTH, "{path}: {UNREAD} unread answers hold {} MiB", grown >> 20);
        ensure!(me.get("/v1/sessions").await?.status == 200, "a neighbour is not answered");
    }
    Ok(())
}

#[tokio::test]
async fn the_measure_sees_answers_that_are_held_where_the_bound_is_lifted() -> Result<()> {
    let server = server("max_unread = \"4Gi\"\n").await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let code = json!({"language": "bash", "code": format!("#{}", "\u{1}".repeat(1 << 20))});
    let path = format!("/v1/executions/{}", me.start(&session, &code).await?);
    let before = memory(server.pid(), "VmRSS")?;
    let mut held = Vec::new();
    for _ in 0..16 {
        let stream = me.open_unread("GET", &path, &[], &Value::Null).await?;
        ensure!(peek_status(&stream).await? == 200);
        held.push(stream);
    }
    let grown = memory(server.pid(), "VmRSS")?.saturating_sub(before);
    ensure!(grown > GROWTH, "sixteen answers of 6 MiB hold only {} MiB", grown >> 20);
    Ok(())
}

#[tokio::test]
async fn a_client_that_reads_gets_every_byte_of_a_long_answer() -> Result<()> {
    let server = server("").await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let binary: Vec<u8> = (0..1_000_003_u32).map(|n| (n % 251) as u8).collect();
    let letters = "a\u{1}ä\"€\\😀\n".repeat(60_000);
    for (name, bytes) in [("binary", binary.as_slice()), ("text", letters.as_bytes()), ("empty", b"")] {
        let path = format!("/v1/sessions/{session}/files/content?path=/{name}");
        json_of(&me.request("PUT", &path, &[], bytes).await?, 201)?;
        let asked = json!({"session_id": session, "path": format!("/{name}")});
        let info = json_of(&me.post("/v1/sessions/files/read", &asked).await?, 200)?;
        ensure!(info["content"] == *String::from_utf8_lossy(bytes), "{name}");
        ensure!(info["size"] == bytes.len() && info["path"] == format!("/{name}"), "{name}");
        ensure!(info["etag"].is_string() && info["modified"].is_string(), "{name}");
        let base64 = info["base64"].as_str().map(decoded).transpose()?;
        let wanted = std::str::from_utf8(bytes).is_err().then_some(bytes);
        ensure!(base64.as_deref() == wanted, "{name}");
    }
    let id = me.start(&session, &json!({"shell": "mkdir many; cd many; seq 1 2600 | xargs touch"})).await?;
    me.closed(&id).await?;
    let asked = json!({"session_id": session, "directory": "/many"});
    let info = json_of(&me.post("/v1/sessions/files/list", &asked).await?, 200)?;
    ensure!(info["truncated"] == false && info["files"].as_array().map(Vec::len) == Some(2600));
    let mut names = paged(&me, &format!("/v1/sessions/{session}/files?path=/many&limit=999")).await?;
    ensure!(names.len() == 2600);
    names.dedup();
    ensure!(names.len() == 2600, "some came twice");
    let info = me.json(&format!("/v1/sessions/{session}/files/search?name=*&path=/many&limit=10000")).await?;
    ensure!(info["items"].as_array().map(Vec::len) == Some(2600) && info["summary"]["matches"] == 2600);
    let info = me.json(&format!("/v1/sessions/{session}/files/search?name=nothing-like-it")).await?;
    ensure!(info["items"] == json!([]) && info["summary"]["matches"] == 0, "{info}");
    let info = me.json(&format!("/v1/sessions/{session}/files/diff?content=true")).await?;
    let items = info["items"].as_array().context("no items")?;
    let patch = items.iter().find(|item| item["path"] == "text").map(|item| text(&item["patch"]));
    let lines = patch.iter().flat_map(|patch| patch.lines()).filter(|line| line.starts_with('+')).count();
    ensure!(info["truncated"] == false && lines >= 60_000, "{lines} lines");
    Ok(())
}

fn decoded(base64: &str) -> Result<Vec<u8>> {
    use base64::Engine as _;
    Ok(base64::engine::general_purpose::STANDARD.decode(base64)?)
}

/// The names on all pages of a list.
async fn paged(me: &Api, path: &str) -> Result<Vec<String>> {
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = me.json(&format!("{path}{cursor}")).await?;
        names.extend(texts(&page, "name"));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(names),
        }
    }
}

#[tokio::test]
async fn lists_carry_no_environments_and_large_rows_end_a_page_early() -> Result<()> {
    let server = server("").await?;
    let me = server.api();
    let large = json!({"env": {"A": "\u{1}".repeat(400 << 10)}, "metadata": {"m": "\u{1}".repeat(60 << 10)}});
    let mut made = Vec::new();
    for _ in 0..20 {
        made.push(me.session(&large).await?);
    }
    let session = made.first().context("none")?;
    let alone = me.json(&format!("/v1/sessions/{session}")).await?;
    ensure!(alone["env"] == large["env"] && alone["metadata"] == large["metadata"], "one has all");
    let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let answer = me.get(&format!("/v1/sessions?limit=1000{cursor}")).await?;
        ensure!(answer.body.len() < 8 << 20, "a page of {} bytes", answer.body.len());
        let page = answer.json()?;
        for item in page["items"].as_array().into_iter().flatten() {
            ensure!(item.get("env").is_none(), "a list has an environment");
            ensure!(item["metadata"] == large["metadata"], "a list has the metadata");
            seen.push(text(&item["id"]));
        }
        pages += 1;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    seen.reverse();
    ensure!(seen == made && pages > 1, "{} of {} on {pages} pages", seen.len(), made.len());
    let id = me.start(session, &json!({"shell": "true", "env": {"B": "secret-of-the-run"}})).await?;
    me.closed(&id).await?;
    ensure!(!me.get("/v1/executions").await?.text().contains("secret-of-the-run"));
    Ok(())
}

#[tokio::test]
async fn an_answer_that_is_not_read_ends_and_a_live_stream_does_not() -> Result<()> {
    // Long enough that a busy machine opens all connections before the first one ends.
    let server = server("write_timeout = \"15s\"\n").await?;
    let me = server.api();
    let (session, link) = full_session(&me).await?;
    let link = server.api_with(&link);
    let body = json!({"session_id": session, "path": "/control"});
    // A live stream that is not read for longer than that, with more output than all buffers hold.
    let id = me.start(&session, &json!({"shell": "head -c 30000000 /dev/zero"})).await?;
    me.closed(&id).await?;
    let mut events = me.stream(&format!("/v1/executions/{id}/events")).await?;
    // The connections of earlier requests are closed a moment after their answers.
    let open = 1;
    eventually("only the live stream is open", async || connections(&me).await.is_ok_and(|now| now == open))
        .await?;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(link.open_unread("POST", "/v1/sessions/files/read", &[], &body).await?);
    }
    let path = format!("/v1/sessions/{session}/files/archive");
    held.push(link.open_unread("GET", &path, &[], &Value::Null).await?);
    for stream in &held {
        ensure!(peek_status(stream).await? == 200);
    }
    ensure!(connections(&me).await? >= open + 21, "they are not open: this test shows nothing");
    // One that reads a little now and then, for longer than the timeout in total, and then the rest.
    let mut slow = link.open_unread("POST", "/v1/sessions/files/read", &[], &body).await?;
    let mut read = vec![0; 1 << 20];
    for _ in 0..8 {
        slow.read_exact(&mut read).await?;
        tokio::time::sleep(Duration::from_millis(2200)).await;
    }
    let mut rest = 8 << 20;
    while rest < 6 * FILE_BYTES {
        let n = slow.read(&mut read).await?;
        ensure!(n > 0, "one that reads slowly got {rest} bytes");
        rest += n;
    }
    drop(slow);
    eventually("what is not read ends", async || connections(&me).await.is_ok_and(|now| now <= open)).await?;
    for mut stream in held {
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest).await;
        ensure!(ended.is_err() && rest.len() < FILE_BYTES, "{ended:?} after {} bytes", rest.len());
    }
    let read = link.post("/v1/sessions/files/read", &body).await?;
    ensure!(read.json()?["content"].as_str().map(str::len) == Some(FILE_BYTES));
    let mut bytes = 0;
    while let Some(sse) = events.next().await? {
        if let EventKind::Output { bytes: more, .. } = event(&sse)?.kind {
            bytes += more.len();
        }
    }
    ensure!(bytes == 30_000_000, "the live stream lost something: {bytes}");
    Ok(())
}

/// How many connections the server has open, without the one that asks.
async fn connections(me: &Api) -> Result<i64> {
    let info = me.get("/metrics").await?.text();
    let line =
        info.lines().find(|line| line.starts_with("headwater_connections ")).context("no such metric")?;
    Ok(line.rsplit(' ').next().context("no number")?.parse::<i64>()? - 1)
}

#[tokio::test]
async fn unread_answers_count_for_their_owner_and_for_links_apart() -> Result<()> {
    let server = server("max_unread = \"4Mi\"\n").await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let mut paths = Vec::new();
    for who in [&ann, &bob] {
        let session = who.session(&json!({})).await?;
        let code = json!({"language": "bash", "code": format!("#{}", "\u{1}".repeat(200_000))});
        let id = who.start(&session, &code).await?;
        who.closed(&id).await?;
        paths.push((session, format!("/v1/executions/{id}")));
    }
    let [(session, anns), (_, bobs)] = paths.as_slice() else { anyhow::bail!("two") };
    let made = ann.post(&format!("/v1/sessions/{session}/shares"), &json!({"access": "read"})).await?;
    let link = server.api_with(&text(&json_of(&made, 201)?["token"]));
    let refused = async |api: &Api| api.get(anns).await;
    // The link's own share is full with one answer, and its owner's is untouched.
    let by_link = link.open_unread("GET", anns, &[], &Value::Null).await?;
    ensure!(peek_status(&by_link).await? == 200);
    let answer = refused(&link).await?;
    ensure!(error_code(&answer, 429)? == "unread_answers" && answer.header("retry-after").is_some());
    // Her own earlier answers may still count for a moment.
    let mut by_ann = None;
    eventually("a link does not use up what its owner has", async || {
        by_ann = ann.open_unread("GET", anns, &[], &Value::Null).await.ok();
        let Some(stream) = &by_ann else { return false };
        peek_status(stream).await.is_ok_and(|status| status == 200)
    })
    .await?;
    ensure!(error_code(&refused(&ann).await?, 429)? == "unread_answers");
    // What would change something is refused before it is done; what is small is answered.
    let answer = ann.post("/v1/sessions", &json!({})).await?;
    ensure!(error_code(&answer, 429)? == "unread_answers");
    ensure!(ann.json("/v1/sessions").await?["items"].as_array().map(Vec::len) == Some(1));
    // Another owner is answered.
    let info: Value = bob.json(bobs).await?;
    ensure!(info["command"]["code"]["code"].as_str().is_none_or(|code| code.len() == 200_001), "{info}");
    drop((by_link, by_ann));
    eventually("closed connections free their share", async || {
        ann.get(anns).await.is_ok_and(|answer| answer.status == 200)
    })
    .await?;
    eventually("so do those of a link", async || {
        refused(&link).await.is_ok_and(|answer| answer.status == 200)
    })
    .await?;
    Ok(())
}
