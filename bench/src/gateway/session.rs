//! Sessions through the API, durable in the store: created cold and from the pool; compared with a bare
//! spawn.

use std::time::Instant;

use anyhow::Result;

use super::bench_server::{BenchServer, session};
use super::http::Http;
use crate::bench_worker::{Effort, bare};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// The size of the pool under test.
const POOL_SIZE: u32 = 4;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(300, 60);
    let (cold, pooled) = (BenchServer::start(0).await?, BenchServer::start(POOL_SIZE).await?);
    let (mut to_cold, mut to_pooled) = (cold.http().await?, pooled.http().await?);
    let (mut floor, mut made, mut taken) = (Samples::default(), Pair::default(), Pair::default());
    for _ in 0..rounds {
        floor.time(bare)?;
        pooled.pool_is_full(POOL_SIZE).await?;
        taken.take(&mut to_pooled).await?;
        pooled.pool_is_full(POOL_SIZE).await?;
        made.take(&mut to_cold).await?;
    }
    let mut report =
        Report::new("http_session", format!("create and delete through the API, {rounds} rounds"));
    report.times("bare spawn and wait", &floor);
    report.times("create, from the pool", &taken.created);
    report.times("create, cold", &made.created);
    report.times("delete", &made.deleted);
    let beside = |samples: &Samples| samples.p50() / floor.p50();
    report.ratio("create from the pool beside bare spawn", beside(&taken.created), Goal::AtMost(0.6));
    report.ratio("create cold beside bare spawn", beside(&made.created), Goal::AtMost(3.0));
    report.ratio("delete beside bare spawn", beside(&made.deleted), Goal::None);
    Ok(report)
}

#[derive(Debug, Default)]
struct Pair {
    created: Samples,
    deleted: Samples,
}

impl Pair {
    async fn take(&mut self, http: &mut Http) -> Result<()> {
        let begun = Instant::now();
        let id = session(http).await?;
        self.created.add(begun.elapsed());
        let begun = Instant::now();
        http.call("DELETE", &format!("/v1/sessions/{id}"), "", 204).await?;
        self.deleted.add(begun.elapsed());
        Ok(())
    }
}
