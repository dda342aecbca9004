//! Descriptors, pipes, and the file system of the logs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;

use rustix::fs::FallocateFlags;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Resource, getrlimit};

use super::child::in_child;
use super::facts::Facts;
use super::refusal::{Finding, OrRefused, Refusal};
use super::scratch_dir::ScratchDir;
use super::{Check, Options};

/// The pipe size that init requests for programs.
const PIPE_BYTES: usize = 1 << 20;
/// A worker holds a few descriptors for each session and each execution.
const WANTED_OPEN_FILES: u64 = 16_384;
const FILES_PER_EXECUTION: u64 = 8;
/// The unit in which the kernel counts pipe memory.
const PAGE_BYTES: u64 = 4096;

/// Checks the limit on open files, the size of pipes, and hole punching.
pub(super) fn check(options: &Options, facts: &Facts) -> Vec<Check> {
    vec![open_files(getrlimit(Resource::Nofile).maximum), pipes(facts), holes(options)]
}

fn open_files(most: Option<u64>) -> Check {
    let name = "open files";
    match most {
        Some(most) if most < WANTED_OPEN_FILES => {
            let detail = format!(
                "at most {most} in the worker: about {} executions at once",
                most / FILES_PER_EXECUTION
            );
            let fix = format!(
                "ulimit -Hn {WANTED_OPEN_FILES} (systemd: LimitNOFILE={WANTED_OPEN_FILES}) where the worker is started"
            );
            Check::warning(name, detail, fix)
        }
        Some(most) => Check::fine(name, format!("at most {most} in the worker")),
        None => Check::fine(name, "no limit in the worker"),
    }
}

/// Checks the pipe size as the session's user: sessions of root do not run as root.
fn pipes(facts: &Facts) -> Check {
    let name = "pipes";
    match in_child(|| large_pipe(facts)) {
        Ok(()) => {
            Check::fine(name, format!("1 MiB each{}", how_many(facts.sysctl("fs.pipe-user-pages-soft"))))
        }
        Err(refusal) => {
            let fix = match facts.sysctl("fs.pipe-max-size") {
                Some(most) if most < PIPE_BYTES as u64 => format!("sysctl -w fs.pipe-max-size={PIPE_BYTES}"),
                _ => "sysctl -w fs.pipe-user-pages-soft=262144".to_owned(),
            };
            let detail = format!("smaller than 1 MiB, so output is slower: {}", refusal.message);
            Check::warning(name, detail, fix)
        }
    }
}

fn large_pipe(facts: &Facts) -> Result<(), Refusal> {
    if let Some(uid) = facts.session_uid {
        let uid = rustix::process::Uid::from_raw(uid);
        // A failure here is reported by another check; the pipe is then tried as the current user.
        let _ = rustix::thread::set_thread_res_uid(uid, uid, uid);
    }
    let (_reading, writing) = pipe_with(PipeFlags::CLOEXEC).or_refused("create a pipe")?;
    fcntl_setpipe_size(&writing, PIPE_BYTES).or_refused("create a pipe of 1 MiB").map(drop)
}

/// How many large pipes a user may have; later ones are smaller.
fn how_many(pages: Option<u64>) -> String {
    match pages {
        None | Some(0) => String::new(),
        Some(pages) => {
            let count = pages * PAGE_BYTES / PIPE_BYTES as u64;
            format!(", {count} of them per user (fs.pipe-user-pages-soft = {pages}), later ones smaller")
        }
    }
}

/// Logs free the space of dropped output by punching holes.
fn holes(options: &Options) -> Check {
    let name = "hole punching";
    match punch(options) {
        Ok(detail) => Check::fine(name, detail),
        Err(refusal) => Check::warning(
            name,
            format!("logs do not free the disk space of dropped output: {}", refusal.message),
            "put the data folder on ext4, xfs, btrfs or tmpfs with --data DIR",
        ),
    }
}

fn punch(options: &Options) -> Finding {
    const BYTES: u64 = 256 << 10;
    let folder = ScratchDir::new(&options.folder).or_refused("create a folder")?;
    let mut file = fs::File::create_new(folder.join("log")).or_refused("create a file")?;
    let all = vec![1; usize::try_from(BYTES).unwrap_or(0)];
    file.write_all(&all).and_then(|()| file.sync_all()).or_refused("write a file")?;
    let blocks = || file.metadata().map(|meta| meta.blocks()).or_refused("get the metadata of a file");
    let before = blocks()?;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, flags, 0, BYTES / 2).or_refused("punch a hole into a file")?;
    if blocks()? >= before {
        return Err(Refusal::unexpected("a hole in a file frees no space"));
    }
    Ok("the disk space of dropped output is freed at once".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_descriptors_are_a_warning_with_the_number_of_executions_they_are_enough_for() {
        let check = open_files(Some(1024));
        assert!(check.ok && check.detail.contains("about 128 executions"), "{check:?}");
        assert!(check.fix.unwrap().contains("16384"));
        assert_eq!(open_files(Some(1 << 20)).fix, None);
        assert_eq!(open_files(None).fix, None);
    }

    #[test]
    fn the_kernels_pages_are_converted_to_pipes() {
        assert!(how_many(Some(16_384)).starts_with(", 64 of them"));
        assert_eq!(how_many(Some(0)), "");
    }
}
