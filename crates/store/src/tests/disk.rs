//! A full disk, and one that cannot be written: the errors say so, and no data is lost.
//!
//! Each test runs itself again in a separate mount namespace, with a small tmpfs.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_protocol::SessionSpec;
use rustix::mount::{MountFlags, mount, mount_remount};

use super::samples::{execution, put, put_session, session};
use crate::sqlite::raw;
use crate::{SessionRow, SqliteStore, Store, StoreError};

/// Set in the second run: the path of the small disk.
const DISK: &str = "HEADWATER_TEST_STORE_DISK";

/// Runs `scenario` with a disk of 2 MiB, in a separate process.
fn on_a_small_disk<F: Future<Output = ()>>(test: &str, scenario: impl FnOnce(PathBuf) -> F) {
    if let Some(disk) = std::env::var_os(DISK) {
        mount("tmpfs", &disk, "tmpfs", MountFlags::empty(), Some(c"size=2m")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(scenario(disk.into()));
    }
    let disk = tempfile::tempdir().unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let done = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(DISK, disk.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && output.contains("1 passed"), "{output}{errors}");
}

/// Creates a file that takes all free space.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("ballast");
    let mut file = File::create(&path).unwrap();
    while file.write_all(&[1; 512]).is_ok() {}
    path
}

/// A session whose row takes this many bytes.
fn large(bytes: usize) -> SessionRow {
    let metadata = [("m".into(), "x".repeat(bytes))].into();
    SessionRow { spec: SessionSpec { metadata, ..SessionSpec::default() }, ..session() }
}

#[test]
fn a_full_disk_is_reported_and_writes_succeed_again_once_there_is_space() {
    on_a_small_disk("a_full_disk_is_reported_and_writes_succeed_again_once_there_is_space", async |disk| {
        let path = disk.join("store.db");
        let store = SqliteStore::open(&path).await.unwrap();
        let parent = put_session(&store).await;
        let ballast = fill(&disk);
        let mut acknowledged = Vec::new();
        let error = loop {
            let row = execution(parent);
            match store.put_execution(&row).await {
                Ok(_) => acknowledged.push(row.id),
                Err(error) => break error,
            }
        };
        assert!(error.is_disk_full(), "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert!(store.session(parent).await.unwrap().is_some(), "reading still works");
        fs::remove_file(ballast).unwrap();
        acknowledged.push(put(&store, execution(parent)).await.id);
        for id in &acknowledged {
            assert!(store.execution(*id).await.unwrap().is_some());
        }
        store.close().await.unwrap();
        assert_eq!(raw(&path, "PRAGMA integrity_check").await.unwrap(), ["ok"]);
    });
}

#[test]
fn a_write_that_is_too_large_for_the_disk_does_not_fail_those_beside_it() {
    on_a_small_disk("a_write_that_is_too_large_for_the_disk_does_not_fail_those_beside_it", async |disk| {
        let store = SqliteStore::open(&disk.join("store.db")).await.unwrap();
        let (first, huge, last) = (session(), large(4 << 20), session());
        let results = tokio::join!(biased; store.put_session(&first), store.put_session(&huge), store.put_session(&last));
        assert!(results.0.unwrap() && results.2.unwrap());
        let error = results.1.unwrap_err();
        assert!(error.is_disk_full(), "{error}");
        assert_eq!(store.session(first.id).await.unwrap(), Some(first));
        assert_eq!(store.session(huge.id).await.unwrap(), None);
        assert_eq!(store.session(last.id).await.unwrap(), Some(last));
    });
}

#[test]
fn no_space_for_a_new_store_is_reported() {
    on_a_small_disk("no_space_for_a_new_store_is_reported", async |disk| {
        let ballast = fill(&disk);
        let path = disk.join("store.db");
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert!(error.is_disk_full() && error.to_string().contains("store.db"), "{error}");
        fs::remove_file(ballast).unwrap();
        SqliteStore::open(&path).await.unwrap().ping().await.unwrap();
    });
}

#[test]
fn a_store_that_cannot_be_written_is_refused_with_the_reason() {
    on_a_small_disk("a_store_that_cannot_be_written_is_refused_with_the_reason", async |disk| {
        let path = disk.join("store.db");
        let store = SqliteStore::open(&path).await.unwrap();
        put_session(&store).await;
        store.close().await.unwrap();
        mount_remount(&disk, MountFlags::RDONLY, "").unwrap();
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("store.db") && text.contains("cannot be written"), "{text}");
    });
}
