//! Memory of processes and of the kernel.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

/// The value of a line `NAME:  N kB` in a file of `/proc`, in KiB.
fn kib(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The proportional set size of a process, in MiB: shared pages are divided among the processes that share
/// them.
pub fn pss_mib(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    Ok(kib(&text, "Pss").context("no Pss in smaps_rollup")? / 1024.0)
}

/// The resident set size of a process, in MiB.
pub fn rss_mib(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(kib(&text, "VmRSS").context("no VmRSS in status")? / 1024.0)
}

/// The memory that a process has allocated, in MiB.
pub fn anonymous_mib(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(kib(&text, "RssAnon").context("no RssAnon in status")? / 1024.0)
}

/// Memory of the whole machine, in MiB.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Memory available for new programs.
    pub available: f64,
    /// Memory of the kernel itself: slabs, stacks, page tables, per-processor areas.
    pub kernel: f64,
}

impl Machine {
    /// The current values.
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/meminfo")?;
        let field = |name| kib(&text, name).map(|kib| kib / 1024.0);
        let kernel = ["SUnreclaim", "SReclaimable", "KernelStack", "PageTables", "SecPageTables", "Percpu"];
        Ok(Self {
            available: field("MemAvailable").context("no MemAvailable")?,
            kernel: kernel.into_iter().filter_map(field).sum(),
        })
    }
}

/// The running inits of this binary.
pub fn inits() -> Result<BTreeSet<u32>> {
    let binary = fs::metadata(headwater_tests::binary())?;
    let ours = |pid: &u32| {
        let init = fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"headwater\0init\0");
        init && fs::metadata(format!("/proc/{pid}/exe"))
            .is_ok_and(|exe| (exe.dev(), exe.ino()) == (binary.dev(), binary.ino()))
    };
    let names = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.filter(ours).collect())
}

/// Samples the memory of a process until it is asked for the peak.
#[derive(Debug)]
pub struct Peak {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<f64>,
}

impl Peak {
    /// Starts sampling.
    pub fn of(pid: u32) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut most = 0.0;
            loop {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                most = kib(&status, "RssAnon").unwrap_or(0.0).max(most);
                if stopped.recv_timeout(Duration::from_millis(20)) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return most / 1024.0;
                }
            }
        });
        Self { stop, thread }
    }

    /// The peak of its own memory, in MiB.
    pub fn mib(self) -> Result<f64> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow!("sampling failed"))
    }
}
