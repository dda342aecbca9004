//! What an ended session leaves on the host besides its logs.

use std::fs;
use std::path::Path;

use headwater_protocol::SandboxKind;
use headwater_sandbox::cgroup::SessionCgroup;
use headwater_sandbox::init;
use headwater_workspace::tree;

use crate::files;
use crate::layout;
use crate::layout::SessionRecord;
use crate::sessions::session::spare;
use crate::usage::project_quotas;

/// Ends what outlived a session's init where there were no walls. Blocks.
pub(crate) fn end_strays(record: &SessionRecord) {
    if record.sandbox == SandboxKind::None && !init::kill_stray_processes(record.slot) {
        tracing::warn!(session = %record.id, "processes of a session without walls cannot be ended");
    }
}

/// Removes it, the workspace included. Blocks: that may be large, and the last process on its way out.
pub(crate) fn remove(session: &Path, cgroup: Option<&SessionCgroup>) {
    remove_but_workspace(session, cgroup);
    remove_workspace(session);
}

/// Removes the workspace and the snapshots of a session in which nothing runs. Blocks.
pub(crate) fn remove_workspace(session: &Path) {
    let project = project_quotas::project_of(session);
    if let Err(error) = tree::remove(&layout::workspace(session)) {
        tracing::warn!(dir = %session.display(), %error, "the workspace cannot be removed");
    }
    if let Some(project) = project {
        project_quotas::end(project);
    }
    files::remove_all(session);
}

/// Removes what a session that sleeps does not need. Blocks.
pub(crate) fn remove_but_workspace(session: &Path, cgroup: Option<&SessionCgroup>) {
    // First, so that nobody writes what is being removed: without walls, or after a crash, something may be alive.
    if let Some(Err(error)) = cgroup.map(|cgroup| cgroup.kill().and_then(|()| cgroup.remove())) {
        tracing::warn!(dir = %session.display(), %error, "the session's cgroup cannot be removed");
    }
    spare::remove(session);
    // Gone already, maybe.
    let _ = fs::remove_file(session.join("init.sock"));
}
