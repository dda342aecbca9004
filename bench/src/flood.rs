//! Terminals: a flood of 80-column lines, compared with a minimal relay.

use std::fs;
use std::io::{Read, Write};
use std::time::Instant;

use anyhow::{Result, ensure};
use headwater_protocol::{EventKind, StartSpec, TtySize};

use crate::bench_worker::{BenchWorker, Effort, run};
use crate::relay::Relay;
use crate::report::{Goal, Report};
use crate::stats::median;

const LINE_BYTES: usize = 80;
const MB: f64 = 1e6;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (lines, turns) = effort.pick((800_000, 5), (200_000, 1));
    let lab = BenchWorker::with_pool(1).await?;
    let session = lab.roomy_session().await?;
    let file = lab.workspace(session).join("flood");
    fs::write(&file, [vec![b'x'; LINE_BYTES - 1], vec![b'\n']].concat().repeat(lines))?;
    let mut spec = StartSpec::argv(["/bin/cat", "/workspace/flood"]);
    spec.tty = Some(TtySize::default());
    // The terminal adds a carriage return to each line.
    let expected = (LINE_BYTES + 1) * lines;
    let (mut peers, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        peers.push(through_relay(&mut Relay::start(Some(&file))?, expected)?);
        let begun = Instant::now();
        let mut follower = run(&lab.client, session, &spec).await?;
        let mut got = 0;
        while let Some(event) = follower.next().await? {
            if let EventKind::Output { bytes, .. } = event.kind {
                got += bytes.len();
            }
        }
        ours.push(got as f64 / begun.elapsed().as_secs_f64() / MB);
        ensure!(got == expected, "{got} bytes came of {expected}");
    }
    let (peer, ours) = (median(&mut peers), median(&mut ours));
    let title =
        format!("{:.0} MB of 80-column lines on a terminal, {turns} turns, medians", expected as f64 / MB);
    let mut report = Report::new("flood", title);
    report.value("minimal relay over a unix socket", peer, "MB/s");
    report.value("at the contract", ours, "MB/s");
    report.ratio("at the contract beside the minimal relay", ours / peer, Goal::AtLeast(0.8));
    Ok(report)
}

fn through_relay(relay: &mut Relay, expected: usize) -> Result<f64> {
    let mut buffer = vec![0; 256 << 10];
    let begun = Instant::now();
    relay.socket.write_all(b"!")?;
    let mut got = 0;
    while got < expected {
        match relay.socket.read(&mut buffer)? {
            0 => break,
            n => got += n,
        }
    }
    ensure!(got == expected, "{got} bytes came of {expected}");
    Ok(got as f64 / begun.elapsed().as_secs_f64() / MB)
}
