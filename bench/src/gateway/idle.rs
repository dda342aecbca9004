//! Idle streams: the memory of each, and their cost for others.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::bench_server::{BenchServer, cancel, run_to_exit, session, start};
use super::http::Http;
use super::run::TRUE;
use super::stalled_clients::StalledClients;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Descriptors that gateway and benchmark need for other purposes.
const SPARE_FDS: u64 = 500;
/// Streams opened before counting, so that one-time costs are not counted.
const WARM_UP_STREAMS: usize = 50;
/// Time for temporary memory to be freed.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let wanted = effort.pick(10_000, 1_000);
    let count = wanted.min(descriptors()?);
    ensure!(count > WARM_UP_STREAMS, "not enough descriptors may be open");
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = session(&mut http).await?;
    let waits = r#"{"argv":["/bin/cat"],"stdin":"open"}"#;
    let id = start(&mut http, &session, waits).await?;
    let rounds = effort.pick(500, 150);
    // Warm-up.
    Answers::take(&mut http, &session, rounds / 3).await?;
    let _first = StalledClients::listening(&site, &id, WARM_UP_STREAMS).await?;
    let empty = Answers::take(&mut http, &session, rounds).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let before = site.rss_mib().await?;
    let streams = StalledClients::listening(&site, &id, count).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let after = site.rss_mib().await?;
    let full = Answers::take(&mut http, &session, rounds).await?;
    drop(streams);
    cancel(&mut http, &id).await?;
    let mut report = Report::new("http_idle", format!("{count} idle streams of events on one execution"));
    report.times("GET /v1/info, without them", &empty.info);
    report.times("GET /v1/info, with them", &full.info);
    report.times("`/bin/true` through the API, without them", &empty.run);
    report.times("`/bin/true` through the API, with them", &full.run);
    report.value("gateway and worker, without them (RSS)", before, "MiB");
    report.value("gateway and worker, with them (RSS)", after, "MiB");
    let each = (after - before) * 1024.0 / count as f64;
    report.check("memory for each", each, " KiB", Goal::AtMost(32.0));
    report.ratio("GET /v1/info with beside without", full.info.p50() / empty.info.p50(), Goal::AtMost(2.0));
    report.ratio("`/bin/true` with beside without", full.run.p50() / empty.run.p50(), Goal::AtMost(2.0));
    if count < wanted {
        report
            .note(format!("only {count} of {wanted} streams: no more descriptors may be open (ulimit -Hn)"));
    }
    Ok(report)
}

/// Raises the limit on descriptors as far as possible; returns the number of streams that fit on either side.
fn descriptors() -> Result<usize> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    let most = limit.maximum.unwrap_or(u64::MAX).saturating_sub(SPARE_FDS);
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
}

/// Response times of the server.
struct Answers {
    info: Samples,
    run: Samples,
}

impl Answers {
    async fn take(http: &mut Http, session: &str, rounds: usize) -> Result<Self> {
        let (mut info, mut run) = (Samples::default(), Samples::default());
        for _ in 0..rounds {
            let begun = Instant::now();
            http.call("GET", "/v1/info", "", 200).await?;
            info.add(begun.elapsed());
            let begun = Instant::now();
            run_to_exit(http, session, TRUE).await?;
            run.add(begun.elapsed());
        }
        Ok(Self { info, run })
    }
}
