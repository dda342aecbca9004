//! Throughput through the API: a large output to one client as a raw body, over a WebSocket and as events;
//! alone and while 100 others are attached that never read; compared with loopback TCP.

use headwater_protocol::frames::OUTPUT;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::bench_server::{BenchServer, closed, enter, print, remove, roomy_session, start};
use super::events::TextCount;
use super::http::Http;
use super::stalled_clients::StalledClients;
use crate::bench_worker::Effort;
use crate::process::Peak;
use crate::report::{Goal, Report};
use crate::stats::median;
use crate::throughput::{loopback, rate};

const MIB: u64 = 1 << 20;
const GB: f64 = 1e9;
/// The number of clients that never read: half of them follow events, half use a WebSocket.
const STALLED: usize = 100;
/// The header of an output frame of the WebSocket, without its kind: the stream and its seq.
const FRAME_HEADER_BYTES: u64 = 9;

/// How a client reads the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Raw,
    Socket,
    Events,
    /// Events with the default batching: up to 100 ms or 4 KiB.
    ScreenEvents,
    /// The raw body, after the end.
    KeptOutput,
}

/// The results of one kind of transfer.
#[derive(Debug, Default)]
struct Found {
    rates: Vec<f64>,
    peaks: Vec<f64>,
}

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (bytes, turns) = effort.pick((1024 * MIB, 3), (128 * MIB, 1));
    // One server never has stalled clients, so that its memory does not include what they left.
    let (mut quiet, mut busy) = (Bench::new(bytes).await?, Bench::new(bytes).await?);
    let ways = [Transfer::Raw, Transfer::Socket, Transfer::Events];
    let others = [Transfer::ScreenEvents, Transfer::KeptOutput];
    let mut tcp = Vec::new();
    let (mut alone, mut crowded): ([Found; 3], [Found; 3]) = Default::default();
    let mut more: [Found; 2] = Default::default();
    for _ in 0..turns {
        tcp.push(rate(bytes, || loopback(bytes))?);
        for (at, way) in ways.into_iter().enumerate() {
            quiet.one(way, 0, &mut alone[at]).await?;
            busy.one(way, STALLED, &mut crowded[at]).await?;
        }
        for (at, way) in others.into_iter().enumerate() {
            quiet.one(way, 0, &mut more[at]).await?;
        }
    }
    let title = format!("{} MiB of text to one client, {turns} turns, medians", bytes / MIB);
    let mut report = Report::new("http_throughput", title);
    let tcp = median(&mut tcp);
    report.value("loopback TCP", tcp / GB, "GB/s");
    let names = ["raw body, live", "WebSocket", "events, each at once"];
    let goals = [0.42, 0.38, 0.2];
    for at in 0..ways.len() {
        compare(&mut report, tcp, names[at], goals[at], &mut alone[at], &mut crowded[at]);
    }
    for (found, name) in
        more.iter_mut().zip(["events as for a screen (the default)", "raw body, after the end"])
    {
        let rate = median(&mut found.rates);
        report.value(name, rate / GB, "GB/s");
        report.ratio(format!("{name} beside TCP"), rate / tcp, Goal::None);
    }
    Ok(report)
}

fn compare(report: &mut Report, tcp: f64, name: &str, goal: f64, alone: &mut Found, crowded: &mut Found) {
    let rates = [alone, crowded].map(|found| (median(&mut found.rates), median(&mut found.peaks)));
    let [(rate, peak), (with, more)] = rates;
    report.value(name, rate / GB, "GB/s");
    report.value(format!("... while {STALLED} others never read"), with / GB, "GB/s");
    report.ratio(format!("{name} beside loopback TCP"), rate / tcp, Goal::AtLeast(goal));
    report.ratio(
        format!("... with {STALLED} that never read beside without"),
        with / rate,
        Goal::AtLeast(0.9),
    );
    report.value("peak memory of gateway and worker, alone", peak, "MiB");
    report.value(format!("... while {STALLED} others never read"), more, "MiB");
    report.check("... memory that they cost gateway and worker", more - peak, " MiB", Goal::AtMost(64.0));
}

struct Bench {
    site: BenchServer,
    http: Http,
    session: String,
    bytes: u64,
}

impl Bench {
    async fn new(bytes: u64) -> Result<Self> {
        let site = BenchServer::start(1).await?;
        let mut http = site.http().await?;
        let session = roomy_session(&mut http).await?;
        Ok(Self { site, http, session, bytes })
    }

    /// The program waits for a line, so that all clients are attached before its first byte.
    async fn one(&mut self, way: Transfer, absent: usize, found: &mut Found) -> Result<()> {
        let line = format!("read go; exec {}", print(self.bytes)?);
        let body = json!({ "shell": line, "stdin": "open" }).to_string();
        let id = start(&mut self.http, &self.session, &body).await?;
        let absent = StalledClients::gather(&self.site, &id, absent).await?;
        let [gateway, worker] = self.site.pids().await?;
        let peaks = [Peak::of(gateway), Peak::of(worker)];
        let (got, rate) = match way {
            Transfer::KeptOutput => {
                enter(&mut self.http, &id).await?;
                closed(&mut self.http, &id).await?;
                take(&self.site, &id, way, None).await?
            }
            _ => take(&self.site, &id, way, Some(&mut self.http)).await?,
        };
        ensure!(got == self.bytes, "{got} bytes came of {} ({way:?})", self.bytes);
        let [gateway, worker] = peaks.map(Peak::mib);
        found.rates.push(rate);
        found.peaks.push(gateway? + worker?);
        drop(absent);
        remove(&mut self.http, &id).await
    }
}

/// Reads everything, from the line that starts the program, if one is sent; returns bytes, and bytes per
/// second.
async fn take(site: &BenchServer, id: &str, way: Transfer, go: Option<&mut Http>) -> Result<(u64, f64)> {
    let mut client = site.http().await?;
    let path = format!("/v1/executions/{id}");
    if way == Transfer::Socket {
        let mut socket = site.attach(id).await?;
        let begun = Instant::now();
        if let Some(go) = go {
            enter(go, id).await?;
        }
        let mut got = 0;
        while let Some((kind, bytes)) = socket.count().await? {
            if kind == OUTPUT {
                got += bytes - FRAME_HEADER_BYTES;
            }
        }
        return Ok((got, got as f64 / begun.elapsed().as_secs_f64()));
    }
    let asked = match way {
        Transfer::Raw => format!("{path}/output?stream=stdout&follow=true"),
        Transfer::KeptOutput => format!("{path}/output?stream=stdout"),
        Transfer::Events => format!("{path}/events?batch_ms=0"),
        _ => format!("{path}/events"),
    };
    let mut begun = Instant::now();
    client.stream("GET", &asked, "", "").await?;
    if let Some(go) = go {
        begun = Instant::now();
        enter(go, id).await?;
    }
    let raw = matches!(way, Transfer::Raw | Transfer::KeptOutput);
    let mut count = TextCount::default();
    while let Some(piece) = client.piece().await? {
        if raw {
            count.bytes += piece.len() as u64;
        } else {
            count.push(piece);
        }
    }
    Ok((count.bytes, count.bytes as f64 / begun.elapsed().as_secs_f64()))
}
