//! 1,000 idle terminals: the memory of the worker for each, beside that of its shell.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use headwater_contract::v1;
use headwater_protocol::{ExecutionId, SessionId, StartSpec, TtySize};

use crate::bench_worker::{BenchWorker, Effort};
use crate::process::{Machine, pss_mib};
use crate::report::{Goal, Report};

/// Screens sleep after two seconds; the rest is time for the kernel to free memory.
const SETTLE_TIME: Duration = Duration::from_secs(5);
/// Terminals in one session: below its process limit.
const TERMINALS_PER_SESSION: u32 = 100;
/// Memory reserved for each terminal and its shell on a small machine: more than one should need.
const MIB_PER_TERMINAL: f64 = 6.0;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let wanted = effort.pick(1000.0, 100.0);
    let lab = BenchWorker::with_pool(0).await?;
    // One terminal first, so that one-time costs are not counted.
    let mut session = lab.session().await?;
    let first = start(&lab, session).await?;
    prompt(&lab, first).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let before = (Machine::now()?, pss_mib(lab.pid())?);
    let count = f64::min(wanted, (before.0.available / 2.0 / MIB_PER_TERMINAL).floor());
    ensure!(count >= 1.0, "not enough memory is free");
    let (mut all, mut left) = (Vec::new(), 0);
    while (all.len() as f64) < count {
        if left == 0 {
            session = lab.session().await?;
            left = TERMINALS_PER_SESSION;
        }
        left -= 1;
        all.push(start(&lab, session).await?);
    }
    for id in &all {
        prompt(&lab, *id).await?;
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let after = (Machine::now()?, pss_mib(lab.pid())?);
    let (kib, each) = (1024.0, |before: f64, after: f64| (after - before) / count);
    let mut report =
        Report::new("terminals", format!("{count} idle terminals, a shell at its prompt, for each"));
    let gone = each(after.0.available, before.0.available) * kib;
    report.value("MemAvailable that is gone, the shell included", gone, "KiB");
    report.value(
        "the kernel (slab, stacks, page tables, percpu)",
        each(before.0.kernel, after.0.kernel) * kib,
        "KiB",
    );
    let worker = each(before.1, after.1) * kib;
    report.check("growth of the worker (PSS): log, screen, task", worker, " KiB", Goal::AtMost(100.0));
    if count < wanted {
        report.note(format!("only {count} of {wanted} terminals fit this machine"));
    }
    report.note("a session is made for every 100 terminals: its init is in what is gone");
    Ok(report)
}

async fn start(lab: &BenchWorker, session: SessionId) -> Result<ExecutionId> {
    let mut spec = StartSpec::argv(["/bin/bash", "-l"]);
    spec.tty = Some(TtySize::default());
    spec.metadata.insert("headwater.terminal".into(), "main".into());
    Ok(lab.client.start(session, None, &spec).await?.id)
}

/// Waits for the shell's prompt.
async fn prompt(lab: &BenchWorker, id: ExecutionId) -> Result<()> {
    let request = v1::FollowMarksRequest { execution_id: id.to_string(), ..Default::default() };
    let mut marks = lab.client.terminals().follow_marks(request).await?.into_inner();
    let deadline = Instant::now() + Duration::from_mins(1);
    while let Some(answer) = marks.message().await? {
        if answer.marks.iter().any(|mark| matches!(mark.kind, Some(v1::mark::Kind::Prompt(_)))) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "no prompt comes");
    }
    anyhow::bail!("a shell ended")
}
