//! Run overhead: `/bin/true` in a running session, start to `exited`, compared with a bare spawn; and where
//! the time goes.

use std::time::Instant;

use anyhow::{Result, ensure};
use headwater_contract::FollowOptions;
use headwater_protocol::{EventKind, ExecutionId, StartSpec};

use crate::bench_worker::{BenchWorker, Effort, bare, until_exited};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(1000, 200);
    let lab = BenchWorker::with_pool(1).await?;
    let session = lab.session().await?;
    let spec = StartSpec::argv(["/bin/true"]);
    let (mut floor, mut whole, mut info) = (Samples::default(), Samples::default(), Samples::default());
    let (mut accepted, mut started) = (Samples::default(), Samples::default());
    for round in 0..rounds + rounds / 10 {
        if round == rounds / 10 {
            // The first rounds were the warm-up.
            for samples in [&mut floor, &mut whole, &mut info, &mut accepted, &mut started] {
                *samples = Samples::default();
            }
        }
        floor.time(bare)?;
        let begun = Instant::now();
        let mut follower =
            lab.client.run(session, ExecutionId::random(), &spec, FollowOptions::default()).await?;
        accepted.add(begun.elapsed());
        let first = follower.next().await?.map(|event| event.kind);
        ensure!(matches!(first, Some(EventKind::Started { .. })), "it did not start: {first:?}");
        started.add(begun.elapsed());
        until_exited(&mut follower).await?;
        whole.add(begun.elapsed());
        let begun = Instant::now();
        lab.client.info().await?;
        info.add(begun.elapsed());
    }
    let mut report = Report::new("run", format!("`/bin/true` in a live session, {rounds} rounds"));
    report.times("bare spawn and wait", &floor);
    report.times("in a session, start to `exited`", &whole);
    report.times("  of which until the call is answered", &accepted);
    report.times("  of which until `started`", &started);
    report.times("a call that does nothing (info)", &info);
    let spread = whole.spread();
    report.ratio("p50 beside bare spawn", spread.p50 / floor.p50(), Goal::AtMost(1.3));
    report.ratio("p99 beside its own p50", spread.p99 / spread.p50, Goal::AtMost(4.0));
    let bare = floor.spread();
    report.ratio("the same of bare spawn", bare.p99 / bare.p50, Goal::None);
    Ok(report)
}
