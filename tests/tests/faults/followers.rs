//! Followers that never read, that come late, that drop and come back, by the hundred: the program does not notice.

use anyhow::{Context, Result};
use headwater_contract::FollowOptions;
use headwater_protocol::{EventKind, ExecutionId, Limits, Seq, StartSpec, Stdin};
use headwater_tests::host::memory;
use headwater_tests::{Collected, Options, TestWorker, collect, collect_until_closed};
use tokio::task::JoinSet;

use crate::lines::{Lines, To};
use crate::{Random, scale};

const MIB: u64 = 1 << 20;

/// Connections that are not read: their runtime is not driven once they are open.
fn deaf_followers(worker: &TestWorker, id: ExecutionId, count: usize) -> Result<Deaf> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let followers = runtime.block_on(async {
        let mut followers = Vec::new();
        for _ in 0..count {
            let mut follower = worker.client().await?.follow(id, collect_until_closed()).await?;
            let first = follower.next().await?.context("no event")?;
            anyhow::ensure!(matches!(first.kind, EventKind::Started { .. }));
            followers.push(follower);
        }
        Ok(followers)
    })?;
    Ok(Deaf { runtime, followers })
}

struct Deaf {
    runtime: tokio::runtime::Runtime,
    followers: Vec<headwater_contract::Follower>,
}

#[test]
fn a_hundred_followers_that_never_read_cost_little_and_can_go_on_later() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let worker = TestWorker::with(Options { pool: Some(1), ..Options::default() }).await?;
        let mut spec = StartSpec::shell("read go; head -c 1000000000 /dev/zero; echo end");
        spec.stdin = Stdin::Open;
        spec.limits = Limits { output_bytes: Some(64 * MIB), ..Limits::default() };
        let id = worker.begin(&spec).await?;
        // Warm: what one execution of this kind costs is not what the followers cost.
        worker.run(&StartSpec::shell("head -c 10000000 /dev/zero")).await?;
        let deaf = std::thread::scope(|scope| {
            scope.spawn(|| deaf_followers(&worker, id, 100)).join().expect("the thread does not panic")
        })?;
        let before = memory(worker.pid(), "VmRSS")?;
        let reader = tokio::spawn({
            let client = worker.client().await?;
            async move { collect(client.follow(id, collect_until_closed()).await?).await }
        });
        worker.client().await?.stdin(id).await?.write("go\n".into()).await?;
        let seen = reader.await??;
        assert_eq!((seen.verdict().code, seen.verdict().stdout_bytes), (Some(0), 1_000_000_004));
        let peak = memory(worker.pid(), "VmHWM")?;
        println!("resident before {} MiB, at most {} MiB", before / MIB, peak / MIB);
        assert!(peak - before.min(peak) <= 64 * MIB, "{} MiB more", (peak - before) / MIB);
        // A late reader gets the beginning, the gap, and the end.
        std::thread::scope(|scope| {
            scope.spawn(move || deaf.wake()).join().expect("the thread does not panic")
        })
    })
}

impl Deaf {
    fn wake(mut self) -> Result<()> {
        let follower = self.followers.pop().context("no follower")?;
        let seen = self.runtime.block_on(async {
            let mut seen = Collected { started: true, last: Seq(1), events: 1, ..Collected::default() };
            let mut follower = follower;
            while let Some(event) = follower.next().await? {
                seen.take(event)?;
            }
            anyhow::Ok(seen)
        })?;
        let missing: u64 = seen.gaps.iter().map(|gap| gap.2 - gap.1).sum();
        anyhow::ensure!(
            missing > 0 && seen.stdout.len() as u64 + missing == 1_000_000_004,
            "{:?}",
            seen.gaps
        );
        anyhow::ensure!(seen.stdout.ends_with(b"\0end\n") && seen.closed);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_are_dropped_and_resume_read_the_same_log() -> Result<()> {
    let mut random = Random::new();
    let worker = TestWorker::with(Options { pool: Some(1), ..Options::default() }).await?;
    let lines = Lines { salt: 5, count: 1500, rest_ms: 10, to: To::Pipes };
    let id = worker.begin(&lines.spec()).await?;
    let mut all = JoinSet::new();
    // 500 readers at a scale of 10.
    for n in 0..50 * scale() {
        let client = worker.client().await?;
        // Some begin early, others when the log is long.
        let (late, portions) = (random.below(4000), 1 + random.below(20));
        all.spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(late)).await;
            let mut seen = Collected::default();
            for drops in 0_u64.. {
                let options = FollowOptions { after: seen.last, ..collect_until_closed() };
                let mut follower = client.follow(id, options).await?;
                let at_once = if drops < 20 { portions } else { u64::MAX };
                for _ in 0..at_once {
                    let Some(event) = follower.next().await? else { break };
                    seen.take(event)?;
                }
                if seen.closed {
                    break;
                }
            }
            lines.check(&seen).with_context(|| format!("reader {n}"))
        });
    }
    while let Some(one) = all.join_next().await {
        one??;
    }
    Ok(())
}

#[tokio::test]
async fn a_reader_of_the_tail_that_falls_behind_gets_a_gap() -> Result<()> {
    let worker = crate::worker().await?;
    // Far more than the connection takes without being read.
    let mut spec = StartSpec::shell("read go; seq 1000000 8999999; echo end");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let client = worker.client().await?;
    let options = FollowOptions { tail_bytes: Some(10_000), ..collect_until_closed() };
    let mut follower = client.follow(id, options).await?;
    let mut seen = Collected::default();
    seen.take(follower.next().await?.context("no event")?)?;
    client.stdin(id).await?.write("go\n".into()).await?;
    client.wait(id, headwater_tests::host::PATIENCE, true).await?;
    while let Some(event) = follower.next().await? {
        seen.take(event)?;
    }
    let missing: u64 = seen.gaps.iter().map(|gap| gap.2 - gap.1).sum();
    assert_eq!(seen.stdout.len() as u64 + missing, 64_000_004);
    assert!(missing > 0 && seen.text().ends_with("8999999\nend\n"), "{:?}", seen.gaps);
    Ok(())
}
