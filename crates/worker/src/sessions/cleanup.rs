//! Removing what a session leaves on the host besides its logs.

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

/// Ends the processes that outlived the init of a session without isolation. Blocks.
pub(crate) fn end_strays(record: &SessionRecord) {
    if record.sandbox == SandboxKind::None && !init::kill_stray_processes(record.slot) {
        tracing::warn!(session = %record.id, "cannot end the processes of a session without isolation");
    }
}

/// Removes everything, including the workspace. Blocks: that may be large, and the last process may still be exiting.
pub(crate) fn remove(session: &Path, cgroup: Option<&SessionCgroup>) {
    remove_but_workspace(session, cgroup);
    remove_workspace(session);
}

/// Removes the workspace and the snapshots of a session in which nothing runs. Blocks.
pub(crate) fn remove_workspace(session: &Path) {
    let project = project_quotas::project_of(session);
    if let Err(error) = tree::remove(&layout::workspace(session)) {
        tracing::warn!(dir = %session.display(), %error, "cannot remove the workspace");
    }
    if let Some(project) = project {
        project_quotas::end(project);
    }
    files::remove_all(session);
}

/// Removes what a hibernated session does not need. Blocks.
pub(crate) fn remove_but_workspace(session: &Path, cgroup: Option<&SessionCgroup>) {
    // First, so that nothing writes to what is being removed: without isolation, or after a crash, processes may be left.
    if let Some(Err(error)) = cgroup.map(|cgroup| cgroup.kill().and_then(|()| cgroup.remove())) {
        tracing::warn!(dir = %session.display(), %error, "cannot remove the session's cgroup");
    }
    spare::remove(session);
    // It may have been removed before.
    let _ = fs::remove_file(session.join("init.sock"));
}
