//! Comparison with Jupyter Server from `PyPI`. Its kernel is one interpreter that stays; ours is a new one
//! each time.

mod server;

use headwater_protocol::frames::OUTPUT;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use self::server::{Kernel, Server};
use super::bench_server::{BenchServer, EVENTS, remove, runs, session, start};
use super::events::TextCount;
use super::http::Http;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::{Samples, median};

const MB: f64 = 1e6;
const MEGABYTES: u64 = 50;
/// Prints 50 MB, a megabyte at a time.
const PRINT_LARGE: &str =
    "import sys\nline = 'x' * 79 + '\\n'\nfor _ in range(50):\n    sys.stdout.write(line * 12500)\n";
const PRINT: &str = "print(1)";
/// The header of an output frame, without its kind.
const FRAME_HEADER_BYTES: u64 = 9;
/// How long the server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(100, 20);
    let (starts, turns) = effort.pick((5, 3), (2, 1));
    let mut report = Report::new("jupyter", "python through the API beside Jupyter Server".to_owned());
    let Some(program) = server::program() else {
        report.note("Jupyter Server: not installed; `scripts/setup.sh bench` does it");
        return Ok(report);
    };
    let jupyter = tokio::time::timeout(START_TIMEOUT, Server::start(&program));
    let jupyter = jupyter.await.context("Jupyter Server does not answer")??;
    let site = BenchServer::start(1).await?;
    let mut http = site.http().await?;
    first_runs(&mut report, &jupyter, &mut http, starts).await?;
    let id = session(&mut http).await?;
    let mut kernel = jupyter.kernel().await?;
    kernel.first_output(PRINT).await?;
    prints(&mut report, &mut kernel, &mut http, &id, rounds).await?;
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        theirs.push(kernel_flood(&mut kernel).await?);
        ours.push(our_flood(&site, &mut http, &id).await?);
    }
    let (theirs, ours) = (median(&mut theirs), median(&mut ours));
    report.value(format!("{MEGABYTES} MB: Jupyter"), theirs, "MB/s");
    report.value(format!("{MEGABYTES} MB: ours, over a WebSocket"), ours, "MB/s");
    report.ratio(format!("{MEGABYTES} MB: ours beside Jupyter"), ours / theirs, Goal::AtLeast(1.0));
    report.note(
        "ours starts a fresh interpreter, in walls, for each run; Jupyter's kernel is warm and has none",
    );
    report.note("quick ack: Jupyter's server leaves Nagle's algorithm on, and an ordinary client's kernel acknowledges late");
    Ok(report)
}

/// From a cold start to the first output: of a kernel, or of a session.
async fn first_runs(report: &mut Report, jupyter: &Server, http: &mut Http, starts: usize) -> Result<()> {
    let (mut theirs, mut ours) = (Samples::default(), Samples::default());
    for _ in 0..starts {
        let begun = Instant::now();
        let mut kernel = jupyter.kernel().await?;
        kernel.first_output(PRINT).await?;
        theirs.add(begun.elapsed());
        jupyter.end(kernel).await?;
        let begun = Instant::now();
        let id = session(http).await?;
        print_one(http, &id, &mut Samples::default()).await?;
        ours.add(begun.elapsed());
        http.call("DELETE", &format!("/v1/sessions/{id}"), "", 204).await?;
    }
    report.times("kernel start to first print(1): Jupyter", &theirs);
    report.times("session create to first print(1): ours", &ours);
    report.ratio(
        "from nothing to print(1): ours beside Jupyter",
        ours.p50() / theirs.p50(),
        Goal::AtMost(1.0),
    );
    Ok(())
}

async fn prints(
    report: &mut Report,
    kernel: &mut Kernel,
    http: &mut Http,
    session: &str,
    rounds: usize,
) -> Result<()> {
    let (mut plain, mut quick, mut ours) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..rounds {
        let begun = Instant::now();
        kernel.first_output(PRINT).await?;
        plain.add(begun.elapsed());
        print_one(http, session, &mut ours).await?;
    }
    kernel.acknowledge_at_once();
    for _ in 0..rounds {
        let begun = Instant::now();
        kernel.first_output(PRINT).await?;
        quick.add(begun.elapsed());
        print_one(http, session, &mut ours).await?;
    }
    report.times("print(1) to output: Jupyter, warm kernel", &plain);
    report.times("print(1) to output: the same, quick ack", &quick);
    report.times("print(1) to output: ours, fresh interpreter", &ours);
    report.ratio("print(1): ours (fresh) beside Jupyter (warm)", ours.p50() / plain.p50(), Goal::AtMost(1.0));
    report.ratio("... beside Jupyter with quick ack", ours.p50() / quick.p50(), Goal::None);
    Ok(())
}

async fn print_one(http: &mut Http, session: &str, samples: &mut Samples) -> Result<()> {
    let body = json!({ "language": "python", "code": PRINT }).to_string();
    let begun = Instant::now();
    http.stream("POST", &runs(session), EVENTS, &body).await?;
    http.until("\"text\":\"1").await?;
    samples.add(begun.elapsed());
    http.body().await.map(drop)
}

async fn kernel_flood(kernel: &mut Kernel) -> Result<f64> {
    let mut count = TextCount::after("\"text\": \"");
    let begun = Instant::now();
    let id = format!("\"{}\"", kernel.execute(PRINT_LARGE).await?);
    while count.bytes < MEGABYTES * 1_000_000 {
        let message = kernel.message().await?;
        // Messages of an earlier run may be left.
        if memchr::memmem::find(&message, id.as_bytes()).is_some() {
            count.push(&message);
        }
    }
    ensure!(count.bytes == MEGABYTES * 1_000_000, "{} bytes came", count.bytes);
    Ok(count.bytes as f64 / begun.elapsed().as_secs_f64() / MB)
}

async fn our_flood(site: &BenchServer, http: &mut Http, session: &str) -> Result<f64> {
    let body = json!({ "language": "python", "code": PRINT_LARGE }).to_string();
    let begun = Instant::now();
    let id = start(http, session, &body).await?;
    let mut socket = site.attach(&id).await?;
    let mut got = 0;
    while let Some((kind, bytes)) = socket.count().await? {
        if kind == OUTPUT {
            got += bytes - FRAME_HEADER_BYTES;
        }
    }
    let rate = got as f64 / begun.elapsed().as_secs_f64() / MB;
    ensure!(got == MEGABYTES * 1_000_000, "{got} bytes came");
    remove(http, &id).await?;
    Ok(rate)
}
