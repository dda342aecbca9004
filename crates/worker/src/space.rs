//! The one door from a call to a session's workspace: which session, whose its files are, and how much may be in it.
//!
//! A session that sleeps has its workspace all the same: whoever builds that lets [`Engine::space`] find it, and nothing
//! that works on files needs to know.

use std::path::{Path, PathBuf};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Limits, SessionId};

use crate::engine::Engine;
use crate::folder;
use crate::workspace::{PathError, Staging, Workspace, WorkspacePath};

/// A session's workspace, to be worked on.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) workspace: Workspace,
    /// Where programs of the session see it.
    pub(crate) home: String,
    pub(crate) limits: Limits,
    folder: PathBuf,
    staging: PathBuf,
}

impl Engine {
    /// The workspace of this session, which is used by that. Blocks for a moment.
    pub(crate) fn space(&self, session: SessionId) -> Result<Space, Fault> {
        let session = self.live_session(session)?;
        session.touch();
        let limits = session.record().spec.limits.clone();
        let folder = folder::workspace(session.dir());
        let staging = self.folder.staging();
        Ok(Space { workspace: session.workspace()?, home: session.home(), limits, folder, staging })
    }
}

impl Space {
    /// Understands a path of anything in it.
    pub(crate) fn path(&self, path: &[u8]) -> Result<WorkspacePath, PathError> {
        WorkspacePath::any(path, &self.home)
    }

    /// A tree that is to appear in it whole, or not at all.
    pub(crate) fn stage(&self) -> Result<Staging, Fault> {
        Staging::new(&self.staging, &self.workspace).map_err(|error| {
            let message = format!("cannot make a folder to work in: {error}");
            Fault::new(FaultKind::Unavailable, message).hint("is there room on the disk of the data folder?")
        })
    }

    /// Its folder on the host. Only to measure it: everything in it is opened by [`Workspace`].
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
