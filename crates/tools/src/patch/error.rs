//! Errors of patches. Each says what is wrong and what to do next.

use std::fmt;

use super::PathError;

/// The maximum length of a quoted line, in characters.
const MAX_SHOWN_CHARS: usize = 160;

/// Why a patch was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // each variant has its message
pub enum PatchError {
    #[error("the patch is {bytes} bytes long, the maximum is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("the patch is empty: it changes no file")]
    Empty,
    #[error("line {line} of the patch: {message}")]
    Malformed { line: usize, message: String, hint: &'static str },
    #[error("line {line} of the patch: the path `{path}` is not valid: {problem}")]
    Path { line: usize, path: String, problem: PathError },
    #[error("line {line} of the patch: the file `{path}` does not exist")]
    Missing { line: usize, path: String },
    #[error("line {line} of the patch: `{path}` is not a regular file")]
    NotAFile { line: usize, path: String },
    #[error("line {line} of the patch: `{path}` cannot be created, because `{parent}` is not a folder")]
    ParentNotAFolder { line: usize, path: String, parent: String },
    #[error("line {line} of the patch: the file `{path}` cannot be read: {reason}")]
    Unreadable { line: usize, path: String, reason: String },
    #[error("line {line} of the patch: the context `@@ {context}` was not found in `{path}`{}", below(.after))]
    ContextNotFound {
        path: String,
        line: usize,
        context: String,
        after: usize,
        similar: Vec<(usize, String)>,
    },
    #[error(
        "line {line} of the patch: these lines of the hunk were not found in `{path}`:\n{expected}\n{clue}"
    )]
    LinesNotFound { path: String, line: usize, expected: String, clue: Box<Clue> },
    #[error(
        "line {line} of the patch: line {at} of `{path}` has bytes that are not UTF-8, and the patch would \
         replace them by U+FFFD"
    )]
    NotText { path: String, line: usize, at: usize },
}

/// What the file has instead of the expected lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clue {
    /// The lines are in the file, but above the place from which they were searched.
    Above {
        /// Where they begin, from 1.
        line: usize,
    },
    /// Some of the first lines are in the file.
    Partly {
        /// How many of them.
        agreed: usize,
        /// How many were expected.
        of: usize,
        /// Where they begin, from 1.
        start: usize,
        /// The first line of the file that differs, from 1.
        line: usize,
        /// Its text; absent at the end of the file.
        there: Option<String>,
        /// The text that was expected.
        expected: String,
    },
    /// Not even the first line is in the file.
    Nowhere {
        /// The first expected line.
        first: String,
    },
}

impl fmt::Display for Clue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above { line } => {
                write!(f, "They are at line {line}, above the previous hunk or the `@@` context.")
            }
            Self::Partly { agreed, of, start, line, there, expected } => {
                write!(f, "The first {agreed} of {of} lines match at line {start}, but ")?;
                match there {
                    Some(there) => write!(f, "line {line} is `{there}` and not `{expected}`."),
                    None => write!(f, "the file ends before `{expected}`."),
                }
            }
            Self::Nowhere { first } => write!(f, "No line of the file is `{first}`."),
        }
    }
}

impl PatchError {
    pub(super) const fn malformed(line: usize, message: String, hint: &'static str) -> Self {
        Self::Malformed { line, message, hint }
    }

    /// A stable name of the kind of error, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "patch_too_large",
            Self::Empty | Self::Malformed { .. } => "patch_malformed",
            Self::Path { .. } => "patch_path_invalid",
            Self::Missing { .. } => "patch_file_missing",
            Self::NotAFile { .. } | Self::ParentNotAFolder { .. } => "patch_not_a_file",
            Self::Unreadable { .. } => "patch_file_unreadable",
            Self::ContextNotFound { .. } | Self::LinesNotFound { .. } => "patch_does_not_match",
            Self::NotText { .. } => "patch_not_text",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::TooLarge { .. } => "split the patch into several calls",
            Self::Empty => "write at least one section between `*** Begin Patch` and `*** End Patch`",
            Self::Malformed { hint, .. } => *hint,
            Self::Path { .. } => "use a path relative to the workspace, for example `src/main.py`",
            Self::Missing { .. } => "list the folder to find the file, or create it with `*** Add File:`",
            Self::NotAFile { .. } => "name a regular file; folders and links cannot be patched",
            Self::ParentNotAFolder { .. } => "choose another path, or delete that file first",
            Self::Unreadable { .. } => "check the file with `read_file`, then send the patch again",
            Self::ContextNotFound { similar, .. } => return context_hint(similar),
            Self::LinesNotFound { clue, .. } if matches!(**clue, Clue::Above { .. }) => {
                "order the hunks from the top of the file to its end, and check the line after `@@`"
            }
            Self::LinesNotFound { .. } => {
                "read the file again, and copy the unchanged and the removed lines exactly as they are"
            }
            Self::NotText { .. } => "leave that line unchanged, or change it with a program",
        };
        hint.to_owned()
    }

    /// The result of the tool: the message, what to do next, and the state of the files.
    pub fn text(&self) -> String {
        format!("The patch was not applied: {self}\nNext: {}.\nNo file was changed.", self.hint())
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the macro of the message passes a reference
fn below(after: &usize) -> String {
    if *after == 0 { String::new() } else { format!(" below line {after}") }
}

fn context_hint(similar: &[(usize, String)]) -> String {
    if similar.is_empty() {
        return "read the file again; the text after `@@` must be a whole line of it".to_owned();
    }
    let lines: Vec<_> = similar.iter().map(|(line, text)| format!("line {line} is `{text}`")).collect();
    format!("write the whole line after `@@`, or leave it out; {}", lines.join(", "))
}

/// A line for a message: shortened, with control characters escaped.
pub(super) fn short(line: &str) -> String {
    let mut shown = String::new();
    for (at, letter) in line.chars().enumerate() {
        if at == MAX_SHOWN_CHARS {
            shown.push_str("...");
            break;
        }
        if letter.is_control() && letter != '\t' {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

pub(super) fn short_bytes(line: &[u8]) -> String {
    // Four bytes are at most one character, so a longer line is shortened in any case.
    let part = &line[..line.len().min(4 * MAX_SHOWN_CHARS + 4)];
    short(&String::from_utf8_lossy(part))
}
