//! Resuming through the API: the last KiB of a large log, compared with the last KiB of a small one.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::bench_server::{BenchServer, closed, roomy_session, start};
use super::http::Http;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::Samples;

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(500, 100);
    let large = effort.large_log_gib.map_or(effort.pick(GIB, GIB / 4), |gib| u64::from(gib) * GIB);
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = roomy_session(&mut http).await?;
    let small = Resumable::make(&mut http, &session, 10 * KIB).await?;
    let big = Resumable::make(&mut http, &session, large).await?;
    let (mut floor, mut ours) = (Samples::default(), Samples::default());
    for _ in 0..rounds {
        small.resume(&mut http, &mut floor).await?;
        big.resume(&mut http, &mut ours).await?;
    }
    let title = format!("events of the last KiB of a log of {} MiB, {rounds} rounds", large >> 20);
    let mut report = Report::new("http_resume", title);
    report.times("log of 10 KiB", &floor);
    report.times(format!("log of {} MiB", large >> 20), &ours);
    report.ratio("the large one beside the small one", ours.p50() / floor.p50(), Goal::AtMost(1.5));
    Ok(report)
}

/// A closed log, and the path that returns its last KiB.
struct Resumable {
    path: String,
}

impl Resumable {
    async fn make(http: &mut Http, session: &str, bytes: u64) -> Result<Self> {
        // The pause makes the last KiB a separate chunk, recognised by its letters.
        let last = format!("head -c {KIB} /dev/zero | tr '\\0' z");
        let line = format!("head -c {} /dev/zero; sleep 0.2; {last}", bytes - KIB);
        let id = start(http, session, &json!({ "shell": line }).to_string()).await?;
        let (last_seq, written) = closed(http, &id).await?;
        ensure!(written == bytes, "{written} bytes were logged of {bytes}");
        // After the last chunk come `exited` and `closed`.
        Ok(Self { path: format!("/v1/executions/{id}/events?after={}", last_seq - 3) })
    }

    async fn resume(&self, http: &mut Http, samples: &mut Samples) -> Result<()> {
        let begun = Instant::now();
        http.stream("GET", &self.path, "", "").await?;
        http.until("\"text\":\"zzz").await?;
        samples.add(begun.elapsed());
        http.body().await.map(drop)
    }
}
