//! Runs per second: several clients at once, each in its own session, compared with as many threads that
//! spawn.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use headwater_protocol::{SessionId, StartSpec};

use crate::bench_worker::{BenchWorker, Effort, bare, run, until_exited};
use crate::report::{Goal, Report};
use crate::stats::median;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (turns, time) = effort.pick((3, Duration::from_millis(1500)), (1, Duration::from_millis(500)));
    let lab = BenchWorker::with_pool(1).await?;
    let mut sessions = Vec::new();
    for _ in 0..32 {
        sessions.push((lab.connect().await?, lab.session().await?));
    }
    let mut report =
        Report::new("rate", format!("runs of `/bin/true` a second, {turns} turns of {time:?}, medians"));
    for at_once in [1, 8, 32] {
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            floors.push(spawns_a_second(at_once, time)?);
            ours.push(runs_a_second(&sessions, at_once, time).await?);
        }
        let (floor, ours) = (median(&mut floors), median(&mut ours));
        report.value(format!("{at_once} at once: bare spawn"), floor, "/s");
        report.value(format!("{at_once} at once: in sessions"), ours, "/s");
        report.ratio(format!("{at_once} at once beside bare spawn"), ours / floor, Goal::AtLeast(0.5));
    }
    Ok(report)
}

pub fn spawns_a_second(at_once: usize, time: Duration) -> Result<f64> {
    let begun = Instant::now();
    let spawn = move || {
        let mut done = 0_u32;
        while begun.elapsed() < time {
            bare()?;
            done += 1;
        }
        Ok(done)
    };
    let threads: Vec<_> = (0..at_once).map(|_| std::thread::spawn(spawn)).collect();
    let mut done = 0;
    for thread in threads {
        let one: Result<u32> = thread.join().map_err(|_| anyhow!("a thread failed"))?;
        done += one?;
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}

async fn runs_a_second(
    sessions: &[(headwater_contract::Client, SessionId)],
    at_once: usize,
    time: Duration,
) -> Result<f64> {
    let begun = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for (client, session) in sessions.iter().take(at_once).cloned() {
        clients.spawn(async move {
            let spec = StartSpec::argv(["/bin/true"]);
            let mut done = 0_u32;
            while begun.elapsed() < time {
                until_exited(&mut run(&client, session, &spec).await?).await?;
                done += 1;
            }
            anyhow::Ok(done)
        });
    }
    let mut done = 0;
    while let Some(one) = clients.join_next().await {
        done += one??;
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}
