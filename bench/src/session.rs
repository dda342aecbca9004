//! Sessions: made cold, taken from the pool, ended; beside a bare spawn.
//!
//! Attaching a process to a cgroup after the machine has idled waits for the kernel's grace period (milliseconds). So a
//! cold session is measured in a tight loop, after a pause, and, where that can be had, by a worker that sees no cgroups.

use std::time::{Duration, Instant};

use anyhow::Result;
use headwater_protocol::SessionSpec;
use headwater_tests::Options;

use crate::lab::{Effort, Lab, bare};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Prepared sessions of the pool under test.
const POOL: u32 = 4;
/// Long enough for the machine to fall idle.
const PAUSE: Duration = Duration::from_millis(30);

/// Measures it.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(300, 60);
    let cold = Lab::with_pool(0).await?;
    let pooled = Lab::with_pool(POOL as usize).await?;
    let without = without_cgroups(0).await;
    let mut floor = Samples::default();
    let (mut pool, mut tight) = (Pair::default(), Pair::default());
    let (mut paused, mut plain) = (Pair::default(), Pair::default());
    for round in 0..rounds {
        floor.time(bare)?;
        pooled.pool_is_full(POOL).await?;
        pool.take(&pooled).await?;
        pooled.pool_is_full(POOL).await?;
        tight.take(&cold).await?;
        if let Ok(without) = &without {
            plain.take(without).await?;
        }
        if round % 3 == 0 {
            tokio::time::sleep(PAUSE).await;
            paused.take(&cold).await?;
        }
    }
    let mut report = Report::new("session", format!("create and end, {rounds} rounds"));
    report.times("bare spawn and wait", &floor);
    report.times("create, from the pool", &pool.created);
    report.times("create, cold", &tight.created);
    report.times(format!("create, cold, after idling for {PAUSE:?}"), &paused.created);
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

/// Sessions made, and ended.
#[derive(Debug, Default)]
struct Pair {
    created: Samples,
    ended: Samples,
}

impl Pair {
    async fn take(&mut self, lab: &Lab) -> Result<()> {
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

/// A worker in a mount namespace of its own that shows it no cgroups: what is left is the same but for them.
pub async fn without_cgroups(pool: usize) -> Result<Lab> {
    let hide = "umount -R /sys/fs/cgroup && exec \"$0\" \"$@\"";
    let before = ["unshare", "--mount", "sh", "-c", hide].map(str::to_owned).to_vec();
    Lab::with(Options { pool: Some(pool), before, ..Options::default() }).await
}
