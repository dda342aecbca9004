//! New walls for one program: create a session, run, end; compared with a bare spawn and with bubblewrap.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use headwater_protocol::{SessionSpec, StartSpec};

use crate::bench_worker::{BenchWorker, Effort, bare, run, until_exited};
use crate::report::{Goal, Report};
use crate::session::without_cgroups;
use crate::stats::Samples;

const POOL_SIZE: u32 = 4;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(300, 60);
    let cold = BenchWorker::with_pool(0).await?;
    let pooled = BenchWorker::with_pool(POOL_SIZE as usize).await?;
    let plain = without_cgroups(0).await.ok();
    let workspace = tempfile::tempdir()?;
    let peer = bwrap(workspace.path());
    let (mut floor, mut bubble) = (Samples::default(), Samples::default());
    let (mut from_pool, mut made, mut bare_of_cgroups) = (Shot::default(), Shot::default(), Shot::default());
    for _ in 0..rounds {
        floor.time(bare)?;
        pooled.pool_is_full(POOL_SIZE).await?;
        from_pool.take(&pooled).await?;
        pooled.pool_is_full(POOL_SIZE).await?;
        made.take(&cold).await?;
        if let Some(plain) = &plain {
            bare_of_cgroups.take(plain).await?;
        }
        if let Some(arguments) = &peer {
            bubble.time(|| spawn_bwrap(arguments))?;
        }
    }
    let mut report = Report::new("fresh", format!("`/bin/true` in walls made for it alone, {rounds} rounds"));
    report.times("bare spawn and wait", &floor);
    for (what, shot) in
        [("cold", &made), ("cold, without cgroups", &bare_of_cgroups), ("from the pool", &from_pool)]
    {
        if what != "cold, without cgroups" || plain.is_some() {
            report.times(format!("{what}: until `exited`"), &shot.exited);
            report.times(format!("{what}: until the session is over"), &shot.over);
        }
    }
    let beside = |samples: &Samples| samples.p50() / floor.p50();
    report.ratio("cold beside bare spawn", beside(&made.over), Goal::AtMost(4.0));
    if plain.is_some() {
        report.ratio("cold without cgroups beside bare spawn", beside(&bare_of_cgroups.over), Goal::None);
    }
    report.ratio("from the pool beside bare spawn", beside(&from_pool.over), Goal::AtMost(2.0));
    if peer.is_some() {
        report.times("bubblewrap, same profile", &bubble);
        report.ratio("bubblewrap beside bare spawn", beside(&bubble), Goal::None);
        report.ratio("cold beside bubblewrap", made.over.p50() / bubble.p50(), Goal::AtMost(0.6));
    } else {
        report.note("bubblewrap: not installed");
    }
    Ok(report)
}

/// One program in its own session: the time until its exit is reported, and until nothing is left of the
/// session.
#[derive(Debug, Default)]
struct Shot {
    exited: Samples,
    over: Samples,
}

impl Shot {
    async fn take(&mut self, lab: &BenchWorker) -> Result<()> {
        let spec = SessionSpec { one_shot: true, ..SessionSpec::default() };
        let begun = Instant::now();
        let session = lab.client.create_session(None, &spec).await?.id;
        let mut follower = run(&lab.client, session, &StartSpec::argv(["/bin/true"])).await?;
        until_exited(&mut follower).await?;
        self.exited.add(begun.elapsed());
        lab.client.end_session(session, false).await?;
        self.over.add(begun.elapsed());
        lab.client.end_session(session, true).await?;
        Ok(())
    }
}

/// The arguments for bubblewrap that come closest to the walls of a session; `None` if it is not installed.
pub fn bwrap(workspace: &Path) -> Option<Vec<String>> {
    Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().ok()?;
    let mut arguments: Vec<String> =
        ["--unshare-all", "--new-session", "--die-with-parent", "--clearenv", "--cap-drop", "ALL"]
            .map(str::to_owned)
            .to_vec();
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];
    for place in system.into_iter().filter(|place| Path::new(place).exists()) {
        match std::fs::read_link(place) {
            Ok(target) => {
                arguments.extend(["--symlink".into(), target.to_string_lossy().into_owned(), place.into()]);
            }
            Err(_) => arguments.extend(["--ro-bind", place, place].map(str::to_owned)),
        }
    }
    let rest = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind"];
    arguments.extend(rest.map(str::to_owned));
    arguments.push(workspace.to_string_lossy().into_owned());
    arguments.extend(["/workspace", "--chdir", "/workspace", "/bin/true"].map(str::to_owned));
    Some(arguments)
}

pub fn spawn_bwrap(arguments: &[String]) -> Result<()> {
    let status = Command::new("bwrap").args(arguments).status()?;
    ensure!(status.success(), "bubblewrap ended with {status}");
    Ok(())
}
