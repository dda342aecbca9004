//! First byte through the API: from the request that starts `echo` to the first byte of its output at the
//! client.

use std::time::Instant;

use anyhow::Result;

use super::bench_server::{BenchServer, EVENTS, runs, session, warm_up};
use super::http::Http;
use crate::bench_worker::Effort;
use crate::first_byte::direct;
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(1000, 200);
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let id = session(&mut http).await?;
    let (mut floor, mut ours) = (Samples::default(), Samples::default());
    for _ in 0..warm_up(effort) {
        direct(&mut Samples::default())?;
        echo(&mut http, &id, &mut Samples::default()).await?;
    }
    for _ in 0..rounds {
        direct(&mut floor)?;
        echo(&mut http, &id, &mut ours).await?;
    }
    let title = format!("`echo` through the API, request to first byte, {rounds} rounds");
    let mut report = Report::new("http_first_byte", title);
    report.times("direct pipe", &floor);
    report.times("through the API (events in the answer)", &ours);
    report.ratio("p50 beside a direct pipe", ours.p50() / floor.p50(), Goal::AtMost(1.5));
    Ok(report)
}

async fn echo(http: &mut Http, session: &str, samples: &mut Samples) -> Result<()> {
    let begun = Instant::now();
    http.stream("POST", &runs(session), EVENTS, r#"{"argv":["/bin/echo","hello"]}"#).await?;
    http.until("\"text\":\"h").await?;
    samples.add(begun.elapsed());
    http.body().await.map(drop)
}
