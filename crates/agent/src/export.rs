//! Conversations as files: Markdown to read, JSON to keep, a Jupyter notebook to run again. Pure functions of the log.
//!
//! Whatever a model or a program wrote stays what it is: it cannot leave its fence in Markdown or its string in JSON. What
//! a provider wants to get back with a part (signatures, encrypted reasoning) is left out.

mod call;
mod json;
mod markdown;
mod notebook;
mod safe_markdown;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use headwater_protocol::conversation::{Conversation, ConversationId, LogEntry};

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The current branch, to read.
    Markdown,
    /// All branches and the log.
    Json,
    /// The current branch as a Jupyter notebook (nbformat 4.5): code and outputs are cells.
    Notebook,
}

/// A text is not a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the format is not `markdown`, `json` or `ipynb`")]
pub struct UnknownFormat;

impl FromStr for ExportFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        match text {
            "markdown" => Ok(Self::Markdown),
            "json" => Ok(Self::Json),
            "ipynb" => Ok(Self::Notebook),
            _ => Err(UnknownFormat),
        }
    }
}

impl ExportFormat {
    /// The type of the file.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Json => "application/json",
            Self::Notebook => "application/x-ipynb+json",
        }
    }

    /// The ending of its name.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Json => "json",
            Self::Notebook => "ipynb",
        }
    }
}

/// A conversation to export.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// Its id.
    pub id: &'a ConversationId,
    /// Its title.
    pub title: Option<&'a str>,
    /// The URL of the server, for links to executions: empty, or without a slash at the end.
    pub server: &'a str,
    /// What was said and done.
    pub conversation: &'a Conversation,
    /// The log, for JSON.
    pub log: &'a [LogEntry],
}

impl Export<'_> {
    /// The text of the file.
    pub fn text(&self, format: ExportFormat) -> String {
        match format {
            ExportFormat::Markdown => markdown::text(self),
            ExportFormat::Json => json::text(self),
            ExportFormat::Notebook => notebook::text(self),
        }
    }

    /// The name of the file.
    pub fn file_name(&self, format: ExportFormat) -> String {
        // A `:` in an id is not allowed in the names of files everywhere.
        format!("{}.{}", self.id.as_str().replace(':', "-"), format.extension())
    }

    fn title(&self) -> &str {
        self.title.or(self.conversation.title.as_deref()).unwrap_or("Conversation")
    }
}
