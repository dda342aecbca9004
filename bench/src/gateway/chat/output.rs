//! Tool calls of a conversation that print 100 MB: what the server needs for them, beside the same programs started as
//! plain executions on another server.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Chat, conversation, on, say};
use crate::bench_worker::Effort;
use crate::gateway::bench_server::{BenchServer, LINE, closed, session, start};
use crate::gateway::http::Http;
use crate::process::Peak;
use crate::report::{Goal, Report};
use crate::stats::{Samples, median};

/// Programs that run at once.
const CALLS: usize = 10;
/// Time for temporary memory to be freed.
const SETTLE_TIME: Duration = Duration::from_secs(1);
const MUCH: &str = "much output";
const LITTLE: &str = "little output";

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(5, 2);
    let bytes: u64 = effort.pick(10_000_000, 1_000_000);
    let chat = Chat::start(&json!([on(MUCH, &calls(bytes)), on(LITTLE, &calls(100))])).await?;
    let plain = BenchServer::start(1).await?;
    let (mut http, mut other) = (chat.site.http().await?, plain.http().await?);
    // Warm-up: whatever is made once is made.
    let small = conversation(&mut http).await?;
    say(&mut http, &small, LITTLE).await?;
    let work = session(&mut other).await?;
    run_all(&mut other, &work, 100).await?;
    let (mut ours, mut floor) = (Costs::default(), Costs::default());
    let mut large = String::new();
    for _ in 0..rounds {
        large = conversation(&mut http).await?;
        ours.take(&chat.site, say(&mut http, &large, MUCH)).await?;
        floor.take(&plain, run_all(&mut other, &work, bytes)).await?;
    }
    let title = format!("{CALLS} calls that print {} MB each, {rounds} conversations", bytes / 1_000_000);
    let mut report = Report::new("chat_output", title);
    let (ours, floor) = (ours.medians(), floor.medians());
    for (name, ours, floor, unit) in [
        ("peak growth of gateway and worker", ours.peak, floor.peak, "MiB"),
        ("what stays of it (RSS)", ours.after, floor.after, "MiB"),
        ("time until the last result", ours.seconds, floor.seconds, "s"),
    ] {
        report.value(format!("{name}: plain executions"), floor, unit);
        report.value(format!("{name}: a conversation"), ours, unit);
    }
    report.ratio("time, a conversation beside plain executions", ours.seconds / floor.seconds, Goal::None);
    let printed = bytes as f64 * CALLS as f64 / f64::from(1 << 20);
    report.ratio("peak growth beside what was printed", ours.peak / printed, Goal::None);
    report.ratio("what stays beside what was printed", ours.after / printed, Goal::None);
    let (large, small) = (Read::of(&mut http, &large).await?, Read::of(&mut http, &small).await?);
    report.times("reading a conversation with a line for each call", &small.times);
    report.times("reading the conversation with the output", &large.times);
    report.value("its size as JSON", large.kib, "KiB");
    Ok(report)
}

/// A turn that runs all programs, and one that ends it.
fn calls(bytes: u64) -> Value {
    let arguments = json!({ "runtime": "terminal", "code": command(bytes) });
    let calls = vec![json!({ "name": "code_execution", "arguments": arguments }); CALLS];
    json!([{ "tool_calls": calls }, { "text": "That is all." }])
}

fn command(bytes: u64) -> String {
    format!("yes '{}' | head -c {bytes}", LINE.trim_end())
}

/// Runs the same programs as executions.
async fn run_all(http: &mut Http, session: &str, bytes: u64) -> Result<()> {
    let body = json!({ "language": "bash", "code": command(bytes) }).to_string();
    let mut ids = Vec::new();
    for _ in 0..CALLS {
        ids.push(start(http, session, &body).await?);
    }
    for id in ids {
        let (_, written) = closed(http, &id).await?;
        ensure!(written == bytes, "{written} bytes were printed, not {bytes}");
    }
    Ok(())
}

/// What each round has cost.
#[derive(Debug, Default)]
struct Costs {
    peaks: Vec<f64>,
    after: Vec<f64>,
    seconds: Vec<f64>,
}

/// The medians.
struct Medians {
    peak: f64,
    after: f64,
    seconds: f64,
}

impl Costs {
    async fn take(&mut self, site: &BenchServer, work: impl Future<Output = Result<()>>) -> Result<()> {
        let before = site.anonymous_mib().await?;
        let rss = site.rss_mib().await?;
        let peaks = site.pids().await?.map(Peak::of);
        let begun = Instant::now();
        work.await?;
        self.seconds.push(begun.elapsed().as_secs_f64());
        let peak = peaks.into_iter().map(Peak::mib).sum::<Result<f64>>()?;
        self.peaks.push(peak - before);
        tokio::time::sleep(SETTLE_TIME).await;
        self.after.push(site.rss_mib().await? - rss);
        Ok(())
    }

    fn medians(mut self) -> Medians {
        Medians {
            peak: median(&mut self.peaks),
            after: median(&mut self.after),
            seconds: median(&mut self.seconds),
        }
    }
}

/// How long a whole conversation takes to read, and how large it is.
struct Read {
    times: Samples,
    kib: f64,
}

impl Read {
    async fn of(http: &mut Http, conversation: &str) -> Result<Self> {
        let (mut times, mut kib) = (Samples::default(), 0.0);
        for _ in 0..30 {
            let begun = Instant::now();
            http.stream("GET", conversation, "", "").await?;
            kib = http.body().await?.len() as f64 / 1024.0;
            times.add(begun.elapsed());
        }
        Ok(Self { times, kib })
    }
}
