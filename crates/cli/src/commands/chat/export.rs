//! A conversation as a file.

use std::path::Path;

use headwater_protocol::conversation::{Conversation, ConversationId, LogEntry};

use crate::error::CommandError;

/// Writes a conversation. The ending of the name decides about the format.
#[cfg(target_os = "linux")]
pub fn write(
    file: &Path,
    id: &ConversationId,
    title: Option<&str>,
    conversation: &Conversation,
    log: &[LogEntry],
) -> Result<(), CommandError> {
    use headwater_agent::export::{Export, ExportFormat};

    let format = match file.extension().and_then(|ending| ending.to_str()) {
        Some("md") => ExportFormat::Markdown,
        Some("json") => ExportFormat::Json,
        Some("ipynb") => ExportFormat::Notebook,
        _ => {
            let message = format!("`{}` does not end with `.md`, `.json` or `.ipynb`", file.display());
            return Err(CommandError::usage(message).hint("the ending decides about the format"));
        }
    };
    let text = Export { id, title, server: "", conversation, log }.text(format);
    std::fs::write(file, text)
        .map_err(|error| CommandError::usage(format!("cannot write `{}`: {error}", file.display())))
}

/// The crate that writes exports is the agent's, which exists on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn write(
    _: &Path,
    _: &ConversationId,
    _: Option<&str>,
    _: &Conversation,
    _: &[LogEntry],
) -> Result<(), CommandError> {
    use crate::error::ErrorKind;

    Err(CommandError::new(ErrorKind::Refused, "exports are written on Linux only")
        .hint("`--json` prints the events of an answer here, too"))
}
