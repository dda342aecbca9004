//! Terminals through the API: a flood of 80-column lines over a WebSocket, compared with a minimal
//! WebSocket server.

use headwater_protocol::frames::OUTPUT;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::bench_server::{BenchServer, LINE, remove, roomy_session, run_to_exit, start};
use super::minimal_server::MinimalServer;
use super::socket::Socket;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::median;

const MB: f64 = 1e6;
/// The header of an output frame, without its kind.
const FRAME_HEADER_BYTES: u64 = 9;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (lines, turns) = effort.pick((800_000, 5), (200_000, 2));
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = roomy_session(&mut http).await?;
    let file = site.lines(lines)?;
    let make = format!("yes '{}' | head -n {lines} > lines", LINE.trim_end());
    run_to_exit(&mut http, &session, &json!({ "shell": make }).to_string()).await?;
    // The terminal adds a carriage return to each line.
    let expected = ((LINE.len() + 1) * lines) as u64;
    let listing = json!({ "argv": ["/bin/cat", "lines"], "tty": { "rows": 24, "cols": 80 } });
    let (mut theirs, mut ours, mut shown, mut sent) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..turns {
        let peer = MinimalServer::start(Some(&file))?;
        let mut socket = peer.connect().await?;
        let begun = Instant::now();
        socket.binary(b"!").await?;
        theirs.push(flood(&mut socket, 0, expected, begun, None).await?);
        let begun = Instant::now();
        let id = start(&mut http, &session, &listing.to_string()).await?;
        let mut socket = site.attach(&id).await?;
        ours.push(flood(&mut socket, FRAME_HEADER_BYTES, expected, begun, Some(OUTPUT)).await?);
        remove(&mut http, &id).await?;
        // A viewer that falls behind gets a snapshot of the screen: what counts is the time until the end.
        let mut socket = site.terminal(&mut http, &session, "read x; cat lines").await?;
        let begun = Instant::now();
        socket.binary(b"\x10\r").await?;
        sent = count(&mut socket, FRAME_HEADER_BYTES, Some(OUTPUT), None).await?;
        shown.push(expected as f64 / begun.elapsed().as_secs_f64() / MB);
    }
    let (theirs, ours) = (median(&mut theirs), median(&mut ours));
    let megabytes = expected as f64 / MB;
    let title = format!(
        "{megabytes:.0} MB of 80-column lines on a terminal over a WebSocket, {turns} turns, medians"
    );
    let mut report = Report::new("http_flood", title);
    report.value("minimal WebSocket server", theirs, "MB/s");
    report.value("through the API", ours, "MB/s");
    report.value("a session's terminal", median(&mut shown), "MB/s");
    report.value("bytes that its viewer was sent", sent as f64 / MB, "MB");
    report.ratio("beside the minimal server", ours / theirs, Goal::AtLeast(0.8));
    Ok(report)
}

/// Counts until the socket is closed; returns megabytes per second. With `kind`, other messages do not count.
async fn flood(
    socket: &mut Socket,
    before: u64,
    expected: u64,
    begun: Instant,
    kind: Option<u8>,
) -> Result<f64> {
    let got = count(socket, before, kind, Some(expected)).await?;
    ensure!(got == expected, "{got} bytes came of {expected}");
    Ok(got as f64 / begun.elapsed().as_secs_f64() / MB)
}

/// The number of bytes until the socket is closed or, without `kind`, until there are enough.
async fn count(socket: &mut Socket, before: u64, kind: Option<u8>, enough: Option<u64>) -> Result<u64> {
    let mut got = 0;
    while let Some((first, rest)) = socket.count().await? {
        match kind {
            None => got += rest + 1,
            Some(kind) if kind == first => got += rest - before,
            Some(_) => {}
        }
        if kind.is_none() && enough.is_some_and(|enough| got >= enough) {
            break;
        }
    }
    Ok(got)
}
