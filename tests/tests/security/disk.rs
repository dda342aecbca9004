//! The disk limit: whatever way a program takes, a session ends up near its limit, stays there, and runs nothing more until
//! files are removed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use headwater_contract::FaultKind;
use headwater_protocol::{Limits, SessionId, StartSpec};
use headwater_tests::host;

use crate::target::{Entry, Side, Target, WALLED, neighbour_is_answered};

const CLASS: u32 = 12;
const LIMIT: u64 = 64 << 20;
/// What an attack takes where nothing stops it, by each of its ways: enough that the difference cannot be overlooked, and
/// little enough that the control does not fill the disk under the tests beside it.
const WANTED: u64 = 1 << 30;

/// Allocates without writing, by each way that the kernel has.
const ALLOCATE: &str = "
import ctypes, fcntl, os, struct
C = ctypes.CDLL(None, use_errno=True)
def by_library(fd): os.posix_fallocate(fd, 0, 1 << 30)
def by_mode(mode):
    def allocate(fd):
        if C.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(1 << 30)): raise OSError(ctypes.get_errno(), '')
    return allocate
def by_request(number):
    def allocate(fd): fcntl.ioctl(fd, number, struct.pack('hhqqiI4i', 0, 0, 0, 1 << 30, 0, 0, 0, 0, 0, 0))
    return allocate
ways = [by_library, by_mode(0), by_mode(1), by_mode(16), by_request(0x4030582a), by_request(0x40305839)]
for n, way in enumerate(ways):
    try: way(os.open('big%d' % n, os.O_CREAT | os.O_RDWR))
    except OSError: pass
";

/// Allocates what may be allocated in one file again and again, as fast as it goes.
const ALLOCATE_MANY: &str = "
import os
for n in range(96):
    try: os.posix_fallocate(os.open('big%d' % n, os.O_CREAT | os.O_RDWR), 0, 60 << 20)
    except OSError: pass
";

/// A sparse file whose pages are written by way of the memory.
const SPARSE: &str = "
import mmap, os
for n in range(96):
    fd = os.open('big%d' % n, os.O_CREAT | os.O_RDWR)
    try: os.ftruncate(fd, 60 << 20)
    except OSError: continue
    m = mmap.mmap(fd, 60 << 20)
    for at in range(0, 60 << 20, 4096): m[at] = 1
";

/// Many files, none of them large.
const WRITE_MANY: &str = "
data = bytes(4 << 20)
for n in range(1536):
    with open('big%d' % n, 'wb') as f: f.write(data)
";

/// Bytes that are allocated in a folder.
fn allocated(folder: &Path) -> Result<u64> {
    let files = fs::read_dir(folder)?.flatten().filter_map(|file| file.metadata().ok());
    Ok(files.map(|file| file.blocks() * 512).sum())
}

async fn limited(target: &Target) -> Result<SessionId> {
    target.session(Limits { disk_bytes: Some(LIMIT), ..Limits::default() }).await
}

#[tokio::test]
async fn allocating_ahead_never_takes_more_than_the_disk_limit() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = limited(&target).await?;
        for _ in 0..4 {
            // Refused once the session is over its limit: then it takes nothing more either.
            let _ = target.run(session, &Entry::Python.spec(ALLOCATE)).await;
        }
        let taken = allocated(&target.worker.workspace(session))?;
        assert!(taken <= 2 * LIMIT, "{side:?}: {taken} bytes");
    }
    Ok(())
}

#[tokio::test]
async fn without_walls_the_same_program_takes_gigabytes() -> Result<()> {
    // The control: this file system lets itself be filled so, by all of the ways but those that it does not have.
    let target = Target::new(Side::OpenOrdinary, CLASS).await?;
    let session = target.session(Limits { disk_bytes: Some(8 * WANTED), ..Limits::default() }).await?;
    target.run(session, &Entry::Python.spec(ALLOCATE)).await?;
    let taken = allocated(&target.worker.workspace(session))?;
    assert!(taken >= WANTED, "{taken} bytes");
    target.end(session).await
}

#[tokio::test]
async fn a_session_that_passed_its_disk_limit_stops_there_until_files_are_removed() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let neighbour = limited(&target).await?;
        for code in [ALLOCATE_MANY, SPARSE, WRITE_MANY] {
            let session = limited(&target).await?;
            let workspace = target.worker.workspace(session);
            let spec = Entry::Python.spec(&format!("{code}\nimport time; time.sleep(100)"));
            let (seen, calm) =
                tokio::join!(target.run(session, &spec), neighbour_is_answered(&target, neighbour));
            calm?;
            assert_ne!(seen?.verdict().code, Some(0), "{side:?}: {code}");
            let taken = allocated(&workspace)?;
            assert!((LIMIT..LIMIT + (1 << 30)).contains(&taken), "{side:?}: {taken} bytes by {code}");
            // Nothing more runs, however often it is tried.
            for _ in 0..3 {
                let refused =
                    target.client.start(session, None, &spec).await.err().context("it was started")?;
                let fault = refused.fault().context("the worker should answer")?.clone();
                assert_eq!(fault.kind, FaultKind::OverDisk, "{fault}");
                assert!(fault.message.contains(&LIMIT.to_string()) && fault.hint.is_some(), "{fault}");
            }
            assert_eq!(allocated(&workspace)?, taken);
            for file in fs::read_dir(&workspace)? {
                fs::remove_file(file?.path())?;
            }
            let seen = target.run(session, &StartSpec::shell("echo again > file; cat file")).await?;
            assert_eq!(seen.text(), "again\n");
            target.end(session).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn one_file_ends_at_what_is_left_and_another_limit_for_files_still_holds() -> Result<()> {
    let target = Target::new(Side::Root, CLASS).await?;
    let session = limited(&target).await?;
    let size =
        |name: &str| fs::metadata(target.worker.workspace(session).join(name)).map_or(0, |file| file.len());
    let written = "head -c 20M /dev/zero > first && head -c 20M /dev/zero > other";
    let seen = target.run(session, &StartSpec::shell(written)).await?;
    assert_eq!(seen.verdict().code, Some(0), "the control: what fits can be written");
    let limit = StartSpec::argv(["prlimit", "--fsize", "--raw", "--noheadings", "--output", "SOFT"]);
    // The remaining bytes, plus the size of an existing file. Others use the disk too, so that it may take a moment
    // until the worker sees that this session does.
    host::eventually("the limit of a file is what is left", async || {
        let text = target.run(session, &limit).await.map(|seen| seen.text()).unwrap_or_default();
        text.trim().parse::<u64>().is_ok_and(|bytes| (24 << 20..=45 << 20).contains(&bytes))
    })
    .await?;
    let seen = target.run(session, &StartSpec::argv(["truncate", "-s", "1T", "second"])).await?;
    assert_ne!(seen.verdict().code, Some(0));
    assert_eq!(size("second"), 0);
    let seen = target.run(session, &StartSpec::argv(["truncate", "-s", "40M", "first"])).await?;
    assert_eq!((seen.verdict().code, size("first")), (Some(0), 40 << 20), "a file can still grow");
    let mut spec = limit.clone();
    spec.limits.file_bytes = Some(12_345);
    assert_eq!(target.run(session, &spec).await?.text().trim(), "12345");
    Ok(())
}
