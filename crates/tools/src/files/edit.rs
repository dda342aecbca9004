//! `edit_file`: replaces an exact text. Everything else in the file keeps its bytes.

use bytes::Bytes;
use headwater_contract::v1;

use super::apply::expect;
use super::matches::{Edit, edit};
use super::state::PathState;
use super::write::counted;
use super::{Files, MAX_ATTEMPTS, is_busy, is_outdated, paths};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::patch::FilePath;
use crate::schema::EditFile;

/// Line numbers in the result.
const MAX_SHOWN_LINES: usize = 20;

pub(super) async fn edit_file(files: &Files<'_>, args: &EditFile) -> Result<Outcome, ToolError> {
    let path = files.file(&args.file_path).await?;
    let mut attempt = 1;
    loop {
        let state = files.read_one(path.as_str()).await?;
        let (version, bytes) = content(files, &path, state).await?;
        let Edit { bytes, lines } = edit(&path, &bytes, &args.old_string, &args.new_string, args.all)?;
        let change = v1::FileChange {
            path: path.as_str().to_owned().into(),
            expect: Some(expect(Some(version))),
            action: Some(v1::file_change::Action::Write(bytes.into())),
            mode: None,
        };
        match files.change(vec![change]).await {
            Ok(_) => return Ok(Outcome::text(summary(&path, &lines))),
            Err(error) if is_outdated(&error) && attempt < MAX_ATTEMPTS => attempt += 1,
            Err(error) => {
                let busy = "Wait until the program that writes it is done, then call edit_file again";
                let busy = is_busy(&error).then(|| busy.to_owned());
                let ToolError { message, hint, .. } = error.into();
                let hint = busy.or(hint).unwrap_or_else(|| "Call edit_file again".to_owned());
                return Err(ToolError::new(format!("the file was not changed: {message}")).hint(hint));
            }
        }
    }
}

/// The version and the bytes of a file that is to be edited.
async fn content(files: &Files<'_>, path: &FilePath, state: PathState) -> Result<(String, Bytes), ToolError> {
    let is_file = state.entry.as_ref().is_some_and(|entry| entry.kind() == v1::FileKind::File);
    match (state.entry, state.error) {
        (Some(entry), None) if is_file => Ok((entry.etag, state.bytes)),
        (Some(_), None) => Err(ToolError::new(format!("`{path}` is not a regular file"))
            .hint("Folders and links cannot be edited: name the file itself")),
        (_, Some(error)) => {
            Err(ToolError::new(format!("`{path}` cannot be edited: {error}")).hint("Use a program instead"))
        }
        (None, None) => Err(files.missing(path.as_str(), "To create it, call write_file").await),
    }
}

fn summary(path: &FilePath, lines: &[usize]) -> String {
    let mut shown: Vec<_> = lines.iter().take(MAX_SHOWN_LINES).map(ToString::to_string).collect();
    if lines.len() > shown.len() {
        shown.push("...".to_owned());
    }
    let at = if lines.len() == 1 { "line" } else { "lines" };
    let path = paths::shown(path.as_str());
    format!("Replaced {} in {path} ({at} {})", counted(lines.len(), "occurrence"), shown.join(", "))
}
