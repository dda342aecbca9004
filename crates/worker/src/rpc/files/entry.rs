//! Entries of a workspace in the contract.

use headwater_contract::{Fault, v1};
use headwater_workspace::{Entry, Kind, WorkspacePath};

use crate::files::file_kind;
use crate::files::open_workspace::OpenWorkspace;

/// An entry in the contract, with the target of a link.
pub(crate) fn to_proto(path: &WorkspacePath, entry: &Entry, target: Option<Vec<u8>>) -> v1::FileEntry {
    let has_size = matches!(entry.kind, Kind::File | Kind::Link);
    v1::FileEntry {
        path: path.bytes().into(),
        kind: file_kind(entry.kind).into(),
        size: if has_size { entry.size } else { 0 },
        mode: entry.mode,
        modified_at_ms: entry.modified_at_ms(),
        etag: entry.etag(),
        target: target.map(Into::into),
    }
}

/// The entry at a path.
pub(crate) fn entry_at(open: &OpenWorkspace, path: &WorkspacePath) -> Result<v1::FileEntry, Fault> {
    let entry = open.workspace.stat(path)?;
    let target = (entry.kind == Kind::Link).then(|| open.workspace.read_link(path).ok());
    Ok(to_proto(path, &entry, target.flatten()))
}
