//! Changes several files of a workspace: all of them, or none.
//!
//! ```text
//! sessions/<id>/staging/<random>/slots/     the new files, and later the old ones
//!                               /slots.name instead of it: the name of a folder in the workspace, if that is on another
//!                                           disk
//!                               /new, /old, /progress
//!                                           the bytes of many files, instead of a slot for each
//!                               /journal    the steps
//!                               /change     the response; as long as it exists, the steps are undone by the next worker
//!              /changes/<change id>         the response of a completed change
//! ```
//!
//! New bytes are staged before the lock is taken ([`draft`]). Then all expectations are checked and the steps are planned
//! ([`plan`]), the journal is written, and the steps are carried out. One rename of `change` completes it: until then a
//! killed worker leaves the old state, from then on the new one.

mod draft;
mod plan;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::{Journal, Staged, StagedBytes, StagingDir, Workspace, create_private_folder};

pub(crate) use self::draft::Draft;
use self::plan::{Planned, plan};
use crate::files::open_workspace::{OpenWorkspace, disk_fault};

const SLOTS_NAME: &str = "slots";
const HIDDEN_SLOTS_NAME: &str = "slots.name";
const JOURNAL_NAME: &str = "journal";
const MARK_NAME: &str = "change";

/// Responses of completed changes that are kept, for calls that are repeated over a restart of the worker.
const MAX_KEPT_RESPONSES: usize = 32;
/// The longest id of a change.
const MAX_CHANGE_ID_BYTES: usize = 64;

/// The responses of completed changes.
pub(crate) fn responses_dir(session: &Path) -> PathBuf {
    session.join("changes")
}

/// The file of a change's response. Changes without an id have none.
fn response_file(session: &Path, change_id: &str) -> Result<Option<PathBuf>, Fault> {
    if change_id.is_empty() {
        return Ok(None);
    }
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
    if change_id.len() > MAX_CHANGE_ID_BYTES || !change_id.bytes().all(is_plain) {
        let message =
            format!("a change id has at most {MAX_CHANGE_ID_BYTES} letters, digits, hyphens and underscores");
        return Err(Fault::new(FaultKind::Invalid, message));
    }
    Ok(Some(responses_dir(session).join(change_id)))
}

/// Carries out a change, with the lock of the workspace. Blocks.
pub(crate) fn commit(
    open: &OpenWorkspace,
    draft: Draft,
    change_id: &str,
) -> Result<v1::ChangeFilesResponse, Fault> {
    let kept = response_file(&open.dir, change_id)?;
    if let Some(response) = kept.as_deref().and_then(read_response) {
        return Ok(response);
    }
    let Draft { changes, mut stage, .. } = draft;
    let Planned { journal, created, grown } = plan(open, &changes, &mut stage)?;
    let response = v1::ChangeFilesResponse { created };
    let done = carry_out(&open.workspace, stage, &journal, &response, kept.as_deref(), &|| !open.is_over());
    open.has_changed();
    done?;
    open.has_grown(0, grown);
    if kept.is_some() {
        forget_old_responses(&open.dir);
    }
    Ok(response)
}

/// A staging folder with slots.
#[derive(Debug)]
pub(crate) struct Stage {
    dir: Option<StagingDir>,
    slots: Workspace,
    /// The bytes of files without a slot.
    bytes: Option<StagedBytes>,
    /// The workspace and the name of the folder in it, if the slots are there.
    hidden: Option<(Workspace, String)>,
}

impl Stage {
    /// Creates one where entries can be renamed into the workspace.
    pub(crate) fn new(open: &OpenWorkspace) -> Result<Self, Fault> {
        let dir = open.stage()?;
        let slots = open.staged_tree(&dir, SLOTS_NAME)?;
        let is_beside = open.workspace.shares_mount(&slots).map_err(|error| disk_fault(&error))?;
        if is_beside {
            return Ok(Self { dir: Some(dir), slots, bytes: None, hidden: None });
        }
        open.workspace.may_add_entries()?;
        Self::inside(&open.workspace, dir)
    }

    /// With the slots in the workspace itself.
    fn inside(workspace: &Workspace, dir: StagingDir) -> Result<Self, Fault> {
        let name = Workspace::hidden_slots_name();
        // Recorded first: whatever happens, the folder is removed.
        fs::write(dir.path().join(HIDDEN_SLOTS_NAME), &name).map_err(|error| disk_fault(&error))?;
        let slots = workspace.create_hidden_slots(&name)?;
        let workspace = workspace.reopen().map_err(|error| disk_fault(&error))?;
        Ok(Self { dir: Some(dir), slots, bytes: None, hidden: Some((workspace, name)) })
    }

    /// The bytes of files without a slot, which are created at the first use.
    fn bytes_mut(&mut self) -> io::Result<&mut StagedBytes> {
        match &mut self.bytes {
            Some(bytes) => Ok(bytes),
            none => {
                Ok(none
                    .insert(StagedBytes::create(self.dir.as_ref().map_or(Path::new(""), StagingDir::path))?))
            }
        }
    }

