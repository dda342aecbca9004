//! Project quotas: if the file system of the data folder has them, the kernel enforces the disk limit of each session.
//!
//! Each new workspace gets its own project id, which stays with the folder over hibernation and restarts. The kernel
//! counts the content of the workspace and refuses writes of programs over the limit; writes of the worker as root are
//! measured before (`files::free_space`). Snapshots are not in the project: they are subtracted from the limit. Workspaces from
//! before quotas were turned on have no project; the janitor only measures them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use headwater_protocol::Limits;
use headwater_sandbox::project_quota::{self, ProjectLimits, State};

use crate::files;
use crate::layout;

/// The project quotas of a worker.
#[derive(Debug)]
pub(crate) struct Projects {
    /// Whether new workspaces get a project.
    on: bool,
    /// Held while limits are read and set, so that the last caller sets the newest.
    turn: Mutex<()>,
}

/// Whether the kernel enforces the disk limits of sessions in this data folder. A folder in a project of the operator
/// stays in it: taking workspaces out would evade the operator's limit.
pub fn are_usable(data: &Path) -> bool {
    let Ok(data) = File::open(data) else { return false };
    let data = data.as_fd();
    // Reading the usage of a project needs the same privilege as setting its limits. XFS has no project without files.
    let may_set = || {
        project_quota::usage(data, 1).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |_| true)
    };
    rustix::process::geteuid().is_root()
        && project_quota::state(data) == State::Enforced
        && project_quota::project(data).is_ok_and(|project| project.is_none())
        && may_set()
}

impl Projects {
    /// Checks the data folder for support.
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

    /// Assigns a project to a new, empty workspace. Not without isolation: its programs are root, for whom ext4 has no limit.
    pub(crate) fn begin(&self, session: &Path, uid: Option<u32>, limits: &Limits) {
        let Some(uid) = uid.filter(|_| self.on) else { return };
        // The id of the host user: no other session of this host has it at the same time.
        let claimed = File::open(layout::workspace(session))
            .and_then(|folder| project_quota::claim(folder.as_fd(), uid));
        match claimed {
            Ok(_) => self.limit(session, || Some(limits.clone())),
            Err(error) => {
                tracing::warn!(%error, "a workspace has no project quota: its disk usage is only measured");
            }
        }
    }

    /// Sets the limits of a session's workspace, if it has a project.
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
        if let Err(error) = project_quota::set_limits(folder.as_fd(), project, limits) {
            tracing::warn!(%error, session = %session.display(), "cannot set the project quota");
        }
    }
}

/// The project of a session's workspace, if the worker assigned it, and the session's folder.
pub(crate) fn project_of(session: &Path) -> Option<(File, u32)> {
    let top = File::open(session).ok()?;
    let workspace = File::open(layout::workspace(session)).ok()?;
    let project = project_quota::project(workspace.as_fd()).ok().flatten()?;
    // If the parent folder has the same project, it is the operator's.
    project_quota::project(top.as_fd()).is_ok_and(|above| above.is_none()).then_some((top, project))
}

/// Removes the limits of a project whose files were removed.
pub(crate) fn end((folder, project): (File, u32)) {
    if let Err(error) = project_quota::set_limits(folder.as_fd(), project, ProjectLimits::default()) {
        // Harmless: the next workspace with this id sets its own limits.
        tracing::debug!(%error, project, "cannot remove the limits of a project");
    }
}
