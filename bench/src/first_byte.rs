//! First byte: from the start of `echo` to the first byte of its output.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use headwater_protocol::{EventKind, StartSpec};

use crate::bench_worker::{BenchWorker, Effort, run, until_exited};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(1000, 200);
    let lab = BenchWorker::with_pool(1).await?;
    let session = lab.session().await?;
    let spec = StartSpec::argv(["/bin/echo", "hello"]);
    let (mut floor, mut ours) = (Samples::default(), Samples::default());
    for round in 0..rounds + rounds / 10 {
        if round == rounds / 10 {
            (floor, ours) = Default::default(); // the first ones warmed everything up
        }
        direct(&mut floor)?;
        let begun = Instant::now();
        let mut follower = run(&lab.client, session, &spec).await?;
        loop {
            let event = follower.next().await?.context("no output came")?;
            if matches!(event.kind, EventKind::Output { .. }) {
                break;
            }
        }
        ours.add(begun.elapsed());
        until_exited(&mut follower).await?;
    }
    let mut report = Report::new("first_byte", format!("`echo`, start to first byte, {rounds} rounds"));
    report.times("direct pipe", &floor);
    report.times("at the contract", &ours);
    report.ratio("p50 beside a direct pipe", ours.p50() / floor.p50(), Goal::AtMost(1.5));
    Ok(report)
}

pub fn direct(samples: &mut Samples) -> Result<()> {
    let begun = Instant::now();
    let mut child = Command::new("/bin/echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    let mut pipe = child.stdout.take().context("no pipe")?;
    let mut byte = [0];
    pipe.read_exact(&mut byte)?;
    samples.add(begun.elapsed());
    ensure!(child.wait()?.success(), "echo failed");
    Ok(())
}
