//! Terminals through the API: the echo of one typed byte over a WebSocket, compared with a minimal WebSocket
//! server.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::bench_server::{BenchServer, cancel, session, start};
use super::minimal_server::MinimalServer;
use super::socket::Socket;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Faster than anybody types. After some hundred small chunks in a row the worker batches output for a
/// millisecond.
const TYPING_PAUSE: Duration = Duration::from_millis(2);
/// The header of an output frame: its kind, the stream, its seq.
const FRAME_HEADER_BYTES: usize = 10;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(1000, 200);
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = session(&mut http).await?;
    let body = r#"{"argv":["/bin/sleep","1000"],"tty":{"rows":24,"cols":80}}"#;
    let id = start(&mut http, &session, body).await?;
    let mut ours_socket = site.attach(&id).await?;
    ours_socket.message().await?; // `started`
    let mut terminal_socket = site.terminal(&mut http, &session, "sleep 1000").await?;
    let peer = MinimalServer::start(None)?;
    let mut peers_socket = peer.connect().await?;
    let (mut theirs, mut ours, mut terminals) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..rounds {
        tokio::time::sleep(TYPING_PAUSE).await;
        // The first one after the pause finds an idle machine: alternate.
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => echo(&mut peers_socket, b"x", 0, &mut theirs).await?,
                1 => echo(&mut terminal_socket, b"\x10x", FRAME_HEADER_BYTES, &mut terminals).await?,
                _ => echo(&mut ours_socket, b"\x10x", FRAME_HEADER_BYTES, &mut ours).await?,
            }
        }
    }
    cancel(&mut http, &id).await?;
    let title = format!("echo of one byte on a terminal over a WebSocket, {rounds} rounds");
    let mut report = Report::new("http_echo", title);
    report.times("minimal WebSocket server", &theirs);
    report.times("through the API", &ours);
    report.times("a session's terminal", &terminals);
    report.ratio("p50 beside the minimal server", ours.p50() / theirs.p50(), Goal::AtMost(2.0));
    report.ratio("p50 of the terminal beside it", terminals.p50() / theirs.p50(), Goal::None);
    let p99 = ours.spread().p99 / theirs.spread().p99;
    report.ratio("p99 beside the minimal server's", p99, Goal::None);
    Ok(report)
}

async fn echo(socket: &mut Socket, typed: &[u8], before: usize, samples: &mut Samples) -> Result<()> {
    let begun = Instant::now();
    socket.binary(typed).await?;
    let echoed = socket.message().await?.context("the terminal ended")?;
    samples.add(begun.elapsed());
    ensure!(echoed.get(before..) == Some(b"x"), "no echo: {echoed:?}");
    Ok(())
}
