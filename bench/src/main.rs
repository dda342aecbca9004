//! `headwater-bench`: compares the engine and the gateway with baselines of this machine and with peers, in
//! one run.
//!
//! Only ratios count: machines differ and are noisy. Compared values are measured alternately in the same
//! run. The binary under test is the `headwater` beside this one, or `HEADWATER_BIN`.

mod bench_worker;
mod echo;
mod first_byte;
mod flood;
mod fresh;
mod gateway;
mod memory;
mod process;
mod rate;
mod relay;
mod report;
mod resume;
mod run;
mod session;
mod stalled_followers;
mod stats;
mod terminals;
mod throughput;

use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use serde::Serialize;

use crate::bench_worker::Effort;
use crate::report::Report;

/// Measures the engine, at the worker's contract, and the gateway, through HTTP (`http_...`), compared with baselines of
/// this machine and with peers: bubblewrap, a minimal terminal relay, Jupyter Server, the exec-server of Codex.
///
/// Compared values are measured alternately in one run, and only ratios count. It takes up to 15 minutes;
/// nothing else should run meanwhile. The binary under test is the `headwater` beside this one, or
/// `HEADWATER_BIN`; its data is in a temporary folder (`TMPDIR`) on a disk, which is removed afterwards.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 110)]
struct Cli {
    /// Fewer rounds and less output: less than four minutes
    #[arg(long)]
    quick: bool,
    /// Run only these benchmarks
    #[arg(long, value_name = "NAME", value_parser = BENCHMARKS.map(|(name, _)| name))]
    only: Vec<String>,
    /// The size of the log in `http_resume`, in GiB
    #[arg(long, value_name = "GIB", value_parser = clap::value_parser!(u32).range(1..=24))]
    large_log: Option<u32>,
    /// Also write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Used by the benchmarks themselves.
    #[command(subcommand)]
    inner: Option<Inner>,
}

#[derive(Debug, clap::Subcommand)]
enum Inner {
    /// The minimal terminal relay; its socket is its standard input.
    #[command(name = relay::COMMAND, hide = true)]
    Relay {
        /// The file that it shows.
        file: Option<PathBuf>,
    },
    /// The minimal WebSocket server.
    #[command(name = gateway::minimal_server::COMMAND, hide = true)]
    SocketRelay {
        /// The file that it shows.
        file: Option<PathBuf>,
    },
}

type Measuring = Pin<Box<dyn Future<Output = Result<Report>>>>;
type Measure = fn(Effort) -> Measuring;

/// All benchmarks, in the order in which they run.
const BENCHMARKS: [(&str, Measure); 31] = [
    ("run", |effort| Box::pin(run::measure(effort))),
    ("first_byte", |effort| Box::pin(first_byte::measure(effort))),
    ("session", |effort| Box::pin(session::measure(effort))),
    ("fresh", |effort| Box::pin(fresh::measure(effort))),
    ("rate", |effort| Box::pin(rate::measure(effort))),
    ("throughput", |effort| Box::pin(throughput::measure(effort))),
    ("memory", |effort| Box::pin(memory::measure(effort))),
    ("terminals", |effort| Box::pin(terminals::measure(effort))),
    ("echo", |effort| Box::pin(echo::measure(effort))),
    ("flood", |effort| Box::pin(flood::measure(effort))),
    ("resume", |effort| Box::pin(resume::measure(effort))),
    ("http_run", |effort| Box::pin(gateway::run::measure(effort))),
    ("http_first_byte", |effort| Box::pin(gateway::first_byte::measure(effort))),
    ("http_session", |effort| Box::pin(gateway::session::measure(effort))),
    ("http_one_shot", |effort| Box::pin(gateway::one_shot::measure(effort))),
    ("http_rate", |effort| Box::pin(gateway::rate::measure(effort))),
    ("http_throughput", |effort| Box::pin(gateway::throughput::measure(effort))),
    ("http_idle", |effort| Box::pin(gateway::idle::measure(effort))),
    ("http_resume", |effort| Box::pin(gateway::resume::measure(effort))),
    ("http_echo", |effort| Box::pin(gateway::echo::measure(effort))),
    ("http_flood", |effort| Box::pin(gateway::flood::measure(effort))),
    ("http_files", |effort| Box::pin(gateway::files::measure(effort))),
    ("chat_token", |effort| Box::pin(gateway::chat::token::measure(effort))),
    ("chat_idle", |effort| Box::pin(gateway::chat::idle::measure(effort))),
    ("chat_output", |effort| Box::pin(gateway::chat::output::measure(effort))),
    ("builds", |effort| Box::pin(gateway::builds::measure(effort))),
    ("jupyter", |effort| Box::pin(gateway::jupyter::measure(effort))),
    ("codex_start", |effort| Box::pin(gateway::codex::start::measure(effort))),
    ("codex_output", |effort| Box::pin(gateway::codex::output::measure(effort))),
    ("codex_sandbox", |effort| Box::pin(gateway::codex::sandbox::measure(effort))),
    ("codex_patch", |effort| Box::pin(gateway::codex::patch::measure(effort))),
];

#[derive(Debug, Serialize)]
struct Findings {
    version: &'static str,
    kernel: String,
    processors: usize,
    quick: bool,
    benchmarks: Vec<Report>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.inner {
        Some(Inner::Relay { file }) => relay::serve(file).map(|()| true),
        Some(Inner::SocketRelay { file }) => gateway::minimal_server::serve(file).map(|()| true),
        None => bench(&cli),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("headwater-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a benchmark. A signal ends it, and the worker and its sessions are removed as at the end.
async fn unless_interrupted(measuring: Measuring) -> Result<Report> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        report = measuring => report,
        _ = int.recv() => Err(Interrupted.into()),
        _ = term.recv() => Err(Interrupted.into()),
    }
}

/// The run was interrupted by a signal.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interrupted;

/// Runs the selected benchmarks; returns whether all of them could be measured.
fn bench(cli: &Cli) -> Result<bool> {
    if cfg!(debug_assertions) {
        eprintln!("headwater-bench: this is a debug build: its figures are meaningless");
    }
    let effort = Effort { quick: cli.quick, large_log_gib: cli.large_log };
    // For the servers of the tests, too: a log in memory is not what is measured.
    tempfile::env::override_temp_dir(&bench_worker::disk()?).ok();
    let uname = rustix::system::uname();
    let mut findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        kernel: uname.release().to_string_lossy().into_owned(),
        processors: std::thread::available_parallelism()?.get(),
        quick: cli.quick,
        benchmarks: Vec::new(),
    };
    println!(
        "headwater {}, kernel {}, {} processors\n",
        findings.version, findings.kernel, findings.processors
    );
    let begun = Instant::now();
    let mut all = true;
    for (name, measure) in BENCHMARKS {
        if !cli.only.is_empty() && !cli.only.iter().any(|only| only == name) {
            continue;
        }
        // A client with one thread: none of its own context switches is measured.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        match runtime.block_on(unless_interrupted(measure(effort))) {
            Ok(report) => {
                println!("{}", report.text());
                findings.benchmarks.push(report);
            }
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => {
                println!("{name}: not measured: {error:#}\n");
                all = false;
            }
        }
    }
    let goals = findings.benchmarks.iter().map(Report::goals);
    let (met, set) = goals.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    println!("{met} of {set} goals met, in {:.0} s", begun.elapsed().as_secs_f64());
    if let Some(path) = &cli.json {
        let text = serde_json::to_string_pretty(&findings)?;
        std::fs::write(path, text + "\n").with_context(|| format!("writing `{}`", path.display()))?;
    }
    Ok(all)
}
