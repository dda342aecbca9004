//! Sessions: created cold, taken from the pool, ended; compared with a bare spawn.
//!
//! Attaching a process to a cgroup after the machine has idled waits for the kernel's grace period
//! (milliseconds). So a cold session is measured in a tight loop, after a pause, and, if possible, with a
//! worker that sees no cgroups.

use std::time::{Duration, Instant};

use anyhow::Result;
use headwater_protocol::SessionSpec;
use headwater_tests::Options;

use crate::bench_worker::{BenchWorker, Effort, bare};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// The size of the pool under test.
const POOL_SIZE: u32 = 4;
/// Long enough for the machine to become idle.
const IDLE_PAUSE: Duration = Duration::from_millis(30);

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(300, 60);
    let cold = BenchWorker::with_pool(0).await?;
    let pooled = BenchWorker::with_pool(POOL_SIZE as usize).await?;
    let without = without_cgroups(0).await;
    let mut floor = Samples::default();
    let (mut pool, mut tight) = (Pair::default(), Pair::default());
    let (mut paused, mut plain) = (Pair::default(), Pair::default());
    for round in 0..rounds {
        floor.time(bare)?;
        pooled.pool_is_full(POOL_SIZE).await?;
        pool.take(&pooled).await?;
        pooled.pool_is_full(POOL_SIZE).await?;
        tight.take(&cold).await?;
        if let Ok(without) = &without {
            plain.take(without).await?;
        }
        if round % 3 == 0 {
            tokio::time::sleep(IDLE_PAUSE).await;
            paused.take(&cold).await?;
        }
    }
    let mut report = Report::new("session", format!("create and end, {rounds} rounds"));
    report.times("bare spawn and wait", &floor);
    report.times("create, from the pool", &pool.created);
    report.times("create, cold", &tight.created);
    report.times(format!("create, cold, after idling for {IDLE_PAUSE:?}"), &paused.created);
    if without.is_ok() {
        report.times("create, cold, worker without cgroups", &plain.created);
    }
    report.times("end", &tight.ended);
    report.times("end, after idling", &paused.ended);
    if without.is_ok() {
        report.times("end, worker without cgroups", &plain.ended);
    }
    let beside = |samples: &Samples| samples.p50() / floor.p50();
    report.ratio("create from the pool beside bare spawn", beside(&pool.created), Goal::AtMost(0.6));
    report.ratio("create cold beside bare spawn", beside(&tight.created), Goal::AtMost(3.0));
    report.ratio("create cold after idling beside bare spawn", beside(&paused.created), Goal::None);
    match without {
        Ok(_) => report.ratio("create cold without cgroups", beside(&plain.created), Goal::AtMost(3.0)),
        Err(why) => report.note(format!("without cgroups: not measured ({why:#})")),
    }
    report.ratio("end beside bare spawn", beside(&tight.ended), Goal::None);
    Ok(report)
}

/// The times to create and to end sessions.
#[derive(Debug, Default)]
struct Pair {
    created: Samples,
    ended: Samples,
}

impl Pair {
    async fn take(&mut self, lab: &BenchWorker) -> Result<()> {
        let begun = Instant::now();
        let session = lab.client.create_session(None, &SessionSpec::default()).await?.id;
        self.created.add(begun.elapsed());
        let begun = Instant::now();
        lab.client.end_session(session, false).await?;
        self.ended.add(begun.elapsed());
        lab.client.end_session(session, true).await?;
        Ok(())
    }
}

/// A worker in a separate mount namespace without cgroups; everything else is the same.
pub async fn without_cgroups(pool: usize) -> Result<BenchWorker> {
    let hide = "umount -R /sys/fs/cgroup && exec \"$0\" \"$@\"";
    let before = ["unshare", "--mount", "sh", "-c", hide].map(str::to_owned).to_vec();
    BenchWorker::with(Options { pool: Some(pool), before, ..Options::default() }).await
}
