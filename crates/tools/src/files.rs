//! The tools that read and change files of the workspace.
//!
//! Paths are relative to the workspace, or absolute below it as programs see it; links are never followed. Every
//! change of files is one call to the worker, which makes all of it or nothing.

mod apply;
mod edit;
mod grep;
mod image;
mod indentation;
mod list;
mod matches;
mod paths;
mod read;
mod slice;
mod state;
#[cfg(test)]
mod tests;
mod write;

use headwater_contract::{Client, ContractError, Fault, FaultKind, v1};
use headwater_protocol::{ExecutionId, SessionId};
use tokio::sync::OnceCell;

use crate::error::ToolError;
use crate::host::Host;
use crate::outcome::Outcome;
use crate::schema::Call;

/// How often a change is tried if somebody else changes the same files at the same time.
const MAX_ATTEMPTS: usize = 3;
/// The longest file that is changed by its content, in bytes: it is held in memory.
const MAX_EDITED_BYTES: u64 = 64 << 20;

/// The files of one session, for one call.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    calls: &'a Client,
    streams: &'a Client,
    session: SessionId,
    /// The absolute path of the workspace for programs, once it was asked for.
    home: OnceCell<String>,
}

/// Calls the tool if it is one of files.
pub(crate) async fn call(files: &Files<'_>, call: &Call) -> Option<Result<Outcome, ToolError>> {
    Some(match call {
        Call::ApplyPatch(args) => apply::apply_patch(files, args).await,
        Call::EditFile(args) => edit::edit_file(files, args).await,
        Call::WriteFile(args) => write::write_file(files, args).await,
        Call::ReadFile(args) => read::read_file(files, args).await,
        Call::ListDir(args) => list::list_dir(files, args).await,
        Call::GrepFiles(args) => grep::grep_files(files, args).await,
        Call::ViewImage(args) => image::view_image(files, args).await,
        _ => return None,
    })
}

impl<'a> Files<'a> {
    pub(crate) fn new(host: &'a dyn Host, session: SessionId) -> Self {
        Self { calls: host.calls(), streams: host.streams(), session, home: OnceCell::new() }
    }

    /// Changes files, all or none. A call that is repeated over a restart of the worker changes them once.
    async fn change(&self, changes: Vec<v1::FileChange>) -> Result<Vec<bool>, ContractError> {
        let head = v1::ChangeFilesHead {
            session_id: self.session.to_string(),
            change_id: ExecutionId::random().to_string(),
        };
        let response = self.calls.retry(|client| client.change_files(head.clone(), changes.clone())).await?;
        Ok(response.created)
    }
}

/// Whether somebody else may have created or changed one of the files meanwhile, so that the change is tried again.
fn is_outdated(error: &ContractError) -> bool {
    let ContractError::Fault(Fault { kind, .. }) = error else { return false };
    matches!(kind, FaultKind::Mismatch | FaultKind::Conflict)
}

/// Whether a program changes one of the files all the time. Other conflicts say themselves what to do.
fn is_busy(error: &ContractError) -> bool {
    matches!(error, ContractError::Fault(Fault { kind: FaultKind::Mismatch, .. }))
}
