//! 1,000 terminals idle: what the worker holds for each, beside what its shell takes.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use headwater_contract::v1;
use headwater_protocol::{ExecutionId, SessionId, StartSpec, TtySize};

use crate::lab::{Effort, Lab};
use crate::process::{Machine, pss_mib};
use crate::report::{Goal, Report};

/// Screens sleep after two seconds, and what the kernel gives back late must not count.
const SETTLE: Duration = Duration::from_secs(5);
/// In one session: below its limit of processes.
const EACH: u32 = 100;
/// Room for a shell on a small machine, in MiB: more than one should need.
const ROOM: f64 = 6.0;

/// Measures it.
pub async fn measure(effort: Effort) -> Result<Report> {
    let wanted = effort.pick(1000.0, 100.0);
    let lab = Lab::with_pool(0).await?;
    // One first, so that what the first one brings in is not counted as every one's.
    let mut session = lab.session().await?;
    let first = start(&lab, session).await?;
    prompt(&lab, first).await?;
    tokio::time::sleep(SETTLE).await;
    let before = (Machine::now()?, pss_mib(lab.pid())?);
    let count = f64::min(wanted, (before.0.available / 2.0 / ROOM).floor());
    ensure!(count >= 1.0, "not enough memory is free");
    let (mut all, mut left) = (Vec::new(), 0);
    while (all.len() as f64) < count {
        if left == 0 {
            session = lab.session().await?;
            left = EACH;
        }
        left -= 1;
        all.push(start(&lab, session).await?);
    }
    for id in &all {
        prompt(&lab, *id).await?;
    }
    tokio::time::sleep(SETTLE).await;
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

async fn start(lab: &Lab, session: SessionId) -> Result<ExecutionId> {
    let mut spec = StartSpec::argv(["/bin/bash", "-l"]);
    spec.tty = Some(TtySize::default());
    spec.metadata.insert("headwater.terminal".into(), "main".into());
    Ok(lab.client.start(session, None, &spec).await?.id)
}

/// Waits for the shell's prompt.
async fn prompt(lab: &Lab, id: ExecutionId) -> Result<()> {
    let request = v1::FollowMarksRequest { execution_id: id.to_string(), after_seq: 0 };
    let mut marks = lab.client.terminals().follow_marks(request).await?.into_inner();
    let deadline = Instant::now() + Duration::from_mins(1);
    while let Some(told) = marks.message().await? {
        if told.marks.iter().any(|mark| matches!(mark.kind, Some(v1::mark::Kind::Prompt(_)))) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "no prompt comes");
    }
    anyhow::bail!("a shell ended")
}
