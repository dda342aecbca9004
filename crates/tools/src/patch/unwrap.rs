//! Removes what models put around a patch: a code fence, a here-document, indentation, CRLF.

use super::PatchError;

pub(super) const BEGIN: &str = "*** Begin Patch";
pub(super) const END: &str = "*** End Patch";
/// The largest patch, in bytes: as large as one message of the worker's contract.
const MAX_PATCH_BYTES: usize = 16 << 20;

/// A line of the patch and its number in the text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// The lines between the first and the last line of the patch.
pub(super) fn unwrap(text: &str) -> Result<Vec<Numbered<'_>>, PatchError> {
    if text.len() > MAX_PATCH_BYTES {
        return Err(PatchError::TooLarge { bytes: text.len(), limit: MAX_PATCH_BYTES });
    }
    let mut lines = split(text);
    remove_blank_ends(&mut lines);
    remove_fence(&mut lines);
    remove_here_document(&mut lines);
    remove_indentation(&mut lines);
    let first = lines.first().ok_or(PatchError::Empty)?;
    if first.text.trim() != BEGIN {
        return Err(no_begin(*first));
    }
    let last = lines.last().filter(|last| last.text.trim() == END);
    let Some(last) = last.map(|last| last.number) else { return Err(no_end(&lines)) };
    Ok(lines.into_iter().skip(1).filter(|line| line.number < last).collect())
}

/// Splits at newlines only: a form feed or another separator is part of its line.
fn split(text: &str) -> Vec<Numbered<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines: Vec<_> =
        text.split('\n').enumerate().map(|(at, text)| Numbered { number: at + 1, text }).collect();
    let others = lines.split_last().map_or(&[][..], |(_, others)| others);
    // If every line ends with CRLF, the patch was written so, and says nothing about the files. A single carriage
    // return belongs to its line.
    let is_crlf = !others.is_empty() && others.iter().all(|line| line.text.ends_with('\r'));
    if is_crlf {
        for line in &mut lines {
            line.text = line.text.strip_suffix('\r').unwrap_or(line.text);
        }
    }
    lines
}

fn remove_blank_ends(lines: &mut Vec<Numbered<'_>>) {
    let blank = |line: &&Numbered<'_>| line.text.trim().is_empty();
    let after = lines.iter().rev().take_while(blank).count();
    lines.truncate(lines.len() - after);
    let before = lines.iter().take_while(blank).count();
    lines.drain(..before);
}

fn remove_fence(lines: &mut Vec<Numbered<'_>>) {
    let opens = lines.first().is_some_and(|line| line.text.trim_start().starts_with("```"));
    let closes = lines.last().is_some_and(|line| line.text.trim() == "```");
    if opens && closes && lines.len() > 1 {
        lines.pop();
        lines.remove(0);
        remove_blank_ends(lines);
    }
}

fn remove_here_document(lines: &mut Vec<Numbered<'_>>) {
    let Some(word) = lines.first().and_then(|line| here_document_word(line.text)) else { return };
    lines.remove(0);
    if lines.last().is_some_and(|line| line.text.trim() == word) {
        lines.pop();
    }
    remove_blank_ends(lines);
}

/// The word that ends the here-document which this line opens: `apply_patch <<'EOF'`, `<<EOF`,
/// `cat <<"EOF" | apply_patch`.
fn here_document_word(line: &str) -> Option<&str> {
    let (command, rest) = line.split_once("<<")?;
    if !matches!(command.trim(), "" | "apply_patch" | "applypatch" | "cat") {
        return None;
    }
    let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
    let word = rest.split([' ', '\t', '|', '>', '\r']).next()?;
    let word = word.trim_matches(['\'', '"', '\\']);
    (!word.is_empty()).then_some(word)
}

/// Removes the whitespace before the first line, if every line has it.
fn remove_indentation(lines: &mut [Numbered<'_>]) {
    let Some(first) = lines.first() else { return };
    let indent = &first.text[..first.text.len() - first.text.trim_start().len()];
    let has_it = |line: &Numbered<'_>| line.text.trim().is_empty() || line.text.starts_with(indent);
    if !indent.is_empty() && lines.iter().all(has_it) {
        for line in lines {
            line.text = line.text.strip_prefix(indent).unwrap_or("");
        }
    }
}

fn no_begin(first: Numbered<'_>) -> PatchError {
    let is_diff = ["--- ", "diff ", "Index: ", "@@ "].iter().any(|start| first.text.starts_with(start));
    let hint = if is_diff {
        "this is a unified diff: write `*** Begin Patch`, then `*** Update File: PATH` and the hunks without line \
         numbers, then `*** End Patch`"
    } else {
        "send only the patch: its first line is `*** Begin Patch`, its last line is `*** End Patch`"
    };
    PatchError::malformed(first.number, format!("the first line of the patch must be `{BEGIN}`"), hint)
}

fn no_end(lines: &[Numbered<'_>]) -> PatchError {
    let ended = lines.iter().find(|line| line.text.trim_end() == END);
    let (number, hint) = match ended {
        Some(line) => (line.number + 1, "remove the text after `*** End Patch`; send one patch in each call"),
        None => (
            lines.last().map_or(1, |line| line.number),
            "the patch may have been cut off: send it again, in several smaller patches if it is long",
        ),
    };
    PatchError::malformed(number, format!("the last line of the patch must be `{END}`"), hint)
}
