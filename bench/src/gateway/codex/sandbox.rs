//! `/bin/true` behind walls, start to exit.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::exec_server::EXITED;
use super::{Peer, ours, peer};
use crate::bench_worker::Effort;
use crate::gateway::bench_server::{BenchServer, EVENTS, runs, session};
use crate::gateway::http::Http;
use crate::gateway::run::TRUE;
use crate::report::{Goal, Report};
use crate::stats::Samples;

#[derive(Debug, Default)]
struct Times {
    live: Samples,
    tool: Samples,
    fresh: Samples,
    plain: Samples,
    quick: Samples,
    command: Samples,
}

struct Bench {
    http: Http,
    session: String,
    /// A server without prepared sessions.
    cold: Http,
    arguments: Value,
}

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(100, 20_usize);
    let title = format!("`/bin/true` behind walls, start to exit, beside Codex, {rounds} rounds");
    let mut report = Report::new("codex_sandbox", title);
    let mut peer = peer(&mut report).await?;
    if let Some(found) = &mut peer
        && let Err(error) = found.quick.time(&["/bin/true"], true, EXITED).await
    {
        report.note(format!("the sandbox of Codex does not work here: {error:#}"));
        peer = None;
    }
    let (site, cold) = (BenchServer::start(1).await?, BenchServer::start(0).await?);
    let (mut http, cold) = (site.http().await?, cold.http().await?);
    let session = session(&mut http).await?;
    let arguments = json!({ "command": ["/bin/true"] });
    let mut bench = Bench { http, session, cold, arguments };
    for _ in 0..rounds.div_ceil(10) {
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
        true_in(&mut self.http, &runs(&self.session), &mut times.live).await?;
        true_in(&mut self.cold, "/v1/executions?until=exited", &mut times.fresh).await?;
        let begun = Instant::now();
        let text = ours::call(&mut self.http, &self.session, "shell", &self.arguments).await?;
        times.tool.add(begun.elapsed());
        ensure!(text.contains("Exit code: 0"), "it did not end well: {text}");
        let Some(peer) = peer else { return Ok(()) };
        times.plain.add(peer.plain.time(&["/bin/true"], true, EXITED).await?);
        times.quick.add(peer.quick.time(&["/bin/true"], true, EXITED).await?);
        times.command.time(|| sandbox_command(&peer.codex.program, peer.server.folder()))
    }
}

async fn true_in(http: &mut Http, path: &str, samples: &mut Samples) -> Result<()> {
    let begun = Instant::now();
    http.stream("POST", path, EVENTS, TRUE).await?;
    http.until("\nevent: exited\n").await?;
    samples.add(begun.elapsed());
    http.body().await.map(drop)
}

/// `codex sandbox`, which needs no server.
fn sandbox_command(program: &Path, folder: &Path) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["sandbox", "--", "/bin/true"]).env("CODEX_HOME", folder).current_dir(folder);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "`codex sandbox` ended with {status}");
    Ok(())
}

impl Times {
    fn report(&self, report: &mut Report, has_peer: bool) {
        report.times("ours, in a session", &self.live);
        report.times("ours, tool `shell` in a session", &self.tool);
        report.times("ours, in walls made for it alone", &self.fresh);
        if !has_peer {
            return;
        }
        report.times("Codex, exec-server with its sandbox", &self.plain);
        report.times("Codex, the same, quick ack", &self.quick);
        report.times("Codex, `codex sandbox`", &self.command);
        let best = self.plain.p50().min(self.quick.p50()).min(self.command.p50());
        for (what, ours) in [
            ("in a session", &self.live),
            ("tool `shell` in a session", &self.tool),
            ("in walls made for it alone", &self.fresh),
        ] {
            report.ratio(format!("{what} beside the fastest of Codex"), ours.p50() / best, Goal::AtMost(1.0));
        }
        report.note("ours: all through the API; Codex makes a new sandbox for each program");
    }
}
