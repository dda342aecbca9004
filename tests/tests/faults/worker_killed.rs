//! kill -9 of the worker at random moments, many times, while many programs print: nothing is lost, nothing comes
//! twice, nothing is out of order, no program ends, and each has one verdict.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_contract::{Client, FollowOptions};
use headwater_protocol::{EventKind, ExecutionId, SessionId, SessionSpec};
use headwater_tests::{Collected, Options, TestWorker, collect, collect_until_closed};
use tokio::task::{JoinSet, LocalSet};

use crate::lines::{Lines, To};
use crate::{Random, scale};

const SESSIONS: usize = 10;

fn plan(n: u64, random: &mut Random) -> Lines {
    let to =
        [To::Pipes, To::Terminal, To::Pipes, To::OnePipe, To::Terminal][usize::try_from(n % 5).unwrap_or(0)];
    Lines { salt: n * 7919, count: 20 + random.below(500), rest_ms: 20 + random.below(120), to }
}

/// Follows in one go, over all restarts.
async fn follow(client: &Client, id: ExecutionId) -> Result<Collected> {
    collect(client.retry(|client| client.follow(id, collect_until_closed())).await?).await
}

/// Follows a few events at a time, each time with a new follower that goes on after the last event.
async fn follow_in_pieces(client: &Client, id: ExecutionId, at_once: usize) -> Result<Collected> {
    let mut seen = Collected::default();
    while !seen.closed {
        let options = FollowOptions { after: seen.last, batch_ms: 5, ..collect_until_closed() };
        let mut follower = client.retry(|client| client.follow(id, options.clone())).await?;
        for _ in 0..at_once {
            let Some(event) = follower.next().await? else { break };
            seen.take(event)?;
        }
    }
    Ok(seen)
}

/// Starts a program, however often the worker is killed meanwhile, and follows it to its end.
async fn run(
    client: Client,
    session: SessionId,
    lines: Lines,
    begin_after: Duration,
) -> Result<(ExecutionId, u64)> {
    tokio::time::sleep(begin_after).await;
    let spec = SessionSpec::default();
    client.retry(|client| client.create_session(Some(session), &spec)).await.context("session")?;
    let id = ExecutionId::random();
    let spec = lines.spec();
    let seen = match lines.salt % 3 {
        0 => {
            let begun = client.retry(|client| client.run(session, id, &spec, collect_until_closed()));
            collect(begun.await.context("run")?).await.context("run and follow")?
        }
        1 => {
            client.retry(|client| client.start(session, Some(id), &spec)).await.context("start")?;
            follow(&client, id).await.context("follow")?
        }
        _ => {
            client.retry(|client| client.start(session, Some(id), &spec)).await.context("start")?;
            follow_in_pieces(&client, id, 5).await.context("follow in pieces")?
        }
    };
    lines.check(&seen)?;
    let bytes = seen.stdout.len() + seen.stderr.len() + seen.output.len();
    Ok((id, bytes as u64))
}

#[tokio::test]
async fn killing_the_worker_at_random_moments_loses_nothing() -> Result<()> {
    LocalSet::new().run_until(Box::pin(kill_and_look())).await
}

async fn kill_and_look() -> Result<()> {
    let mut random = Random::new();
    let mut worker = TestWorker::with(Options { pool: Some(2), ..Options::default() }).await?;
    let client = worker.client().await?;
    let sessions: Vec<_> = (0..SESSIONS).map(|_| SessionId::random()).collect();
    let (count, begun) = (100 * scale(), Instant::now());
    let mut all = JoinSet::new();
    for n in 0..count {
        // The first run at the first kill, the others start between kills.
        let after = Duration::from_millis(if n < 50 { 0 } else { random.below(6000 * scale()) });
        let session = sessions[usize::try_from(n)? % SESSIONS];
        all.spawn_local(run(client.clone(), session, plan(n, &mut random), after));
    }
    let (mut kills, mut ids, mut bytes) = (0, Vec::new(), 0);
    while !all.is_empty() {
        if kills < 15 * scale() {
            tokio::time::sleep(Duration::from_millis(random.below(600))).await;
            worker.kill();
            tokio::time::sleep(Duration::from_millis(random.below(60))).await;
            worker.start_again().await.context("the worker comes back")?;
            kills += 1;
        } else if let Some(one) = all.join_next().await {
            let (id, printed) = one??;
            ids.push(id);
            bytes += printed;
        }
        while let Some(one) = all.try_join_next() {
            let (id, printed) = one??;
            ids.push(id);
            bytes += printed;
        }
    }
    println!("{kills} kills, {count} executions, {bytes} bytes in {:?}", begun.elapsed());
    // Each was started once, and what a late reader gets is what those who watched got.
    let client = worker.client().await?;
    let info = client.executions(None, false).await?;
    assert_eq!((info.len(), ids.len()), (usize::try_from(count)?, usize::try_from(count)?));
    assert!(info.iter().all(|info| ids.contains(&info.id) && info.state.name() == "closed"));
    assert_eq!(client.sessions(true).await?.len(), SESSIONS);
    Ok(())
}

#[tokio::test]
async fn a_worker_killed_right_after_a_start_has_the_start_in_its_log() -> Result<()> {
    LocalSet::new().run_until(Box::pin(kill_while_starting())).await
}

async fn kill_while_starting() -> Result<()> {
    let mut random = Random::new();
    let mut worker = TestWorker::with(Options { pool: Some(0), ..Options::default() }).await?;
    let session = worker.session().await?;
    for n in 0..15 * scale() {
        let client = worker.client().await?;
        let lines =
            Lines { salt: n, count: 3, rest_ms: 1, to: [To::Pipes, To::Terminal][usize::try_from(n % 2)?] };
        let id = ExecutionId::random();
        let started = tokio::task::spawn_local(async move {
            let spec = lines.spec();
            client.retry(|client| client.start(session, Some(id), &spec)).await
        });
        tokio::time::sleep(Duration::from_micros(random.below(12_000))).await;
        worker.kill();
        worker.start_again().await?;
        started.await??;
        let client = worker.client().await?;
        let mut follower = client.follow(id, FollowOptions::default()).await?;
        let first = follower.next().await?.context("no event")?;
        assert!(matches!(first.kind, EventKind::Started { pid, .. } if pid > 1), "{first:?}");
        lines.check(&worker.read(id).await?)?;
    }
    Ok(())
}
