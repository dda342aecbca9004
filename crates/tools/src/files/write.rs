//! `write_file`: creates a file, or replaces its whole content.

use headwater_contract::v1;

use super::{Files, MAX_ATTEMPTS, is_outdated, paths};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::WriteFile;

pub(super) async fn write_file(files: &Files<'_>, args: &WriteFile) -> Result<Outcome, ToolError> {
    let path = files.new_file(&args.file_path).await?;
    let change = v1::FileChange {
        path: path.as_str().to_owned().into(),
        action: Some(v1::file_change::Action::Write(args.content.clone().into())),
        ..v1::FileChange::default()
    };
    let mut attempt = 1;
    let created = loop {
        match files.change(vec![change.clone()]).await {
            Ok(created) => break created.first() == Some(&true),
            // Somebody created or replaced it in that moment.
            Err(error) if is_outdated(&error) && attempt < MAX_ATTEMPTS => attempt += 1,
            Err(error) => {
                let ToolError { message, hint, .. } = error.into();
                let hint = hint.unwrap_or_else(|| "call write_file again".to_owned());
                return Err(ToolError::new(format!("nothing was written: {message}")).hint(hint));
            }
        }
    };
    let verb = if created { "Created" } else { "Replaced" };
    let (lines, bytes) = (args.content.lines().count(), args.content.len());
    let size = format!("{}, {}", counted(lines, "line"), counted(bytes, "byte"));
    Ok(Outcome::text(format!("{verb} {} ({size})", paths::shown(path.as_str()))))
}

/// A number with its noun.
pub(super) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
