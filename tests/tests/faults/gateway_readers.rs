//! Readers of the gateway that never read, by the hundred, and streams that are idle, by the thousand: they cost little,
//! delay nobody, and can resume later.

use anyhow::{Context, Result, ensure};
use headwater_client::{Client, FollowOptions};
use headwater_protocol::api::{StartRequest, StdinRequest};
use headwater_protocol::{EventKind, ExecutionId, Limits};
use headwater_tests::host::{PATIENCE, memory};
use headwater_tests::{ServerOptions, TestServer, http};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::scale;

const MIB: u64 = 1 << 20;
/// How many bytes the program prints.
const FLOOD: u64 = 1_000_000_000;

async fn server() -> Result<TestServer> {
    let args = vec!["--requests-per-second".into(), "0".into()];
    TestServer::with(ServerOptions { args, ..ServerOptions::default() }).await
}

/// A program that waits for input before it does anything.
fn waiting(then: &str) -> StartRequest {
    StartRequest {
        shell: Some(format!("read go; {then}")),
        stdin: StdinRequest::Open,
        limits: Limits { output_bytes: Some(64 * MIB), ..Limits::default() },
        ..StartRequest::default()
    }
}

/// Resident memory of gateway and worker.
async fn resident(server: &TestServer) -> Result<u64> {
    Ok(memory(server.pid(), "VmRSS")? + memory(server.worker_pid().await?, "VmRSS")?)
}

/// Opens a stream and reads nothing but the head of the answer.
async fn deaf(server: &TestServer, id: ExecutionId, websocket: bool) -> Result<TcpStream> {
    let path = format!("/v1/executions/{id}/{}", if websocket { "attach" } else { "events" });
    let mut headers = Vec::new();
    if websocket {
        headers.extend([
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]);
    }
    let mut stream = server.api().open("GET", &path, &headers, &Value::Null).await?;
    let status = http::read(&mut stream, false).await?.status;
    ensure!(status == if websocket { 101 } else { 200 }, "{path} answered {status}");
    Ok(stream)
}

/// Reads to the end; how many bytes arrived and how many are missing.
async fn count(client: &Client, id: ExecutionId) -> Result<(u64, u64)> {
    let options = FollowOptions { until_closed: true, ..FollowOptions::default() };
    let mut follower = client.follow(id, options).await?;
    let (mut came, mut missing) = (0, 0);
    while let Some(event) = follower.next().await? {
        match event.kind {
            EventKind::Output { bytes, .. } => came += bytes.len() as u64,
            EventKind::Gap { from_byte, to_byte, .. } => missing += to_byte - from_byte,
            _ => {}
        }
    }
    Ok((came, missing))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_readers_that_never_read_cost_little_and_hold_up_nobody() -> Result<()> {
    let server = server().await?;
    let client = server.client()?;
    // Warm: what a flood costs without deaf readers is not what they cost.
    let warm = client.start(None, &waiting("head -c 50000000 /dev/zero"), None).await?;
    client.stdin(warm.id, None, "go\n".into(), true).await?;
    count(&client, warm.id).await?;
    let flood = client.start(None, &waiting(&format!("head -c {FLOOD} /dev/zero")), None).await?;
    let mut readers = Vec::new();
    for n in 0..100 {
        readers.push(deaf(&server, flood.id, n % 2 == 0).await?);
    }
    let before = resident(&server).await?;
    client.stdin(flood.id, None, "go\n".into(), true).await?;
    // A reader gets everything that is kept and a gap for the rest, while a hundred others do not read.
    let (came, missing) = count(&client, flood.id).await?;
    ensure!(came + missing == FLOOD, "{came} bytes came and {missing} are missing of {FLOOD}");
    let more = resident(&server).await?.saturating_sub(before);
    ensure!(more <= 64 * MIB, "a hundred readers that never read cost {} MiB", more / MIB);
    println!("a hundred readers that never read cost {} KiB", more / 1024);
    // And the rest of the server does not notice.
    let echo = StartRequest { shell: Some("echo hello".into()), ..StartRequest::default() };
    let done = client.wait(client.start(None, &echo, None).await?.id, PATIENCE).await?;
    ensure!(done.exit.is_some_and(|exit| exit.code == Some(0)));
    // A reader can resume at its position now.
    let path = format!("/v1/executions/{}/events?after={}&tail=1000", flood.id, 5);
    let late = server.api().get(&path).await?;
    ensure!(late.text().contains("event: closed"), "{}", late.head);
    drop(readers);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_idle_streams_cost_at_most_32_kib_each() -> Result<()> {
    let server = server().await?;
    let client = server.client()?;
    let execution = client.start(None, &waiting("echo done"), None).await?;
    let mut streams = Vec::new();
    for n in 0..50 {
        streams.push(deaf(&server, execution.id, n % 2 == 0).await?);
    }
    let before = resident(&server).await?;
    let count = 1_000 * scale();
    for n in 0..count {
        streams.push(deaf(&server, execution.id, n % 2 == 0).await?);
    }
    let each = resident(&server).await?.saturating_sub(before) / count;
    println!("an idle stream costs {each} bytes");
    ensure!(each <= 32 << 10, "an idle stream costs {each} bytes");
    // All of them get the events, and all of them end.
    client.stdin(execution.id, None, "go\n".into(), true).await?;
    for (n, stream) in streams.iter_mut().enumerate() {
        let mut got = Vec::new();
        let read = tokio::io::AsyncReadExt::read_to_end(stream, &mut got);
        let _ = tokio::time::timeout(PATIENCE, read).await.context("a stream does not end")?;
        let text = String::from_utf8_lossy(&got);
        ensure!(text.contains("done") && text.contains("closed"), "stream {n} got: {text}");
    }
    Ok(())
}
