//! Finds the text that `edit_file` replaces. If it is not there exactly, the error shows what is there instead.

use std::fmt::Write as _;

use memchr::{memchr_iter, memmem};

use super::MAX_EDITED_BYTES;
use super::paths::shown;
use super::slice::MAX_LINE_BYTES;
use crate::error::ToolError;
use crate::patch::FilePath;

/// Line numbers of an error.
const MAX_LISTED: usize = 10;
/// Lines of the file that an error shows.
const MAX_SHOWN_LINES: usize = 12;
/// Comparisons of lines in the search for something similar.
const MAX_COMPARISONS: usize = 2_000_000;

/// A file after an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) bytes: Vec<u8>,
    /// The lines of the old file where something was replaced, from 1.
    pub(super) lines: Vec<usize>,
}

/// Replaces `old`, which must occur once, or everywhere if `all`.
pub(super) fn edit(path: &FilePath, file: &[u8], old: &str, new: &str, all: bool) -> Result<Edit, ToolError> {
    let (old, new) = with_line_ends_of(file, old, new);
    let found: Vec<usize> = memmem::find_iter(file, old.as_bytes()).collect();
    let path = shown(path.as_str());
    match found.len() {
        0 => return Err(not_found(&path, file, &old)),
        1 => {}
        _ if all => {}
        count => return Err(ambiguous(&path, count, &lines_at(file, &found))),
    }
    let length = file.len() + found.len() * new.len();
    if length as u64 > MAX_EDITED_BYTES {
        let message = format!("`{path}` would have more than {MAX_EDITED_BYTES} bytes");
        return Err(ToolError::new(message).hint("Use a program instead"));
    }
    let mut bytes = Vec::with_capacity(length);
    let mut from = 0;
    for at in &found {
        bytes.extend_from_slice(&file[from..*at]);
        bytes.extend_from_slice(new.as_bytes());
        from = at + old.len();
    }
    bytes.extend_from_slice(&file[from..]);
    Ok(Edit { bytes, lines: lines_at(file, &found) })
}

/// The texts with the line ends of the file. A model sees the lines without them, and sends `\n`.
fn with_line_ends_of(file: &[u8], old: &str, new: &str) -> (String, String) {
    let crlf = memmem::find_iter(file, b"\r\n").count();
    let is_as_given = crlf == 0 || memmem::find(file, old.as_bytes()).is_some() && old.contains('\n');
    if is_as_given || old.contains('\r') || new.contains('\r') {
        return (old.to_owned(), new.to_owned());
    }
    let has_other_ends = memchr_iter(b'\n', file).count() > crlf;
    if !old.contains('\n') && has_other_ends {
        return (old.to_owned(), new.to_owned()); // which of its line ends is meant is not known
    }
    (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"))
}

/// The numbers of the lines at these positions, which ascend.
fn lines_at(file: &[u8], positions: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let mut lines = Vec::with_capacity(positions.len());
    for at in positions {
        line += memchr_iter(b'\n', &file[from..*at]).count();
        from = *at;
        lines.push(line);
    }
    lines
}

fn ambiguous(path: &str, count: usize, lines: &[usize]) -> ToolError {
    let mut listed: Vec<_> = lines.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if lines.len() > listed.len() {
        listed.push("...".to_owned());
    }
    let message = format!("old_string occurs {count} times in `{path}`, at lines {}", listed.join(", "));
    ToolError::new(message)
        .hint("Add lines around it until it occurs once, or set all to true to replace every occurrence")
}

fn not_found(path: &str, file: &[u8], old: &str) -> ToolError {
    let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
    let wanted: Vec<&[u8]> = old.as_bytes().split(|byte| *byte == b'\n').collect();
    let message = format!("old_string does not occur in `{path}`");
    let Some((start, agreed)) = nearest(&lines, &wanted) else {
        let first = wanted.iter().find(|line| !line.trim_ascii().is_empty()).copied().unwrap_or_default();
        let first = shown(&String::from_utf8_lossy(first));
        return ToolError::new(format!("{message}, and none of its lines is `{first}`"))
            .hint("Read the file again, and copy the text exactly as it is");
    };
    let mut message = if agreed == wanted.len() {
        format!("{message} exactly; these lines differ from it only in white space:")
    } else {
        format!("{message}; the nearest lines, of which {agreed} of {} agree, are:", wanted.len())
    };
    for (at, line) in lines.iter().enumerate().skip(start).take(wanted.len().min(MAX_SHOWN_LINES)) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Writing to a string cannot fail.
        let _ = write!(message, "\nL{}: {}", at + 1, printable(line));
    }
    message.push_str("\nCopy the text from the file exactly, without the line numbers.");
    ToolError::new(message)
}

/// A line for a message.
fn printable(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(MAX_LINE_BYTES)]).into_owned()
}

/// Where most of the wanted lines agree, apart from white space at their ends: the line, and how many agree.
fn nearest(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<(usize, usize)> {
    let skipped = wanted.iter().take_while(|line| line.trim_ascii().is_empty()).count();
    let first = wanted.get(skipped)?.trim_ascii();
    let mut best = None;
    let mut comparisons = 0;
    for (at, line) in lines.iter().enumerate() {
        if line.trim_ascii() != first || at < skipped {
            continue;
        }
        let start = at - skipped;
        let pairs = lines[start..].iter().zip(wanted);
        let agreed = pairs.filter(|(line, wanted)| line.trim_ascii() == wanted.trim_ascii()).count();
        comparisons += wanted.len();
        if best.is_none_or(|(_, most)| agreed > most) {
            best = Some((start, agreed));
        }
        if agreed == wanted.len() || comparisons > MAX_COMPARISONS {
            break;
        }
    }
    best
}
