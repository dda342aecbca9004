//! One-shot executions through the API: walls for `/bin/true` alone, cold and from the pool; compared with a
//! bare spawn and with bubblewrap.

use std::time::Instant;

use anyhow::Result;

use super::bench_server::{BenchServer, EVENTS};
use super::http::Http;
use super::run::TRUE;
use crate::bench_worker::{Effort, bare};
use crate::fresh::{bwrap, spawn_bwrap};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// The size of the pool under test.
const POOL_SIZE: u32 = 4;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(300, 60);
    let (cold, pooled) = (BenchServer::start(0).await?, BenchServer::start(POOL_SIZE).await?);
    let (mut to_cold, mut to_pooled) = (cold.http().await?, pooled.http().await?);
    let workspace = tempfile::tempdir()?;
    let peer = bwrap(workspace.path());
    let (mut floor, mut bubble) = (Samples::default(), Samples::default());
    let (mut made, mut taken) = (Samples::default(), Samples::default());
    for _ in 0..rounds {
        floor.time(bare)?;
        pooled.pool_is_full(POOL_SIZE).await?;
        one(&mut to_pooled, &mut taken).await?;
        pooled.pool_is_full(POOL_SIZE).await?;
        one(&mut to_cold, &mut made).await?;
        if let Some(arguments) = &peer {
            bubble.time(|| spawn_bwrap(arguments))?;
        }
    }
    let title = format!("`/bin/true` without a session through the API, {rounds} rounds");
    let mut report = Report::new("http_one_shot", title);
    report.times("bare spawn and wait", &floor);
    report.times("from the pool, request to `exited`", &taken);
    report.times("cold, request to `exited`", &made);
    report.ratio("from the pool beside bare spawn", taken.p50() / floor.p50(), Goal::AtMost(2.0));
    report.ratio("cold beside bare spawn", made.p50() / floor.p50(), Goal::AtMost(4.0));
    if peer.is_some() {
        report.times("bubblewrap, same profile", &bubble);
        report.ratio("cold beside bubblewrap", made.p50() / bubble.p50(), Goal::AtMost(0.6));
    } else {
        report.note("bubblewrap: not installed");
    }
    Ok(report)
}

async fn one(http: &mut Http, samples: &mut Samples) -> Result<()> {
    let begun = Instant::now();
    http.stream("POST", "/v1/executions?until=exited", EVENTS, TRUE).await?;
    http.until("\nevent: exited\n").await?;
    samples.add(begun.elapsed());
    http.body().await.map(drop)
}
