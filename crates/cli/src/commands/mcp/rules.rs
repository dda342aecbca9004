//! `headwater mcp rules`: the rules of a project, and the file that has them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::spec::session_spec;
use crate::args::{McpRulesArgs, McpServeArgs};
use crate::error::CommandError;
use crate::output::{print_line, print_note};

/// What a file without rules would contain.
const NO_RULES: &str = r#"{"rules": []}"#;

/// The file with the rules of the project in this folder. It is in the data folder, which no session can reach.
pub fn file_of(data: &Path, folder: &str) -> PathBuf {
    let name = format!("{}.json", blake3::hash(folder.as_bytes()).to_hex());
    data.join("approvals").join(name)
}

/// Prints the rules to standard output, and the name of their file to standard error.
pub fn rules(data: &Path, args: &McpRulesArgs) -> Result<u8, CommandError> {
    let spec = session_spec(&McpServeArgs { folder: args.folder.clone(), ..McpServeArgs::default() })?;
    let folder = spec.place.map(|place| place.folder).unwrap_or_default();
    let file = file_of(data, &folder);
    print_note(&format!("headwater: the rules of {folder} are in {}", file.display()));
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => NO_RULES.to_owned(),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", file.display());
            return Err(CommandError::internal(message));
        }
    };
    print_line(text.trim_end())?;
    Ok(0)
}
