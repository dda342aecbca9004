//! 50 MB of output to one client.

use headwater_protocol::frames::OUTPUT;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use super::{ours, peer};
use crate::bench_worker::Effort;
use crate::gateway::bench_server::{BenchServer, LINE, remove, run_to_exit, session, start};
use crate::gateway::http::Http;
use crate::report::{Goal, Report};
use crate::stats::median;

const MB: f64 = 1e6;
const BYTES: u64 = 50_000_000;
/// The file in the workspace that the program prints.
const TEXT: &str = "/workspace/text";
/// The header of an output frame, without its kind.
const FRAME_HEADER_BYTES: u64 = 9;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let turns = effort.pick(15, 5);
    let title = format!("{:.0} MB of output beside Codex, {turns} turns, medians", BYTES as f64 / MB);
    let mut report = Report::new("codex_output", title);
    let mut peer = peer(&mut report).await?;
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let id = session(&mut http).await?;
    let make = json!({ "shell": format!("yes '{}' | head -c {BYTES} > {TEXT}", LINE.trim_end()) });
    run_to_exit(&mut http, &id, &make.to_string()).await?;
    let text = site.lines(usize::try_from(BYTES)? / LINE.len())?;
    let text = text.to_string_lossy();
    let (mut theirs, mut streamed, mut called) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..turns {
        streamed.push(stream(&site, &mut http, &id).await?);
        called.push(call(&mut http, &id).await?);
        if let Some(peer) = &mut peer {
            let begun = Instant::now();
            let bytes = peer.plain.count(&["/bin/cat", &text]).await?;
            theirs.push(rate(begun));
            ensure!(bytes == BYTES, "{bytes} bytes came from Codex");
        }
    }
    let (streamed, called) = (median(&mut streamed), median(&mut called));
    report.value("ours, over a WebSocket", streamed, "MB/s");
    report.value("ours, exec_command through the API", called, "MB/s");
    report.note("exec_command also renders the text for a model, which the exec-server leaves to its client");
    if peer.is_some() {
        let theirs = median(&mut theirs);
        report.value("Codex, all notifications", theirs, "MB/s");
        report.ratio("over a WebSocket beside Codex", streamed / theirs, Goal::AtLeast(1.0));
        report.ratio("exec_command beside Codex", called / theirs, Goal::None);
    }
    Ok(report)
}

fn rate(begun: Instant) -> f64 {
    BYTES as f64 / begun.elapsed().as_secs_f64() / MB
}

async fn stream(site: &BenchServer, http: &mut Http, session: &str) -> Result<f64> {
    let begun = Instant::now();
    let id = start(http, session, &json!({ "argv": ["/bin/cat", TEXT] }).to_string()).await?;
    let mut socket = site.attach(&id).await?;
    let mut bytes = 0;
    while let Some((kind, length)) = socket.count().await? {
        if kind == OUTPUT {
            bytes += length - FRAME_HEADER_BYTES;
        }
    }
    let rate = rate(begun);
    ensure!(bytes == BYTES, "{bytes} bytes came");
    remove(http, &id).await?;
    Ok(rate)
}

async fn call(http: &mut Http, session: &str) -> Result<f64> {
    let arguments = json!({ "cmd": format!("cat {TEXT}"), "yield_time_ms": 30_000 });
    let begun = Instant::now();
    let text = ours::call(http, session, "exec_command", &arguments).await?;
    let rate = rate(begun);
    ensure!(text.contains("Process exited with code 0"), "it did not end well: {text}");
    Ok(rate)
}
