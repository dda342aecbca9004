//! Applies hunks to the bytes of a file.
//!
//! A line that stays keeps its bytes, even if the patch shows it differently. A line that is added gets the line
//! end of the line that it replaces, or of the line before it. A file without a final newline stays without one.

use super::find::Haystack;
use super::lines::{Ending, FileLines, Line};
use super::place::place;
use super::syntax::{Hunk, HunkLine, LineKind};
use super::{FilePath, PatchError};

/// Applies the hunks, from the top of the file to its end.
pub(super) fn apply(path: &FilePath, before: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, PatchError> {
    let file = FileLines::split(before);
    let haystack = Haystack::new(&file.lines);
    let mut output = Output { file: &file, usual: file.usual_ending(), lines: Vec::new() };
    let mut cursor = 0;
    for hunk in hunks {
        let place = place(path, &haystack, hunk, cursor)?;
        output.keep(&file.lines[cursor..place.start]);
        cursor = output.hunk(path, hunk, place.lines, place.start)?;
    }
    output.keep(&file.lines[cursor..]);
    Ok(output.join())
}

/// A line of the result. Its line end depends on whether another line follows.
struct OutputLine<'a> {
    text: &'a [u8],
    inside: Ending,
    last: Ending,
}

struct Output<'a> {
    file: &'a FileLines<'a>,
    usual: Ending,
    lines: Vec<OutputLine<'a>>,
}

impl<'a> Output<'a> {
    fn keep(&mut self, lines: &[Line<'a>]) {
        let usual = self.usual;
        self.lines.extend(lines.iter().map(|line| OutputLine {
            text: line.text,
            inside: inside(line.ending, usual),
            last: line.ending,
        }));
    }

    /// Applies one hunk, and returns the index of the line after it.
    fn hunk(
        &mut self,
        path: &FilePath,
        hunk: &Hunk,
        lines: &'a [HunkLine],
        start: usize,
    ) -> Result<usize, PatchError> {
        let file = self.file;
        // The patch says which side has a final newline, as a unified diff does.
        let is_explicit = lines.iter().any(|line| line.no_newline && line.kind == LineKind::Remove);
        let lacks_newline = file.lacks_final_newline() && !is_explicit;
        let mut at = start;
        for group in lines.chunk_by(|a, b| (a.kind == LineKind::Keep) == (b.kind == LineKind::Keep)) {
            let (added, others): (Vec<_>, Vec<_>) = group.iter().partition(|line| line.kind == LineKind::Add);
            let old = &file.lines[at..at + others.len()];
            if group.first().is_some_and(|line| line.kind == LineKind::Keep) {
                self.keep(old);
            } else {
                check_bytes(path, hunk, old, &added, at)?;
                let before = at.checked_sub(1).and_then(|before| file.lines.get(before));
                let neighbour = old.last().or(before).or(file.lines.get(at));
                for (nth, line) in added.into_iter().enumerate() {
                    let model = old.get(nth).or(neighbour).map_or(self.usual, |line| line.ending);
                    self.add(line, model, lacks_newline);
                }
            }
            at += others.len();
        }
        Ok(at)
    }

    fn add(&mut self, line: &'a HunkLine, model: Ending, lacks_newline: bool) {
        let inside = if line.carriage_return { Ending::CrLf } else { inside(model, self.usual) };
        let last = if line.no_newline || lacks_newline { Ending::Nothing } else { inside };
        self.lines.push(OutputLine { text: line.text.as_bytes(), inside, last });
    }

    fn join(self) -> Vec<u8> {
        let mut bytes = self.file.mark.to_vec();
        let count = self.lines.len();
        for (at, line) in self.lines.into_iter().enumerate() {
            bytes.extend_from_slice(line.text);
            let ending = if at + 1 == count { line.last } else { line.inside };
            bytes.extend_from_slice(ending.bytes());
        }
        bytes
    }
}

/// The line end of a line that another line follows.
fn inside(ending: Ending, usual: Ending) -> Ending {
    if ending == Ending::Nothing { usual } else { ending }
}

/// A model sees U+FFFD for bytes that are not UTF-8. Written back, it would destroy them.
fn check_bytes(
    path: &FilePath,
    hunk: &Hunk,
    old: &[Line<'_>],
    added: &[&HunkLine],
    at: usize,
) -> Result<(), PatchError> {
    let odd = old.iter().position(|line| std::str::from_utf8(line.text).is_err());
    match odd {
        Some(odd) if added.iter().any(|line| line.text.contains('\u{fffd}')) => {
            Err(PatchError::NotText { path: path.to_string(), line: hunk.line, at: at + odd + 1 })
        }
        _ => Ok(()),
    }
}
