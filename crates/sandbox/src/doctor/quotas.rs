//! Project quotas, with which the kernel itself enforces the disk limit of sessions.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

use rustix::thread::{CapabilitySet, CapabilitySets};

use super::child::in_child;
use super::facts::Facts;
use super::refusal::{OrRefused, Refusal};
use super::scratch_dir::ScratchDir;
use super::{Check, Options};
use crate::project_quota::{self, ProjectLimits, State};

const NAME: &str = "project quotas";
/// The trial's quota, and how much it tries to write.
const LIMIT_BYTES: u64 = 256 << 10;
const WANTED_BYTES: usize = 4 << 20;

/// Checks the state of quotas on the file system of the data folder, and exceeds one if they are enforced.
pub(super) fn check(options: &Options, facts: &Facts) -> Check {
    let Ok(folder) = File::open(&options.folder) else { return state_check(State::Unsupported, facts.root) };
    let state = project_quota::state(folder.as_fd());
    let is_taken = project_quota::project(folder.as_fd()).is_ok_and(|project| project.is_some());
    match (state, facts.session_uid) {
        (State::Enforced, Some(_)) if is_taken => Check::fine(
            NAME,
            "not used: the data folder is already in a project, whose quota stays. The worker measures disk use \
             instead",
        ),
        (State::Enforced, Some(uid)) => trial_check(exceed_limit(options, uid)),
        (state, _) => state_check(state, facts.root),
    }
}

fn trial_check(tried: Result<(), Refusal>) -> Check {
    match tried {
        Ok(()) => Check::fine(
            NAME,
            "in force on the data folder: the kernel enforces the disk limit of new sessions",
        ),
        Err(refusal) => Check::warning(
            NAME,
            format!("in force on the data folder, but not usable: {}", refusal.message),
            "run the server as root outside a container, or with CAP_SYS_ADMIN in the host's user namespace",
        ),
    }
}

/// The check from the state alone, without a trial.
fn state_check(state: State, is_root: bool) -> Check {
    let missing =
        "not in force on the data folder: the worker measures disk use, and a fast writer can exceed it";
    match (state, is_root) {
        (State::Unsupported, _) => Check::fine(
            NAME,
            "not supported by the file system of the data folder (ext4, XFS have them): the worker measures disk use",
        ),
        (_, false) => {
            Check::fine(NAME, "not used: setting them needs root. The worker measures disk use instead")
        }
        (State::Counted, _) => Check::warning(
            NAME,
            missing,
            "unmount the file system and mount it with the option `prjquota` (for the root file system: kernel \
             parameter rootflags=prjquota)",
        ),
        _ => Check::warning(
            NAME,
            missing,
            "ext4: `tune2fs -O project,quota DEVICE` on the unmounted file system, then mount it with the option \
             `prjquota`. XFS: unmount it and mount it with `prjquota`",
        ),
    }
}

/// Writes more to a folder than its project may hold.
fn exceed_limit(options: &Options, uid: u32) -> Result<(), Refusal> {
    let top = ScratchDir::new(&options.folder).or_refused("create a folder")?;
    let path = top.join("project");
    std::fs::create_dir(&path).or_refused("create a folder")?;
    let folder = File::open(&path).or_refused("open a folder")?;
    let id = project_quota::claim(folder.as_fd(), uid).or_refused("assign a project id to a folder")?;
    let limits = ProjectLimits { bytes: Some(LIMIT_BYTES), inodes: None };
    let written = project_quota::set_limits(folder.as_fd(), id, limits)
        .or_refused("set a project quota")
        .and_then(|()| in_child(|| write(&path.join("file"))));
    drop(top);
    project_quota::set_limits(folder.as_fd(), id, ProjectLimits::default())
        .or_refused("remove a project quota")?;
    written
}

/// Writes too much without capabilities. The kernel must refuse it.
fn write(path: &std::path::Path) -> Result<(), Refusal> {
    let mut file = File::create_new(path).or_refused("create a file")?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).or_refused("drop capabilities")?;
    match file.write_all(&vec![1; WANTED_BYTES]) {
        Err(error) if is_quota(&error) => Ok(()),
        Err(error) => Err(error).or_refused("write a file"),
        Ok(()) => Err(Refusal::unexpected(format_args!(
            "{WANTED_BYTES} bytes could be written where {LIMIT_BYTES} are allowed"
        ))),
    }
}

/// ext4 reports an exceeded quota, XFS a full disk.
fn is_quota(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::QuotaExceeded | std::io::ErrorKind::StorageFull)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_quotas_are_reported_with_how_to_enable_them() {
        let off = state_check(State::Off, true).fix.unwrap();
        assert!(off.contains("tune2fs -O project,quota") && off.contains("prjquota"), "{off}");
        let counted = state_check(State::Counted, true).fix.unwrap();
        assert!(!counted.contains("tune2fs") && counted.contains("prjquota"), "{counted}");
        for state in [State::Off, State::Counted, State::Enforced] {
            let check = state_check(state, false);
            assert!(check.fix.is_none() && check.detail.contains("needs root"), "{check:?}");
        }
        assert!(state_check(State::Unsupported, true).detail.contains("not supported"));
    }

    #[test]
    fn quotas_that_cannot_be_used_are_a_warning_with_the_reason() {
        assert_eq!(trial_check(Ok(())).fix, None);
        let check = trial_check(Err(Refusal::unexpected("cannot set a project quota")));
        assert!(check.ok && check.fix.is_some() && check.detail.contains("cannot set"), "{check:?}");
    }
}
