//! Clients that do not read their answers: what they hold is bounded, and it ends.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_protocol::EventKind;
use headwater_tests::host::{eventually, memory};
use headwater_tests::raw::{self, Raw};
use headwater_tests::{ServerOptions, SseStream, TestServer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::ask::{Asker, bad, good, text};
use crate::scene::event;

/// Unread answers of each kind.
const UNREAD: usize = 60;
/// The server may grow by so much for them, whatever they are. Before answers were streamed and counted, 60 unread reads
/// of one file held 6 GB.
const GROWTH: u64 = 64 << 20;
/// Of the file that is read; JSON makes six bytes of each.
const FILE_BYTES: usize = 16 << 20;

async fn server(config: &str) -> Result<TestServer> {
    let config = Some(format!("pool = 1\n[server]\nrequests_per_second = 0\n{config}"));
    TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await
}

/// A request that is sent, and whose answer is not read. The client's own buffer is small, so that the answer stays with
/// the server.
async fn unread(server: &TestServer, token: &str, method: &str, path: &str, body: &str) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(16 << 10)?;
    let mut stream = socket.connect(server.address().parse()?).await?;
    let address = server.address();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

/// The status of an answer that has begun, without taking anything of it.
async fn begun(stream: &TcpStream) -> Result<u16> {
    let mut head = [0; 12];
    eventually("an answer begins", async || stream.peek(&mut head).await.is_ok_and(|n| n == head.len()))
        .await?;
    Ok(std::str::from_utf8(&head[9..])?.parse()?)
}

/// A session with a file of control bytes, a folder with many long names, and a link to it.
async fn full_session(me: &Asker) -> Result<(String, String)> {
    let session = me.session(&json!({})).await?;
    let file = vec![1; FILE_BYTES];
    let path = format!("/v1/sessions/{session}/files/content?path=/control");
    good(&me.ask("PUT", &path, &[], &file).await?, 201)?;
    let shell = "mkdir many texts; cd many; p=$(printf '\\001%.0s' $(seq 200)); \
                 seq 4000 | sed \"s/^/$p/\" | xargs touch; \
                 cd ../texts; for n in 1 2 3 4 5 6 7 8; do head -c 1000000 /workspace/control > $n; done";
    let id = me.start(&session, &json!({"shell": shell})).await?;
    let ended = me.ended(&id).await?;
    ensure!(ended["exit"]["code"] == 0, "{ended}");
    let made = me.post(&format!("/v1/sessions/{session}/shares"), &json!({"access": "read"})).await?;
    Ok((session, text(&good(&made, 201)?["token"])))
}

#[tokio::test]
async fn sixty_unread_answers_of_any_kind_hold_little_memory() -> Result<()> {
    let server = server("").await?;
    let me = Asker::admin(&server);
    let (session, link) = full_session(&me).await?;
    let read = json!({"session_id": session, "path": "/control"}).to_string();
    let list = json!({"session_id": session, "directory": "/many"}).to_string();
    let code = json!({"language": "bash", "code": format!("#{}", "\u{1}".repeat(1 << 20))});
    let code = me.start(&session, &code).await?;
    me.ended(&code).await?;
    for (method, path, body) in [
        ("POST", "/v1/sessions/files/read".to_owned(), read.as_str()),
        ("POST", "/v1/sessions/files/list".to_owned(), list.as_str()),
        ("GET", format!("/v1/sessions/{session}/files?path=/many&limit=1000"), ""),
        ("GET", format!("/v1/sessions/{session}/files/content?path=/control"), ""),
        ("GET", format!("/v1/sessions/{session}/files/search?name=*&limit=10000"), ""),
        ("GET", format!("/v1/sessions/{session}/files/diff?content=true"), ""),
        ("GET", format!("/v1/executions/{code}"), ""),
        ("GET", "/openapi.json".to_owned(), ""),
    ] {
        // One that is read, so that what the server needs anyway is there before.
        let whole = read_whole(&server, &link, method, &path, body).await?;
        ensure!(whole.status == 200, "{path}: {} {}", whole.status, whole.text());
        let before = memory(server.pid(), "VmRSS")?;
        let mut held = Vec::new();
        for _ in 0..UNREAD {
            held.push(unread(&server, &link, method, &path, body).await?);
        }
        for stream in &held {
            let status = begun(stream).await?;
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
    let me = Asker::admin(&server);
    let session = me.session(&json!({})).await?;
    let code = json!({"language": "bash", "code": format!("#{}", "\u{1}".repeat(1 << 20))});
    let path = format!("/v1/executions/{}", me.start(&session, &code).await?);
    let before = memory(server.pid(), "VmRSS")?;
    let mut held = Vec::new();
    for _ in 0..16 {
        let stream = unread(&server, server.token(), "GET", &path, "").await?;
        ensure!(begun(&stream).await? == 200);
        held.push(stream);
    }
    let grown = memory(server.pid(), "VmRSS")?.saturating_sub(before);
    ensure!(grown > GROWTH, "sixteen answers of 6 MiB hold only {} MiB", grown >> 20);
    Ok(())
}

/// A whole answer.
async fn read_whole(server: &TestServer, token: &str, method: &str, path: &str, body: &str) -> Result<Raw> {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    raw::request(server.address(), method, path, &headers, body.as_bytes()).await
}

#[tokio::test]
async fn a_client_that_reads_gets_every_byte_of_a_long_answer() -> Result<()> {
    let server = server("").await?;
    let me = Asker::admin(&server);
    let session = me.session(&json!({})).await?;
    let binary: Vec<u8> = (0..1_000_003_u32).map(|n| (n % 251) as u8).collect();
    let letters = "a\u{1}ä\"€\\😀\n".repeat(60_000);
    for (name, bytes) in [("binary", binary.as_slice()), ("text", letters.as_bytes()), ("empty", b"")] {
        let path = format!("/v1/sessions/{session}/files/content?path=/{name}");
        good(&me.ask("PUT", &path, &[], bytes).await?, 201)?;
        let asked = json!({"session_id": session, "path": format!("/{name}")});
        let told = good(&me.post("/v1/sessions/files/read", &asked).await?, 200)?;
        ensure!(told["content"] == *String::from_utf8_lossy(bytes), "{name}");
        ensure!(told["size"] == bytes.len() && told["path"] == format!("/{name}"), "{name}");
        ensure!(told["etag"].is_string() && told["modified"].is_string(), "{name}");
        let base64 = told["base64"].as_str().map(decoded).transpose()?;
        let wanted = std::str::from_utf8(bytes).is_err().then_some(bytes);
        ensure!(base64.as_deref() == wanted, "{name}");
    }
    let id = me.start(&session, &json!({"shell": "mkdir many; cd many; seq 1 2600 | xargs touch"})).await?;
    me.ended(&id).await?;
    let asked = json!({"session_id": session, "directory": "/many"});
    let told = good(&me.post("/v1/sessions/files/list", &asked).await?, 200)?;
    ensure!(told["truncated"] == false && told["files"].as_array().map(Vec::len) == Some(2600));
    let mut names = paged(&me, &format!("/v1/sessions/{session}/files?path=/many&limit=999")).await?;
    ensure!(names.len() == 2600);
    names.dedup();
    ensure!(names.len() == 2600, "some came twice");
    let told = me.json(&format!("/v1/sessions/{session}/files/search?name=*&path=/many&limit=10000")).await?;
    ensure!(told["items"].as_array().map(Vec::len) == Some(2600) && told["summary"]["matches"] == 2600);
    let told = me.json(&format!("/v1/sessions/{session}/files/search?name=nothing-like-it")).await?;
    ensure!(told["items"] == json!([]) && told["summary"]["matches"] == 0, "{told}");
    let told = me.json(&format!("/v1/sessions/{session}/files/diff?content=true")).await?;
    let items = told["items"].as_array().context("no items")?;
    let patch = items.iter().find(|item| item["path"] == "text").map(|item| text(&item["patch"]));
    let lines = patch.iter().flat_map(|patch| patch.lines()).filter(|line| line.starts_with('+')).count();
    ensure!(told["truncated"] == false && lines >= 60_000, "{lines} lines");
    Ok(())
}

fn decoded(base64: &str) -> Result<Vec<u8>> {
    use base64::Engine as _;
    Ok(base64::engine::general_purpose::STANDARD.decode(base64)?)
}

/// The names on all pages of a list.
async fn paged(me: &Asker, path: &str) -> Result<Vec<String>> {
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = me.json(&format!("{path}{cursor}")).await?;
        names.extend(crate::ask::all(&page, "name"));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(names),
        }
    }
}

#[tokio::test]
async fn lists_carry_no_environments_and_large_rows_end_a_page_early() -> Result<()> {
    let server = server("").await?;
    let me = Asker::admin(&server);
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
    me.ended(&id).await?;
    ensure!(!me.get("/v1/executions").await?.text().contains("secret-of-the-run"));
    Ok(())
}

#[tokio::test]
async fn an_answer_that_is_not_read_ends_and_a_live_stream_does_not() -> Result<()> {
    let server = server("write_timeout = \"1s\"\n").await?;
    let me = Asker::admin(&server);
    let (session, link) = full_session(&me).await?;
    let body = json!({"session_id": session, "path": "/control"}).to_string();
    // A live stream that nobody reads for longer than that, with more to say than all buffers hold.
    let id = me.start(&session, &json!({"shell": "head -c 30000000 /dev/zero"})).await?;
    me.ended(&id).await?;
    let mut events = SseStream::open(&server, &format!("/v1/executions/{id}/events"), &[], "").await?;
    let open = connections(&me).await?;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(unread(&server, &link, "POST", "/v1/sessions/files/read", &body).await?);
    }
    let path = format!("/v1/sessions/{session}/files/archive");
    held.push(unread(&server, &link, "GET", &path, "").await?);
    for stream in &held {
        ensure!(begun(stream).await? == 200);
    }
    ensure!(connections(&me).await? >= open + 21, "they are not open: this test shows nothing");
    // One that reads a little now and then, for longer than the time-out in all, and then the rest.
    let mut slow = unread(&server, &link, "POST", "/v1/sessions/files/read", &body).await?;
    let mut read = vec![0; 1 << 20];
    for _ in 0..6 {
        slow.read_exact(&mut read).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let mut rest = 6 << 20;
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
    let read = read_whole(&server, &link, "POST", "/v1/sessions/files/read", &body).await?;
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
async fn connections(me: &Asker) -> Result<i64> {
    let told = me.get("/metrics").await?.text();
    let line =
        told.lines().find(|line| line.starts_with("headwater_connections ")).context("no such metric")?;
    Ok(line.rsplit(' ').next().context("no number")?.parse::<i64>()? - 1)
}

#[tokio::test]
async fn unread_answers_count_for_their_owner_and_for_links_apart() -> Result<()> {
    let server = server("max_unread = \"4Mi\"\n").await?;
    let (ann, bob) = (Asker::user(&server, "ann", "member")?, Asker::user(&server, "bob", "member")?);
    let mut paths = Vec::new();
    for who in [&ann, &bob] {
        let session = who.session(&json!({})).await?;
        let code = json!({"language": "bash", "code": format!("#{}", "\u{1}".repeat(200_000))});
        let id = who.start(&session, &code).await?;
        who.ended(&id).await?;
        paths.push((session, format!("/v1/executions/{id}")));
    }
    let [(session, anns), (_, bobs)] = paths.as_slice() else { anyhow::bail!("two") };
    let made = ann.post(&format!("/v1/sessions/{session}/shares"), &json!({"access": "read"})).await?;
    let link = text(&good(&made, 201)?["token"]);
    let refused = async |token: &str| read_whole(&server, token, "GET", anns, "").await;
    // The link's own share is full with one answer, and its owner's is untouched.
    let by_link = unread(&server, &link, "GET", anns, "").await?;
    ensure!(begun(&by_link).await? == 200);
    let answer = refused(&link).await?;
    ensure!(bad(&answer, 429)? == "unread_answers" && answer.header("retry-after").is_some());
    let by_ann = unread(&server, ann.token(), "GET", anns, "").await?;
    ensure!(begun(&by_ann).await? == 200, "a link used up what its owner has");
    ensure!(bad(&refused(ann.token()).await?, 429)? == "unread_answers");
    // What would change something is refused before it is done; what is small is answered.
    let answer = ann.post("/v1/sessions", &json!({})).await?;
    ensure!(bad(&answer, 429)? == "unread_answers");
    ensure!(ann.json("/v1/sessions").await?["items"].as_array().map(Vec::len) == Some(1));
    // Another owner is answered.
    let told: Value = bob.json(bobs).await?;
    ensure!(told["command"]["code"]["code"].as_str().is_none_or(|code| code.len() == 200_001), "{told}");
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
