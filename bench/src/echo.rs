//! Terminals: the echo of one typed byte, compared with the line discipline itself and with a minimal relay.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use headwater_contract::{Follower, StdinWriter};
use headwater_protocol::{EventKind, StartSpec, TtySize};

use crate::bench_worker::{BenchWorker, Effort, run};
use crate::relay::{Relay, terminal};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Faster than anybody types. After some hundred small chunks in a row the worker batches output for a
/// millisecond.
const TYPING_PAUSE: Duration = Duration::from_millis(2);

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(1000, 200);
    let lab = BenchWorker::with_pool(1).await?;
    let session = lab.session().await?;
    let mut spec = StartSpec::argv(["/bin/sleep", "1000"]);
    spec.tty = Some(TtySize::default());
    let mut follower = run(&lab.client, session, &spec).await?;
    let Some(EventKind::Started { execution_id, .. }) = follower.next().await?.map(|event| event.kind) else {
        anyhow::bail!("the terminal did not start");
    };
    let mut keys = lab.client.stdin(execution_id).await?;
    let mut relay = Relay::start(None)?;
    let (master, _slave) = terminal()?;
    let (mut floor, mut peer, mut ours) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..rounds {
        tokio::time::sleep(TYPING_PAUSE).await;
        // The first one after the pause finds an idle machine: alternate.
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => floor.time(|| line_discipline(&master))?,
                1 => peer.time(|| through_relay(&mut relay))?,
                _ => through_contract(&mut keys, &mut follower, &mut ours).await?,
            }
        }
    }
    lab.client.cancel(execution_id, Some(Duration::ZERO)).await?;
    let mut report = Report::new("echo", format!("echo of one byte on a terminal, {rounds} rounds"));
    report.times("line discipline, in one process", &floor);
    report.times("minimal relay over a unix socket", &peer);
    report.times("at the contract", &ours);
    report.ratio("p50 beside the minimal relay", ours.p50() / peer.p50(), Goal::AtMost(2.0));
    report.ratio("p99 beside the minimal relay's", ours.spread().p99 / peer.spread().p99, Goal::None);
    report.note(
        "the goal of 2x is for a WebSocket server beside ours; the relay here speaks no protocol at all",
    );
    Ok(report)
}

fn line_discipline(master: &OwnedFd) -> Result<()> {
    rustix::io::write(master, b"x")?;
    ensure!(rustix::io::read(master, &mut [0; 16])? == 1, "one byte typed, another number echoed");
    Ok(())
}

fn through_relay(relay: &mut Relay) -> Result<()> {
    relay.socket.write_all(b"x")?;
    relay.socket.read_exact(&mut [0])?;
    Ok(())
}

async fn through_contract(
    keys: &mut StdinWriter,
    follower: &mut Follower,
    samples: &mut Samples,
) -> Result<()> {
    let begun = Instant::now();
    let echo = async {
        let event = follower.next().await?.context("the terminal ended")?;
        samples.add(begun.elapsed());
        ensure!(matches!(event.kind, EventKind::Output { .. }), "no echo: {event:?}");
        Ok(())
    };
    let (typed, echoed) = tokio::join!(keys.write(Bytes::from_static(b"x")), echo);
    typed?;
    echoed
}
