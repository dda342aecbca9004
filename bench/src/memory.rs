//! Memory of idle sessions.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::bench_worker::{BenchWorker, Effort};
use crate::process::{Machine, inits, pss_mib};
use crate::report::{Goal, Report};

/// Time for the kernel to free memory.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// Memory reserved for each session on a small machine: more than one should need.
const MIB_PER_SESSION: f64 = 2.0;

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let wanted = effort.pick(1000.0, 100.0);
    let lab = BenchWorker::with_pool(0).await?;
    // One session first, so that one-time costs are not counted.
    lab.session().await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let before = (Machine::now()?, pss_mib(lab.pid())?, inits()?);
    let fits = (before.0.available / 2.0 / MIB_PER_SESSION).floor();
    let count = f64::min(wanted, fits);
    ensure!(count >= 1.0, "not enough memory is free");
    let mut made = 0.0;
    while made < count {
        lab.session().await?;
        made += 1.0;
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let after = (Machine::now()?, pss_mib(lab.pid())?, inits()?);
    let fresh: Vec<_> = after.2.difference(&before.2).copied().collect();
    ensure!(fresh.len() as f64 >= count, "{} inits run, not {count}", fresh.len());
    // Other inits of this binary may have started meanwhile: the mean of all is good enough.
    let pss = fresh.iter().map(|pid| pss_mib(*pid)).sum::<Result<f64>>()? / fresh.len() as f64;
    let kernel = (after.0.kernel - before.0.kernel) / count;
    let worker = (after.1 - before.1) / count;
    let available = (before.0.available - after.0.available) / count;
    let mut report = Report::new("memory", format!("{count} idle sessions, for each"));
    let kib = 1024.0;
    report.value("its init (PSS)", pss * kib, "KiB");
    report.value("the kernel (slab, stacks, page tables, percpu)", kernel * kib, "KiB");
    report.value("growth of the worker (PSS)", worker * kib, "KiB");
    report.value("MemAvailable that is gone, for comparison", available * kib, "KiB");
    report.check("all of ours for a session", pss + kernel + worker, " MiB", Goal::AtMost(0.55));
    if count < wanted {
        report.note(format!("only {count} of {wanted} sessions fit this machine"));
    }
    report.note("the kernel's part is of the whole machine: right only while nothing else starts or ends");
    Ok(report)
}
