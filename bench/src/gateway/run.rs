//! Run overhead through the API: `/bin/true` in a running session on a kept-alive connection, until `exited`
//! has been read (it is in the store by then); compared with a bare spawn, and with the same at the worker's
//! contract.

use std::time::Instant;

use anyhow::{Result, ensure};
use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, SessionId, StartSpec};

use super::bench_server::{BenchServer, EVENTS, runs, session, warm_up};
use super::http::Http;
use crate::bench_worker::{Effort, bare, until_exited};
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// The body of the request.
pub const TRUE: &str = r#"{"argv":["/bin/true"]}"#;

#[derive(Debug, Default)]
struct Times {
    bare: Samples,
    contract: Samples,
    whole: Samples,
    answered: Samples,
    started: Samples,
    info: Samples,
}

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(1000, 200);
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let id = session(&mut http).await?;
    let mut times = Times::default();
    for _ in 0..warm_up(effort) {
        times.round(&site, &mut http, &id).await?;
    }
    times = Times::default();
    for _ in 0..rounds {
        times.round(&site, &mut http, &id).await?;
    }
    Ok(times.report(rounds))
}

impl Times {
    async fn round(&mut self, site: &BenchServer, http: &mut Http, session: &str) -> Result<()> {
        self.bare.time(bare)?;
        let begun = Instant::now();
        at_contract(site, session.parse()?).await?;
        self.contract.add(begun.elapsed());
        self.through_http(http, session).await?;
        let begun = Instant::now();
        http.call("GET", "/v1/info", "", 200).await?;
        self.info.add(begun.elapsed());
        Ok(())
    }

    async fn through_http(&mut self, http: &mut Http, session: &str) -> Result<()> {
        let begun = Instant::now();
        http.stream("POST", &runs(session), EVENTS, TRUE).await?;
        self.answered.add(begun.elapsed());
        let mut got = Vec::new();
        while let Some(piece) = http.piece().await? {
            got.extend_from_slice(piece);
            if self.started.len() < self.answered.len() && has(&got, "\nevent: started\n") {
                self.started.add(begun.elapsed());
            }
            if has(&got, "\nevent: exited\n") {
                self.whole.add(begun.elapsed());
                break;
            }
        }
        http.body().await?;
        ensure!(self.whole.len() == self.answered.len() && has(&got, "\"code\":0"), "it did not end well");
        Ok(())
    }

    fn report(&self, rounds: usize) -> Report {
        let mut report = Report::new(
            "http_run",
            format!("`/bin/true` in a live session through the API, {rounds} rounds"),
        );
        report.times("bare spawn and wait", &self.bare);
        report.times("at the contract, start to `exited`", &self.contract);
        report.times("through the API, request to `exited`", &self.whole);
        report.times("  of which until the answer's head", &self.answered);
        report.times("  of which until `started`", &self.started);
        report.times("a request for little (GET /v1/info)", &self.info);
        let (whole, bare) = (self.whole.spread(), self.bare.spread());
        report.ratio("p50 beside bare spawn", whole.p50 / bare.p50, Goal::AtMost(1.7));
        report.ratio("p99 beside its own p50", whole.p99 / whole.p50, Goal::AtMost(4.0));
        report.ratio("the same of bare spawn", bare.p99 / bare.p50, Goal::None);
        report.ratio("at the contract beside bare spawn", self.contract.p50() / bare.p50, Goal::AtMost(1.3));
        report.ratio("p50 beside the contract's", whole.p50 / self.contract.p50(), Goal::None);
        report
    }
}

async fn at_contract(site: &BenchServer, session: SessionId) -> Result<()> {
    let spec = StartSpec::argv(["/bin/true"]);
    let id = ExecutionId::random();
    let mut follower = site.worker.run(session, id, &spec, FollowOptions::default()).await?;
    until_exited(&mut follower).await.map(drop)
}

fn has(got: &[u8], needle: &str) -> bool {
    memchr::memmem::find(got, needle.as_bytes()).is_some()
}
