//! `apply_patch` of 1,000 files: adds them, then changes a line in each.
//!
//! Each round has files of its own, and none are deleted before the end: a file system may search the inodes that were
//! freed last whenever it creates a file (ext4 without a journal does), and that time would be measured instead.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::exec_server::Connection;
use super::ours::{self, LocalTools};
use super::{Peer, peer};
use crate::bench_worker::{Effort, disk};
use crate::gateway::bench_server::{BenchServer, session};
use crate::gateway::http::Http;
use crate::report::{Goal, Report};
use crate::stats::Samples;

const FILES: usize = 1000;
const FILES_IN_FOLDER: usize = 50;
const LINES: usize = 40;
/// The line that is changed.
const CHANGED: usize = 20;
/// The durations of the patches.
#[derive(Debug, Default)]
struct Times {
    add: Samples,
    update: Samples,
}

/// The patches of a round.
struct Patches {
    round: usize,
    add: String,
    update: String,
}

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(15, 4);
    let title = format!("`apply_patch` of {FILES} files beside Codex, {rounds} rounds");
    let mut report = Report::new("codex_patch", title);
    let mut peer = peer(&mut report).await?;
    let local = LocalTools::start().await?;
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    let session = session(&mut http).await?;
    let [mut at_worker, mut through_api, mut theirs] = <[Times; 3]>::default();
    let mut by_calls = Samples::default();
    for round in 0..rounds {
        let patches = Patches::new(round);
        at_worker.of_worker(&local, &patches).await?;
        through_api.of_api(&mut http, &session, &patches).await?;
        if let Some(peer) = &mut peer {
            theirs.of_peer(peer, &patches, &mut by_calls).await?;
        }
    }
    for (what, times) in [("ours, at the worker", &at_worker), ("ours, through the API", &through_api)] {
        report.times(format!("add: {what}"), &times.add);
        report.times(format!("change: {what}"), &times.update);
    }
    report.note(
        "ours: all files or none, even if the worker is killed; Codex: one file after the other, no sandbox",
    );
    if peer.is_some() {
        report.times("add: Codex, `apply_patch`", &theirs.add);
        report.times("change: Codex, `apply_patch`", &theirs.update);
        report.times("change: Codex, `fs/readFile`, `fs/writeFile`", &by_calls);
        for (what, times) in [("at the worker", &at_worker), ("through the API", &through_api)] {
            let (add, update) = (&times.add, &times.update);
            report.ratio(
                format!("add, {what} beside Codex"),
                add.p50() / theirs.add.p50(),
                Goal::AtMost(1.0),
            );
            let ratio = update.p50() / theirs.update.p50();
            report.ratio(format!("change, {what} beside Codex"), ratio, Goal::AtMost(1.0));
            report.ratio("... beside its exec-server", update.p50() / by_calls.p50(), Goal::AtMost(1.0));
        }
        report.note(
            "`fs/...`: an exec-server has no patches, its client reads and writes each file (quick ack)",
        );
    }
    Ok(report)
}

impl Times {
    async fn of_worker(&mut self, local: &LocalTools, patches: &Patches) -> Result<()> {
        for (patch, samples) in patches.steps(self) {
            let arguments = json!({ "input": patch });
            settle()?;
            let begun = Instant::now();
            let text = local.call("apply_patch", &arguments).await?;
            samples.add(begun.elapsed());
            check(&text)?;
        }
        Ok(())
    }

    async fn of_api(&mut self, http: &mut Http, session: &str, patches: &Patches) -> Result<()> {
        for (patch, samples) in patches.steps(self) {
            let arguments = json!({ "input": patch });
            settle()?;
            let begun = Instant::now();
            let text = ours::call(http, session, "apply_patch", &arguments).await?;
            samples.add(begun.elapsed());
            check(&text)?;
        }
        Ok(())
    }

    async fn of_peer(&mut self, peer: &mut Peer, patches: &Patches, by_calls: &mut Samples) -> Result<()> {
        let folder = peer.server.folder().to_owned();
        for (patch, samples) in patches.steps(self) {
            settle()?;
            let begun = Instant::now();
            let text = apply_patch(&peer.codex.program, &folder, patch)?;
            samples.add(begun.elapsed());
            check(&text)?;
        }
        settle()?;
        let begun = Instant::now();
        change_by_calls(&mut peer.quick, &folder, patches.round).await?;
        by_calls.add(begun.elapsed());
        Ok(())
    }
}

/// Everything is on the disk before something is measured.
fn settle() -> Result<()> {
    let folder = std::fs::File::open(disk()?)?;
    Ok(rustix::fs::syncfs(folder)?)
}

fn check(text: &str) -> Result<()> {
    let done = text.lines().filter(|line| line.contains(" src/")).count();
    ensure!(done == FILES, "{done} files were patched: {}", text.lines().take(5).collect::<String>());
    Ok(())
}

/// Runs Codex's `apply_patch`: the program under this name.
fn apply_patch(program: &Path, folder: &Path, patch: &str) -> Result<String> {
    let mut command = Command::new(program);
    command.arg0("apply_patch").current_dir(folder).env("CODEX_HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("starting apply_patch")?;
    // It reads everything before it prints anything.
    child.stdin.take().context("no pipe")?.write_all(patch.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "Codex's apply_patch ended with {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Changes a line of every file with calls of the exec-server.
async fn change_by_calls(connection: &mut Connection, folder: &Path, round: usize) -> Result<()> {
    for number in 0..FILES {
        let path = format!("file://{}/{}", folder.display(), path(round, number));
        let read = connection.call("fs/readFile", &json!({ "path": path, "sandbox": null })).await?;
        let data = read["dataBase64"].as_str().with_context(|| format!("no content: {read}"))?;
        let text = String::from_utf8(STANDARD.decode(data)?)?.replace("\nchanged\n", "\nchanged again\n");
        let params: Value = json!({ "path": path, "dataBase64": STANDARD.encode(text), "sandbox": null });
        connection.call("fs/writeFile", &params).await?;
    }
    Ok(())
}

fn path(round: usize, number: usize) -> String {
    format!("src/round{round}/folder{}/file{number}.txt", number / FILES_IN_FOLDER)
}

fn line(number: usize) -> String {
    format!("line {number} of a file that is to be patched")
}

impl Patches {
    fn new(round: usize) -> Self {
        let [mut add, mut update] = ["*** Begin Patch\n"; 2].map(str::to_owned);
        for path in (0..FILES).map(|number| path(round, number)) {
            let _ = writeln!(add, "*** Add File: {path}");
            for number in 0..LINES {
                let _ = writeln!(add, "+{}", line(number));
            }
            let [before, old, after] = [CHANGED - 1, CHANGED, CHANGED + 1].map(line);
            let _ = writeln!(update, "*** Update File: {path}\n@@\n {before}\n-{old}\n+changed\n {after}");
        }
        let [add, update] = [add, update].map(|patch| patch + "*** End Patch\n");
        Self { round, add, update }
    }

    /// The patches, each with the samples of its duration.
    fn steps<'a>(&'a self, times: &'a mut Times) -> [(&'a str, &'a mut Samples); 2] {
        let Times { add, update } = times;
        [(&self.add, add), (&self.update, update)]
    }
}
