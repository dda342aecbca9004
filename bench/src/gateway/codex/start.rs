//! From the request that starts a program to its first output at the client.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::exec_server::OUTPUT;
use super::ours::{self, LocalTools};
use super::{Peer, peer};
use crate::bench_worker::Effort;
use crate::gateway::bench_server::{BenchServer, EVENTS, runs, session, warm_up};
use crate::gateway::http::Http;
use crate::report::{Goal, Report};
use crate::stats::Samples;

const ECHO: [&str; 2] = ["/bin/echo", "hello"];
/// What `exec_command` runs, for the peer.
const SHELL_ECHO: [&str; 3] = ["/bin/bash", "-lc", "echo hello"];

#[derive(Debug, Default)]
struct Theirs {
    plain: Samples,
    quick: Samples,
}

#[derive(Debug, Default)]
struct Times {
    their_echo: Theirs,
    echo: Samples,
    their_shell: Theirs,
    at_worker: Samples,
    through_api: Samples,
}

struct Bench {
    local: LocalTools,
    http: Http,
    session: String,
    arguments: Value,
}

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(200, 40);
    let title = format!("start to first output beside Codex, {rounds} rounds");
    let mut report = Report::new("codex_start", title);
    let mut peer = peer(&mut report).await?;
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = session(&mut http).await?;
    let arguments = json!({ "cmd": "echo hello" });
    let mut bench = Bench { local: LocalTools::start().await?, http, session, arguments };
    for _ in 0..warm_up(effort) {
        bench.round(peer.as_mut(), &mut Times::default()).await?;
    }
    let mut times = Times::default();
    for _ in 0..rounds {
        bench.round(peer.as_mut(), &mut times).await?;
    }
    times.report(&mut report, peer.is_some());
    Ok(report)
}

impl Bench {
    async fn round(&mut self, peer: Option<&mut Peer>, times: &mut Times) -> Result<()> {
        self.echo(&mut times.echo).await?;
        let begun = Instant::now();
        let text = self.local.call("exec_command", &self.arguments).await?;
        times.at_worker.add(begun.elapsed());
        ensure!(text.contains("hello"), "no output: {text}");
        let begun = Instant::now();
        let text = ours::call(&mut self.http, &self.session, "exec_command", &self.arguments).await?;
        times.through_api.add(begun.elapsed());
        ensure!(text.contains("hello"), "no output: {text}");
        if let Some(peer) = peer {
            times.their_echo.add(peer, &ECHO).await?;
            times.their_shell.add(peer, &SHELL_ECHO).await?;
        }
        Ok(())
    }

    async fn echo(&mut self, samples: &mut Samples) -> Result<()> {
        let body = json!({ "argv": ECHO }).to_string();
        let begun = Instant::now();
        self.http.stream("POST", &runs(&self.session), EVENTS, &body).await?;
        self.http.until("\"text\":\"h").await?;
        samples.add(begun.elapsed());
        self.http.body().await.map(drop)
    }
}

impl Theirs {
    async fn add(&mut self, peer: &mut Peer, argv: &[&str]) -> Result<()> {
        self.plain.add(peer.plain.time(argv, false, OUTPUT).await?);
        self.quick.add(peer.quick.time(argv, false, OUTPUT).await?);
        Ok(())
    }
}

impl Times {
    fn report(&self, report: &mut Report, has_peer: bool) {
        report.times("echo: ours, through the API", &self.echo);
        if has_peer {
            report.times("echo: Codex", &self.their_echo.plain);
            report.times("echo: Codex, quick ack", &self.their_echo.quick);
        }
        report.times("exec_command: ours, at the worker", &self.at_worker);
        report.times("exec_command: ours, through the API", &self.through_api);
        report.note(
            "exec_command: ours until the result, after the exit; Codex `bash -lc` until the first output",
        );
        if !has_peer {
            return;
        }
        report.times("bash -lc: Codex", &self.their_shell.plain);
        report.times("bash -lc: Codex, quick ack", &self.their_shell.quick);
        for (what, ours, theirs) in [
            ("echo", &self.echo, &self.their_echo),
            ("exec_command at the worker", &self.at_worker, &self.their_shell),
            ("exec_command through the API", &self.through_api, &self.their_shell),
        ] {
            report.ratio(format!("{what} beside Codex"), ours.p50() / theirs.plain.p50(), Goal::None);
            report.ratio("... with quick ack", ours.p50() / theirs.quick.p50(), Goal::AtMost(1.0));
        }
        report.note("ours runs in the walls of a session, Codex without a sandbox");
    }
}
