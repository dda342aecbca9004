//! Resuming: the last KiB of a large log, compared with the last KiB of a small one.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use headwater_contract::FollowOptions;
use headwater_protocol::{EventKind, ExecutionId, Seq, SessionId, StartSpec};

use crate::bench_worker::{BenchWorker, Effort};
use crate::report::{Goal, Report};
use crate::stats::Samples;

const KIB: u64 = 1 << 10;
/// The last chunk of output, which is requested.
const LAST_BYTES: u64 = KIB;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (large, rounds) = effort.pick((KIB * KIB * KIB, 500), (KIB * KIB * KIB / 4, 100));
    let lab = BenchWorker::with_pool(1).await?;
    let session = lab.roomy_session().await?;
    let small = Resumable::make(&lab, session, 10 * KIB).await?;
    let large_log = Resumable::make(&lab, session, large).await?;
    let (mut floor, mut ours) = (Samples::default(), Samples::default());
    for _ in 0..rounds {
        small.resume(&lab, &mut floor).await?;
        large_log.resume(&lab, &mut ours).await?;
    }
    let title = format!("the last KiB of a log of {} MiB, {rounds} rounds", large >> 20);
    let mut report = Report::new("resume", title);
    report.times("log of 10 KiB", &floor);
    report.times(format!("log of {} MiB", large >> 20), &ours);
    report.ratio("the large one beside the small one", ours.p50() / floor.p50(), Goal::AtMost(1.5));
    Ok(report)
}

/// A closed log, and the seq before its last chunk of output.
struct Resumable {
    id: ExecutionId,
    after: Seq,
}

impl Resumable {
    async fn make(lab: &BenchWorker, session: SessionId, bytes: u64) -> Result<Self> {
        let id = ExecutionId::random();
        // The pause makes the last KiB a separate chunk.
        let line =
            format!("head -c {} /dev/zero; sleep 0.2; head -c {LAST_BYTES} /dev/zero", bytes - LAST_BYTES);
        lab.client.start(session, Some(id), &StartSpec::shell(line)).await?;
        let execution = lab.client.wait(id, Duration::from_mins(1), true).await?;
        ensure!(execution.stdout_bytes == bytes, "{} bytes were logged of {bytes}", execution.stdout_bytes);
        // After the last chunk come `exited` and `closed`.
        Ok(Self { id, after: Seq(execution.last_seq.0 - 3) })
    }

    async fn resume(&self, lab: &BenchWorker, samples: &mut Samples) -> Result<()> {
        let options = FollowOptions { after: self.after, ..FollowOptions::default() };
        let begun = Instant::now();
        let mut follower = lab.client.follow(self.id, options).await?;
        let event = follower.next().await?.context("the log ends too early")?;
        samples.add(begun.elapsed());
        match event.kind {
            EventKind::Output { bytes, .. } if bytes.len() as u64 == LAST_BYTES => {}
            other => anyhow::bail!("not the last KiB: {other:?}"),
        }
        while follower.next().await?.is_some() {}
        Ok(())
    }
}
