//! Runs per second through the API: clients on kept-alive connections, each in its own session, compared with
//! as many threads that spawn.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::bench_server::{BenchServer, run_to_exit, session};
use super::http::Http;
use super::run::TRUE;
use crate::bench_worker::Effort;
use crate::rate::spawns_a_second;
use crate::report::{Goal, Report};
use crate::stats::median;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (turns, time) = effort.pick((3, Duration::from_millis(1500)), (1, Duration::from_millis(700)));
    let site = BenchServer::start(1).await?;
    let mut clients = Vec::new();
    for _ in 0..32 {
        let mut http = site.http().await?;
        let session = session(&mut http).await?;
        clients.push((http, session));
    }
    let title = format!("runs of `/bin/true` a second through the API, {turns} turns of {time:?}, medians");
    let mut report = Report::new("http_rate", title);
    for (at_once, goal) in [(1, Goal::None), (8, Goal::None), (32, Goal::AtLeast(0.5))] {
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            floors.push(spawns_a_second(at_once, time)?);
            ours.push(runs_a_second(&mut clients, at_once, time).await?);
        }
        let (floor, ours) = (median(&mut floors), median(&mut ours));
        report.value(format!("{at_once} at once: bare spawn"), floor, "/s");
        report.value(format!("{at_once} at once: through the API"), ours, "/s");
        report.ratio(format!("{at_once} at once beside bare spawn"), ours / floor, goal);
    }
    Ok(report)
}

async fn runs_a_second(clients: &mut Vec<(Http, String)>, at_once: usize, time: Duration) -> Result<f64> {
    let begun = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for (mut http, session) in clients.drain(..at_once) {
        running.spawn(async move {
            let mut done = 0_u32;
            while begun.elapsed() < time {
                run_to_exit(&mut http, &session, TRUE).await?;
                done += 1;
            }
            anyhow::Ok((done, (http, session)))
        });
    }
    let mut done = 0;
    while let Some(one) = running.join_next().await {
        let (runs, client) = one??;
        done += runs;
        clients.push(client);
    }
    Ok(f64::from(done) / begun.elapsed().as_secs_f64())
}
