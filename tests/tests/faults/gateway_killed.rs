//! kill -9 of the gateway, of the worker, and of both, at random moments, while programs print and readers over SSE and
//! WebSocket drop and come back: every reader's bytes are the program's, each has one verdict, nothing runs twice.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use headwater_client::{AttachOptions, Client, FollowOptions, IdempotencyKey, OutputStream};
use headwater_protocol::api::{SessionRequest, StartRequest};
use headwater_protocol::{EventKind, ExecutionId, SessionId};
use headwater_tests::{Collected, ServerOptions, TestServer};
use tokio::task::JoinSet;

use crate::lines::{Lines, To};
use crate::{Random, scale};

const SESSIONS: usize = 4;
/// Readers of each execution: half by SSE, half by WebSocket.
const READERS: u64 = 5;

/// How a reader connects.
#[derive(Debug, Clone, Copy)]
enum Transport {
    Sse,
    WebSocket,
}

/// Reads `at_once` events, leaves, comes back after the last one, until all is read.
async fn read_in_pieces(
    client: Client,
    id: ExecutionId,
    transport: Transport,
    at_once: usize,
) -> Result<Collected> {
    let mut seen = Collected::default();
    while !seen.closed {
        match transport {
            Transport::Sse => {
                let options = FollowOptions {
                    after: seen.last,
                    until_closed: true,
                    batch_ms: Some(5),
                    ..FollowOptions::default()
                };
                let coming = client.retry(|client| {
                    let options = options.clone();
                    async move { client.follow(id, options).await }
                });
                let mut follower = coming.await.context("follow")?;
                for _ in 0..at_once {
                    let Some(event) = follower.next().await.context("next")? else { break };
                    seen.take(event)?;
                }
            }
            Transport::WebSocket => {
                let options = AttachOptions {
                    after: seen.last,
                    until_closed: true,
                    read_only: true,
                    ..AttachOptions::default()
                };
                let attached = client.retry(|client| {
                    let options = options.clone();
                    async move { client.attach(id, options).await }
                });
                let mut attached = attached.await.context("attach")?;
                for _ in 0..at_once {
                    let Some(mut event) = attached.next().await.context("next frame")? else { break };
                    if let EventKind::Output { stream, offset, .. } = &mut event.kind {
                        *offset = seen.position(*stream); // frames do not carry it
                    }
                    seen.take(event)?;
                }
            }
        }
    }
    Ok(seen)
}

/// Starts a program with a key, asks a second time with the same key, and has it read by many.
async fn run(
    client: Client,
    session: SessionId,
    n: u64,
    lines: Lines,
    begin_after: Duration,
) -> Result<ExecutionId> {
    tokio::time::sleep(begin_after).await;
    let mut spec = lines.spec();
    spec.metadata.insert("n".into(), n.to_string());
    let request = StartRequest::from(spec);
    let key = IdempotencyKey::new(format!("start-{n}"));
    let start = |client: Client| {
        let (request, key) = (request.clone(), key.clone());
        async move { client.start(Some(session), &request, Some(&key)).await }
    };
    let first = client.retry(start).await.context("start")?;
    let again = client.retry(start).await.context("start again")?;
    ensure!(first.id == again.id, "the same key started {} and {}", first.id, again.id);
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let transport = if reader % 2 == 0 { Transport::Sse } else { Transport::WebSocket };
        let at_once = usize::try_from(3 + (n + reader) % 17)?;
        readers.spawn(read_in_pieces(client.clone(), first.id, transport, at_once));
    }
    while let Some(seen) = readers.join_next().await {
        lines.check(&seen?.with_context(|| format!("a reader of {}", first.id))?)?;
    }
    Ok(first.id)
}

fn plan(n: u64, random: &mut Random) -> Lines {
    let to = [To::Pipes, To::Terminal, To::OnePipe][usize::try_from(n % 3).unwrap_or(0)];
    Lines { salt: n * 7919, count: 20 + random.below(300), rest_ms: 20 + random.below(100), to }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_gateway_and_worker_at_random_moments_loses_nothing_and_starts_nothing_twice() -> Result<()> {
    let mut random = Random::new();
    let args = vec!["--requests-per-second".into(), "0".into()];
    let mut server = TestServer::with(ServerOptions { args, ..ServerOptions::default() }).await?;
    let client = server.client()?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(client.create_session(&SessionRequest::default(), None).await?.id);
    }
    let (count, begun) = (20 * scale(), Instant::now());
    let mut all = JoinSet::new();
    for n in 0..count {
        let after = Duration::from_millis(if n < count / 2 { 0 } else { random.below(4000 * scale()) });
        let session = sessions[usize::try_from(n)? % SESSIONS];
        all.spawn(run(client.clone(), session, n, plan(n, &mut random), after));
    }
    let (mut kills, mut ids) = (0, Vec::new());
    while !all.is_empty() {
        if kills < 8 * scale() {
            tokio::time::sleep(Duration::from_millis(random.below(700))).await;
            kill(&mut server, kills).await?;
            kills += 1;
        } else if let Some(one) = all.join_next().await {
            ids.push(one??);
        }
        while let Some(one) = all.try_join_next() {
            ids.push(one??);
        }
    }
    println!("{kills} kills, {count} executions, {} readers in {:?}", count * READERS, begun.elapsed());
    look_afterwards(&client, &ids, count).await
}

/// By turns: the gateway, the worker, both.
async fn kill(server: &mut TestServer, turn: u64) -> Result<()> {
    if !turn.is_multiple_of(3) {
        // It may be on its way up from the last kill.
        let _ = server.kill_worker().await;
    }
    if turn % 3 != 1 {
        server.kill();
        server.start_again().await.context("the gateway comes back")?;
    }
    Ok(())
}

/// Each was started once, the store says how each ended, and raw output is what the readers got.
async fn look_afterwards(client: &Client, ids: &[ExecutionId], count: u64) -> Result<()> {
    let filter = headwater_client::ExecutionFilter { limit: Some(1000), ..Default::default() };
    let info = client.retry(|client| {
        let filter = filter.clone();
        async move { client.executions(&filter).await }
    });
    let info = info.await?.items;
    assert_eq!((info.len() as u64, ids.len() as u64), (count, count), "each was started once");
    for execution in info {
        assert!(ids.contains(&execution.id) && execution.exit.is_some(), "{execution:?}");
        let n: u64 = execution.metadata.get("n").context("no number")?.parse()?;
        if n.is_multiple_of(3) {
            let raw = client.output(execution.id, OutputStream::Stdout, None).await?.bytes().await?;
            assert_eq!(raw.len() as u64, execution.stdout_bytes, "raw output of {}", execution.id);
        }
    }
    Ok(())
}
