//! Project quotas: where the file system of the data folder has them, the kernel enforces the disk limit of each session.
//!
//! Each new workspace gets a project id of its own, which stays with the folder for as long as it is there: over
//! hibernation and over workers. The kernel counts all that is in the workspace and refuses what passes the limit to
//! programs; what we write as root is measured before (`quota`). Snapshots are not in the project: what they take of the
//! limit is subtracted. Workspaces from before quotas were turned on have no project, and are watched only (`watch`).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use headwater_protocol::Limits;
use headwater_sandbox::quota::{self, ProjectLimits, State};

use crate::files;
use crate::layout;

/// What a worker does about project quotas.
#[derive(Debug)]
pub(crate) struct Projects {
    /// Whether new workspaces get a project.
    on: bool,
    /// Held while limits are looked up and set, so that the last one who sets them sets the newest.
    turn: Mutex<()>,
}

/// Whether the kernel enforces the disk limits of sessions in this data folder. A folder that is in a project of the
/// operator's stays in it: taking workspaces out would evade the operator's limit.
pub fn are_usable(data: &Path) -> bool {
    let Ok(data) = File::open(data) else { return false };
    let data = data.as_fd();
    // Asking for the usage of a project takes the same right as setting its limits. XFS knows no project without files.
    let may_set =
        || quota::usage(data, 1).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |_| true);
    rustix::process::geteuid().is_root()
        && quota::state(data) == State::Enforced
        && quota::project(data).is_ok_and(|project| project.is_none())
        && may_set()
}

impl Projects {
    /// For the sessions of this data folder.
    pub(crate) fn find(data: &Path) -> Self {
        let on = are_usable(data);
        if on {
            tracing::info!("project quotas enforce the disk limit of new sessions");
        }
        Self { on, turn: Mutex::default() }
    }

    /// Whether new workspaces get a project.
    pub(crate) const fn are_on(&self) -> bool {
        self.on
    }

    /// Gives a new, empty workspace a project. Without walls it gets none: its programs are root, whom ext4 refuses nothing.
    pub(crate) fn begin(&self, session: &Path, uid: Option<u32>, limits: &Limits) {
        let Some(uid) = uid.filter(|_| self.on) else { return };
        // The host user's number is as good as any: no other session of this host has it at the same time.
        let claimed =
            File::open(layout::workspace(session)).and_then(|folder| quota::claim(folder.as_fd(), uid));
        match claimed {
            Ok(_) => self.limit(session, || Some(limits.clone())),
            Err(error) => tracing::warn!(%error, "a workspace has no project quota: its disk use is watched"),
        }
    }

    /// Sets what a session's workspace may hold, if it has a project.
    pub(crate) fn limit(&self, session: &Path, limits: impl FnOnce() -> Option<Limits>) {
        if !self.on {
            return;
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some((folder, project)), Some(limits)) = (project_of(session), limits()) else { return };
        let limits = ProjectLimits {
            bytes: limits.disk_bytes.map(|bytes| bytes.saturating_sub(files::kept_bytes(session))),
            inodes: limits.inodes.map(|inodes| inodes.saturating_add(1)), // the workspace itself
        };
        if let Err(error) = quota::set_limits(folder.as_fd(), project, limits) {
            tracing::warn!(%error, session = %session.display(), "the project quota cannot be set");
        }
    }
}

/// The project of a session's workspace, if that is one of ours, and the session's folder.
pub(crate) fn project_of(session: &Path) -> Option<(File, u32)> {
    let top = File::open(session).ok()?;
    let workspace = File::open(layout::workspace(session)).ok()?;
    let project = quota::project(workspace.as_fd()).ok().flatten()?;
    // One that the folder above has, too, is the operator's.
    quota::project(top.as_fd()).is_ok_and(|above| above.is_none()).then_some((top, project))
}

/// Removes the limits of a project whose files are gone.
pub(crate) fn end((folder, project): (File, u32)) {
    if let Err(error) = quota::set_limits(folder.as_fd(), project, ProjectLimits::default()) {
        // Harmless: whoever gets the id next sets limits of its own.
        tracing::debug!(%error, project, "the limits of a project cannot be removed");
    }
}
