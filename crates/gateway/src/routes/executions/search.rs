//! Parameters that select executions by what was run and how it ended.

use headwater_store::ExecutionKind;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::ApiError;

/// The longest text to search for, in characters.
const MAX_TEXT_CHARS: usize = 200;

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It exited with code 0.
    Succeeded,
    /// It ended in any other way.
    Failed,
}

impl Outcome {
    pub(super) fn is_success(self) -> bool {
        self == Self::Succeeded
    }
}

/// How an execution was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A shell command line.
    Shell,
    /// A program with its arguments.
    Program,
    /// Source code.
    Code,
    /// A shell command line or a program in a terminal.
    Terminal,
}

impl From<Kind> for ExecutionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Shell => Self::Shell,
            Kind::Program => Self::Program,
            Kind::Code => Self::Code,
            Kind::Terminal => Self::Terminal,
        }
    }
}

/// Checks the text of a search. A blank one selects everything.
pub(super) fn search_text(q: Option<String>) -> Result<Option<String>, ApiError> {
    let Some(text) = q.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let length = text.chars().count();
    if length > MAX_TEXT_CHARS {
        let message = format!("`q` has {length} characters: it may have at most {MAX_TEXT_CHARS}");
        return Err(ApiError::invalid(message).hint("search for a part of the command"));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_and_a_blank_one_selects_everything() {
        assert_eq!(search_text(None).unwrap(), None);
        assert_eq!(search_text(Some(" \t".into())).unwrap(), None);
        assert_eq!(search_text(Some("ä".repeat(200))).unwrap().unwrap().chars().count(), 200);
        let error = search_text(Some("ä".repeat(201))).unwrap_err();
        assert_eq!(error.status, 400);
        assert!(error.message.contains("`q`"), "{error:?}");
    }
}
