//! Throughput through the API: a large output to one client as a raw body, over a WebSocket and as events; alone and
//! while 100 others are attached that never read; beside loopback TCP.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::absent::Absent;
use super::events::TextCount;
use super::http::Http;
use super::site::{Site, closed, enter, print, remove, roomy_session, start};
use crate::lab::Effort;
use crate::process::Peak;
use crate::report::{Goal, Report};
use crate::stats::median;
use crate::throughput::{loopback, rate};

const MIB: u64 = 1 << 20;
const GB: f64 = 1e9;
/// Clients that never read: half of them follow events, half have a WebSocket.
const ABSENT: usize = 100;
/// What an output frame of the WebSocket has before its bytes, besides its kind: the stream and its seq.
const FRAME: u64 = 9;
const OUTPUT: u8 = 0x01;

/// How a client takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Raw,
    Socket,
    Events,
    /// Events as for a screen: gathered for up to 100 ms or 4 KiB, the default.
    ScreenEvents,
    /// The raw body once more, after the end.
    KeptOutput,
}

/// What was found of one way.
#[derive(Debug, Default)]
struct Found {
    rates: Vec<f64>,
    peaks: Vec<f64>,
}

/// Measures it.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (bytes, turns) = effort.pick((1024 * MIB, 3), (128 * MIB, 1));
    // One server has never seen a crowd: what it holds is not what a crowd has left.
    let (mut quiet, mut busy) = (Bench::new(bytes).await?, Bench::new(bytes).await?);
    let ways = [Way::Raw, Way::Socket, Way::Events];
    let others = [Way::ScreenEvents, Way::KeptOutput];
    let mut tcp = Vec::new();
    let (mut alone, mut crowded): ([Found; 3], [Found; 3]) = Default::default();
    let mut more: [Found; 2] = Default::default();
    for _ in 0..turns {
        tcp.push(rate(bytes, || loopback(bytes))?);
        for (at, way) in ways.into_iter().enumerate() {
            quiet.one(way, 0, &mut alone[at]).await?;
            busy.one(way, ABSENT, &mut crowded[at]).await?;
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
    report.value(format!("... while {ABSENT} others never read"), with / GB, "GB/s");
    report.ratio(format!("{name} beside loopback TCP"), rate / tcp, Goal::AtLeast(goal));
    report.ratio(
        format!("... with {ABSENT} that never read beside without"),
        with / rate,
        Goal::AtLeast(0.9),
    );
    report.value("peak memory of gateway and worker, alone", peak, "MiB");
    report.value(format!("... while {ABSENT} others never read"), more, "MiB");
    report.check("... memory that they cost gateway and worker", more - peak, " MiB", Goal::AtMost(64.0));
}

struct Bench {
    site: Site,
    http: Http,
    session: String,
    bytes: u64,
}

impl Bench {
    async fn new(bytes: u64) -> Result<Self> {
        let site = Site::start(1).await?;
        let mut http = site.http().await?;
        let session = roomy_session(&mut http).await?;
        Ok(Self { site, http, session, bytes })
    }

    /// The program waits for a line, so that all clients are there before its first byte.
    async fn one(&mut self, way: Way, absent: usize, found: &mut Found) -> Result<()> {
        let line = format!("read go; exec {}", print(self.bytes)?);
        let body = json!({ "shell": line, "stdin": "open" }).to_string();
        let id = start(&mut self.http, &self.session, &body).await?;
        let absent = Absent::gather(&self.site, &id, absent).await?;
        let [gateway, worker] = self.site.pids().await?;
        let peaks = [Peak::of(gateway), Peak::of(worker)];
        let (got, rate) = match way {
            Way::KeptOutput => {
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

/// Takes all, from the line that lets the program go, if there is somebody to type it; bytes, and bytes a second.
async fn take(site: &Site, id: &str, way: Way, go: Option<&mut Http>) -> Result<(u64, f64)> {
    let mut client = site.http().await?;
    let path = format!("/v1/executions/{id}");
    if way == Way::Socket {
        let mut socket = site.attach(id).await?;
        let begun = Instant::now();
        if let Some(go) = go {
            enter(go, id).await?;
        }
        let mut got = 0;
        while let Some((kind, bytes)) = socket.count().await? {
            if kind == OUTPUT {
                got += bytes - FRAME;
            }
        }
        return Ok((got, got as f64 / begun.elapsed().as_secs_f64()));
    }
    let asked = match way {
        Way::Raw => format!("{path}/output?stream=stdout&follow=true"),
        Way::KeptOutput => format!("{path}/output?stream=stdout"),
        Way::Events => format!("{path}/events?batch_ms=0"),
        _ => format!("{path}/events"),
    };
    let mut begun = Instant::now();
    client.stream("GET", &asked, "", "").await?;
    if let Some(go) = go {
        begun = Instant::now();
        enter(go, id).await?;
    }
    let raw = matches!(way, Way::Raw | Way::KeptOutput);
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
