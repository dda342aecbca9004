//! The disk of the data folder is full: programs wait, everything else works, and when there is space again everything arrives.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionState, Reason, SessionState, StartSpec};
use headwater_tests::host::{Marker, PATIENCE, eventually};
use headwater_tests::{Options, TestWorker};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Signal;
use tempfile::TempDir;

/// A small disk; goes when the test ends.
pub(crate) struct Disk {
    folder: TempDir,
}

impl Disk {
    fn new(bytes: u64) -> Result<Self> {
        Self::with_inodes(bytes, 100_000)
    }

    /// A disk with a limited number of files and folders.
    pub(crate) fn with_inodes(bytes: u64, inodes: u64) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw-disk-").tempdir()?;
        let options = CString::new(format!("size={bytes},nr_inodes={inodes},mode=0755"))?;
        mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), options.as_c_str())
            .context("this test mounts a small disk, for which it must be root")?;
        Ok(Self { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn free(&self) -> u64 {
        rustix::fs::statvfs(self.path()).map_or(0, |stat| stat.f_bavail * stat.f_frsize)
    }

    /// Fills the disk, except for this many bytes.
    pub(crate) fn fill(&self, but: u64) -> Result<PathBuf> {
        let path = self.path().join("ballast");
        let file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
        // A server on it uses and frees some of it meanwhile.
        for _ in 0..100 {
            let length = file.metadata()?.len() + self.free().saturating_sub(but);
            match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, length.max(1)) {
                Ok(()) if self.free() <= but => break,
                Ok(()) | Err(rustix::io::Errno::NOSPC) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(path)
    }

    /// Uses up all inodes; the folder that holds them.
    pub(crate) fn fill_inodes(&self) -> Result<PathBuf> {
        let folder = self.path().join("litter");
        fs::create_dir_all(&folder)?;
        for n in 0.. {
            match fs::File::create(folder.join(n.to_string())) {
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
                made => drop(made?),
            }
        }
        Ok(folder)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = unmount(self.folder.path(), UnmountFlags::DETACH);
    }
}

async fn worker_on(disk: &Disk) -> Result<TestWorker> {
    // The disk is so small that the default bound for all logs, a fifth of it, would refuse starts before it is full.
    let config = Some("[retention]\nall_bytes = \"never\"\n".to_owned());
    let data = Some(disk.path().join("data"));
    TestWorker::with(Options { pool: Some(0), data, config, ..Options::default() }).await
}

fn numbers(to: u64) -> String {
    (1_000_000..=to).map(|n| format!("{n}\n")).collect()
}

#[tokio::test]
async fn programs_wait_the_rest_works_and_output_arrives_when_there_is_space() -> Result<()> {
    let disk = Disk::new(16 << 20)?;
    let worker = worker_on(&disk).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    // 4 MiB that can be forgotten later, and one that only waits.
    let old = worker.begin_in(session, &StartSpec::shell("head -c 4M /dev/zero")).await?;
    worker.read(old).await?;
    let waiting = worker.begin_in(session, &StartSpec::shell("echo on; sleep 1000")).await?;
    worker.watch(waiting).await?.until_printed("on").await?;
    let ballast = disk.fill(2 << 20)?;
    let id =
        worker.begin_in(session, &StartSpec::shell("seq 1000000 1999999; echo error >&2; exit 6")).await?;
    eventually("a full disk", async || disk.free() == 0).await?;
    // The program waits: it is not ended, and what came so far can be read.
    let info = client.execution(id).await?;
    assert!(matches!(info.state, ExecutionState::Running { .. }), "{:?}", info.state);
    let mut watcher = worker.watch(id).await?;
    watcher.until(|seen| seen.stdout.len() > 1 << 20).await?;
    assert!(numbers(1_999_999).starts_with(&watcher.seen.text()));
    // Others can be listed, read, cancelled, forgotten.
    assert_eq!(client.executions(Some(session), false).await?.len(), 3);
    client.cancel(waiting, Some(Duration::from_millis(300))).await?;
    let seen = worker.read(waiting).await?;
    assert_eq!((seen.text().as_str(), seen.verdict().reason), ("on\n", Reason::Cancelled));
    assert_eq!(worker.read(old).await?.stdout.len(), 4 << 20);
    client.forget(old).await?;
    fs::remove_file(ballast)?;
    // There is space again: all of it arrives, in order.
    let seen = watcher.rest().await?;
    assert!(seen.text() == numbers(1_999_999), "{} bytes", seen.stdout.len());
    assert_eq!((seen.errors().as_str(), seen.verdict().code), ("error\n", Some(6)));
    assert!(worker.read(id).await?.stdout == seen.stdout);
    Ok(())
}

#[tokio::test]
async fn a_program_that_ends_on_a_full_disk_has_its_verdict_and_its_output_later() -> Result<()> {
    let disk = Disk::new(16 << 20)?;
    let worker = worker_on(&disk).await?;
    let session = worker.session().await?;
    let marker = Marker::new();
    let line =
        "trap go=1 USR1; echo on; while [ -z \"$go\" ]; do sleep 0.02; done; seq 1000000 1099999; exit 6";
    let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
    worker.watch(id).await?.until_printed("on").await?;
    let client = worker.client().await?;
    let ballast = disk.fill(0)?;
    client.signal(id, Signal::USR1.as_raw(), false).await?;
    // It has printed all into its pipe and is gone; the verdict is reported although nothing can be logged.
    marker.count_becomes(0).await?;
    let info = client.wait(id, PATIENCE, false).await?;
    let verdict = info.state.verdict().context("no verdict")?.clone();
    assert_eq!((verdict.reason, verdict.code), (Reason::Exited, Some(6)));
    let message = verdict.message.unwrap_or_default();
    assert!(message.contains("disk") && message.contains("full"), "{message}");
    fs::remove_file(ballast)?;
    let seen = worker.read(id).await?;
    assert!(seen.text() == format!("on\n{}", numbers(1_099_999)), "{} bytes", seen.stdout.len());
    Ok(())
}

#[tokio::test]
async fn a_session_can_be_ended_and_forgotten_on_a_full_disk() -> Result<()> {
    for forget in [false, true] {
        let disk = Disk::new(16 << 20)?;
        let worker = worker_on(&disk).await?;
        let client = worker.client().await?;
        let session = worker.session().await?;
        let marker = Marker::new();
        // Its workspace is almost empty: removing it does not free the space for what is in the pipe.
        let line = "echo data > file; echo on; yes";
        let id = worker.begin_in(session, &marker.on(StartSpec::shell(line))).await?;
        eventually("a full disk", async || disk.free() == 0).await?;
        let info = client.end_session(session, forget).await?;
        assert!(matches!(info.state, SessionState::Ended { .. }), "{info:?}");
        marker.count_becomes(0).await?;
        assert!(!worker.workspace(session).exists());
        if forget {
            assert!(client.execution(id).await.is_err());
            assert!(disk.free() > 12 << 20, "{} bytes are free", disk.free());
        } else {
            let seen = worker.read(id).await?;
            assert_eq!(seen.verdict().reason, Reason::Cancelled);
            let message = seen.verdict().message.clone().unwrap_or_default();
            assert!(message.contains("disk") && message.contains("full"), "{message}");
            assert!(seen.text().starts_with("on\ny\ny\n"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_new_execution_on_a_full_disk_is_refused_with_the_reason() -> Result<()> {
    let disk = Disk::new(16 << 20)?;
    let worker = worker_on(&disk).await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let ballast = disk.fill(0)?;
    let error = client.start(session, None, &StartSpec::shell("echo hi")).await.unwrap_err();
    let fault = error.fault().context("the worker should answer")?;
    assert!(fault.message.contains("no space left on the disk"), "{}", fault.message);
    assert!(fault.hint.as_deref().is_some_and(|hint| hint.contains("space")), "{:?}", fault.hint);
    assert_eq!(client.executions(None, false).await?, []);
    fs::remove_file(ballast)?;
    assert_eq!(worker.run_in(session, &StartSpec::shell("echo hi")).await?.text(), "hi\n");
    Ok(())
}

#[tokio::test]
async fn a_worker_killed_on_a_full_disk_comes_back_and_loses_nothing() -> Result<()> {
    let disk = Disk::new(16 << 20)?;
    let mut worker = worker_on(&disk).await?;
    let session = worker.session().await?;
    let ballast = disk.fill(3 << 20)?;
    let id = worker.begin_in(session, &StartSpec::shell("seq 1000000 1999999; exit 6")).await?;
    eventually("a full disk", async || disk.free() == 0).await?;
    for _ in 0..3 {
        worker.kill();
        worker.start_again().await?;
        let info = worker.client().await?.execution(id).await?;
        assert!(matches!(info.state, ExecutionState::Running { .. }), "{:?}", info.state);
    }
    fs::remove_file(ballast)?;
    let seen = worker.read(id).await?;
    assert!(seen.text() == numbers(1_999_999), "{} bytes", seen.stdout.len());
    assert_eq!(seen.verdict().code, Some(6));
    Ok(())
}
