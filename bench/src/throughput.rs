//! Throughput: a large output to one follower, alone and while 99 others are attached that never read;
//! compared with loopback TCP and with a pipe that is spliced to a file on the same disk.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use headwater_contract::Follower;
use headwater_protocol::{EventKind, ExecutionId, SessionId, StartSpec};
use rustix::pipe::SpliceFlags;

use crate::bench_worker::{BenchWorker, Effort, host_shell, run};
use crate::process::Peak;
use crate::report::{Goal, Report};
use crate::stalled_followers::StalledFollowers;
use crate::stats::median;

const MIB: u64 = 1 << 20;
const GB: f64 = 1e9;
/// The number of followers that never read.
const STALLED: usize = 99;
/// The size of each write, everywhere.
const WRITE_BYTES: usize = 64 << 10;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (bytes, turns) = effort.pick((1024 * MIB, 3), (256 * MIB, 1));
    let lab = BenchWorker::with_pool(1).await?;
    let session = lab.roomy_session().await?;
    let (mut tcp, mut splice, mut alone, mut crowded) = (vec![], vec![], vec![], vec![]);
    let (mut peak_alone, mut peak_crowded) = (vec![], vec![]);
    for _ in 0..turns {
        tcp.push(rate(bytes, || loopback(bytes))?);
        splice.push(rate(bytes, || pipe_to_file(bytes, lab.scratch()))?);
        let (rate, peak) = one(&lab, session, bytes, 0).await?;
        alone.push(rate);
        peak_alone.push(peak);
        let (rate, peak) = one(&lab, session, bytes, STALLED).await?;
        crowded.push(rate);
        peak_crowded.push(peak);
    }
    let title = format!("{} MiB of stdout in writes of 64 KiB, {turns} turns, medians", bytes / MIB);
    let mut report = Report::new("throughput", title);
    let [tcp, splice, alone, crowded] =
        [&mut tcp, &mut splice, &mut alone, &mut crowded].map(|all| median(all) / GB);
    report.value("loopback TCP", tcp, "GB/s");
    report.value("pipe to a file by splice, same disk", splice, "GB/s");
    report.value("to one follower at the contract", alone, "GB/s");
    report.value(format!("... while {STALLED} others never read"), crowded, "GB/s");
    let (small, large) = (median(&mut peak_alone), median(&mut peak_crowded));
    report.value("peak memory of the worker, one follower", small, "MiB");
    report.value(format!("... while {STALLED} others never read"), large, "MiB");
    report.ratio("one follower beside loopback TCP", alone / tcp, Goal::None);
    report.ratio("one follower beside pipe to file", alone / splice, Goal::None);
    report.ratio(
        format!("with {STALLED} that never read beside without"),
        crowded / alone,
        Goal::AtLeast(0.9),
    );
    report.check("memory that they cost the worker", large - small, " MiB", Goal::AtMost(64.0));
    report.note("at the contract there is no goal beside TCP; for the raw body over HTTP it is 0.42");
    Ok(report)
}

/// The program. It waits for a line, so that all followers are attached before its first byte.
fn writer(bytes: u64) -> String {
    format!("dd if=/dev/zero bs={WRITE_BYTES} count={} status=none", bytes / WRITE_BYTES as u64)
}

async fn one(lab: &BenchWorker, session: SessionId, bytes: u64, idle: usize) -> Result<(f64, f64)> {
    let mut spec = StartSpec::shell(format!("read go; exec {}", writer(bytes)));
    spec.stdin = headwater_protocol::Stdin::Open;
    let mut follower = run(&lab.client, session, &spec).await?;
    let id = started(&mut follower).await?;
    let crowd = StalledFollowers::gather(lab.client.socket(), id, idle).await?;
    let peak = Peak::of(lab.pid());
    let begun = Instant::now();
    lab.client.stdin(id).await?.write(bytes::Bytes::from_static(b"\n")).await?;
    let mut got = 0;
    while let Some(event) = follower.next().await? {
        if let EventKind::Output { bytes, .. } = event.kind {
            got += bytes.len() as u64;
        }
    }
    let rate = got as f64 / begun.elapsed().as_secs_f64();
    ensure!(got == bytes, "{got} bytes came of {bytes}");
    let peak = peak.mib()?;
    crowd.leave()?;
    lab.client.wait(id, std::time::Duration::from_secs(10), true).await?;
    lab.client.forget(id).await?;
    Ok((rate, peak))
}

async fn started(follower: &mut Follower) -> Result<ExecutionId> {
    match follower.next().await?.map(|event| event.kind) {
        Some(EventKind::Started { execution_id, .. }) => Ok(execution_id),
        other => Err(anyhow!("it did not start: {other:?}")),
    }
}

pub fn rate(bytes: u64, run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    run()?;
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

pub fn loopback(bytes: u64) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let sender = std::thread::spawn(move || -> Result<()> {
        let mut stream = TcpStream::connect(address)?;
        let piece = vec![0; WRITE_BYTES];
        for _ in 0..bytes / WRITE_BYTES as u64 {
            stream.write_all(&piece)?;
        }
        Ok(())
    });
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; 256 << 10];
    let mut got = 0;
    loop {
        match stream.read(&mut buffer)? {
            0 => break,
            n => got += n as u64,
        }
    }
    sender.join().map_err(|_| anyhow!("the sender failed"))??;
    ensure!(got == bytes, "{got} bytes came of {bytes}");
    Ok(())
}

fn pipe_to_file(bytes: u64, folder: &Path) -> Result<()> {
    let path = folder.join("floor");
    let file = File::create(&path)?;
    let mut child = host_shell(&format!("exec {}", writer(bytes))).spawn()?;
    let pipe = child.stdout.take().context("no pipe")?;
    rustix::pipe::fcntl_setpipe_size(pipe.as_fd(), 1 << 20)?;
    let mut got = 0;
    loop {
        match rustix::pipe::splice(&pipe, None, &file, None, 1 << 20, SpliceFlags::MOVE)? {
            0 => break,
            n => got += n as u64,
        }
    }
    ensure!(child.wait()?.success() && got == bytes, "{got} bytes came of {bytes}");
    std::fs::remove_file(path)?;
    Ok(())
}