    fn staged(&self) -> Staged<'_> {
        Staged { slots: &self.slots, bytes: self.bytes.as_ref() }
    }

    fn path(&self) -> &Path {
        self.dir.as_ref().map_or(Path::new(""), StagingDir::path)
    }

    /// Keeps everything for the next worker.
    fn keep(mut self) {
        self.hidden = None;
        if let Some(dir) = self.dir.take() {
            dir.keep();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((workspace, name)) = &self.hidden
            && let Err(error) = workspace.remove_hidden_slots(name)
        {
            tracing::warn!(name, %error, "cannot remove a staging folder in a workspace");
        }
    }
}

/// Writes the journal, carries out its steps, and undoes them if one fails.
fn carry_out(
    workspace: &Workspace,
    stage: Stage,
    journal: &Journal,
    response: &v1::ChangeFilesResponse,
    kept: Option<&Path>,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    begin(&stage, journal, response, kept).map_err(|error| disk_fault(&error))?;
    let done = journal.apply(workspace, stage.staged(), goes_on).map_err(Fault::from);
    let done = done.and_then(|()| complete(stage.path(), kept).map_err(|error| disk_fault(&error)));
    let Err(fault) = done else { return Ok(()) };
    if let Err(error) = journal.undo(workspace, stage.staged()) {
        tracing::error!(dir = %stage.path().display(), %error, "cannot undo a change of files");
        stage.keep(); // the next worker tries again
        return Err(Fault::new(FaultKind::Unavailable, format!("{fault}; it could not be undone: {error}")));
    }
    Err(fault)
}

/// Writes the journal, and then the mark: from here on a new worker undoes the steps.
fn begin(
    stage: &Stage,
    journal: &Journal,
    response: &v1::ChangeFilesResponse,
    kept: Option<&Path>,
) -> io::Result<()> {
    if let Some(folder) = kept.and_then(Path::parent) {
        create_private_folder(folder)?;
    }
    if let Some(bytes) = &stage.bytes {
        bytes.sync()?;
    }
    write_file(&stage.path().join(JOURNAL_NAME), &journal.encode()?, journal)?;
    write_file(&stage.path().join(MARK_NAME), &serde_json::to_vec(&response.created)?, journal)?;
    if is_worth_a_sync(journal) {
        File::open(stage.path())?.sync_all()?;
    }
    Ok(())
}

/// A single step is atomic by itself, even over a power failure.
const fn is_worth_a_sync(journal: &Journal) -> bool {
    journal.len() > 1
}

fn write_file(path: &Path, bytes: &[u8], journal: &Journal) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    if is_worth_a_sync(journal) { file.sync_all() } else { Ok(()) }
}

/// Completes the change atomically: the mark becomes the kept response.
fn complete(stage: &Path, kept: Option<&Path>) -> io::Result<()> {
    let mark = stage.join(MARK_NAME);
    match kept {
        Some(kept) => fs::rename(mark, kept),
        None => fs::remove_file(mark),
    }
}

fn read_response(path: &Path) -> Option<v1::ChangeFilesResponse> {
    let created = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    Some(v1::ChangeFilesResponse { created })
}

/// Removes all but the newest responses.
fn forget_old_responses(session: &Path) {
    let entries = fs::read_dir(responses_dir(session)).into_iter().flatten().flatten();
    let age = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let mut responses: Vec<_> = entries.filter_map(age).collect();
    if responses.len() <= MAX_KEPT_RESPONSES {
        return;
    }
    responses.sort();
    for (_, path) in &responses[..responses.len() - MAX_KEPT_RESPONSES] {
        let _ = fs::remove_file(path); // the next change tries again
    }
}

/// Undoes a change that a killed worker left in this staging folder, if any. The folder can be removed then.
pub(crate) fn recover(workspace: &Workspace, staging: &StagingDir) -> io::Result<()> {
    let hidden = fs::read_to_string(staging.path().join(HIDDEN_SLOTS_NAME)).ok();
    if staging.has(MARK_NAME) {
        let slots = match &hidden {
            Some(name) => workspace.open_hidden_slots(name)?,
            None => Workspace::open(&staging.path().join(SLOTS_NAME), None)?,
        };
        let journal = Journal::decode(&fs::read(staging.path().join(JOURNAL_NAME))?)?;
        let bytes = StagedBytes::open(staging.path())?;
        let staged = Staged { slots: &slots, bytes: bytes.as_ref() };
        journal.undo(workspace, staged).map_err(io::Error::other)?;
        fs::remove_file(staging.path().join(MARK_NAME))?;
        tracing::info!(steps = journal.len(), "a change of files was interrupted and is undone");
    }
    hidden.map_or(Ok(()), |name| workspace.remove_hidden_slots(&name))
}
