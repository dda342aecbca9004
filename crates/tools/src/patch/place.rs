//! The place of a hunk in a file.

use super::error::{Clue, short, short_bytes};
use super::find::Haystack;
use super::syntax::{Hunk, HunkLine, LineKind};
use super::{FilePath, PatchError};

/// The number of lines of the file, and of the hunk, that are compared to describe a failure.
const MAX_COMPARED_STARTS: usize = 1000;
const MAX_COMPARED_LINES: usize = 100;
/// The number of expected lines, and of similar lines, that an error shows.
const MAX_EXPECTED: usize = 12;
const MAX_SIMILAR: usize = 3;

/// Where a hunk applies.
pub(super) struct Place<'p> {
    /// The index of the first line that the hunk keeps or removes, or before which it adds lines.
    pub(super) start: usize,
    /// The hunk's lines. Blank lines at its end that the file does not have are left out.
    pub(super) lines: &'p [HunkLine],
}

/// Finds the place of a hunk at or after the line `cursor`, where the previous hunk ends.
pub(super) fn place<'p>(
    path: &FilePath,
    file: &Haystack<'_>,
    hunk: &'p Hunk,
    cursor: usize,
) -> Result<Place<'p>, PatchError> {
    let mut from = cursor;
    for context in &hunk.context {
        let found = file.find(&[context.as_bytes()], from, None);
        from = found.ok_or_else(|| no_context(path, file, hunk, context, from))? + 1;
    }
    let anchor = (!hunk.context.is_empty()).then(|| from - 1);
    let mut lines = hunk.lines.as_slice();
    if old(lines).is_empty() {
        return Ok(Place { start: insertion(file, hunk, anchor, cursor), lines });
    }
    loop {
        let wanted = old(lines);
        if let Some(start) = search(file, hunk, &wanted, anchor, from) {
            return Ok(Place { start, lines });
        }
        match lines.split_last() {
            // A blank line at the end often stands for the final newline, or separates hunks.
            Some((last, rest)) if is_blank(last) && !old(rest).is_empty() => lines = rest,
            _ => return Err(no_lines(path, file, hunk, from)),
        }
    }
}

fn is_blank(line: &HunkLine) -> bool {
    line.kind == LineKind::Keep && line.text.trim().is_empty()
}

/// The lines that the file must have.
fn old(lines: &[HunkLine]) -> Vec<&[u8]> {
    lines.iter().filter(|line| line.kind != LineKind::Add).map(|line| line.text.as_bytes()).collect()
}

/// The place of a hunk that only adds lines: after its context, and without any at the end of the file.
fn insertion(file: &Haystack<'_>, hunk: &Hunk, anchor: Option<usize>, cursor: usize) -> usize {
    let end = file.lines().len();
    match (anchor, hunk.old_start) {
        _ if hunk.at_end => end,
        (Some(anchor), _) => anchor + 1,
        (None, Some(start)) => start.clamp(cursor, end),
        (None, None) => end,
    }
}

fn search(
    file: &Haystack<'_>,
    hunk: &Hunk,
    wanted: &[&[u8]],
    anchor: Option<usize>,
    from: usize,
) -> Option<usize> {
    let end = file.lines().len().checked_sub(wanted.len()).filter(|end| hunk.at_end && *end >= from);
    if let Some(end) = end.filter(|end| file.is_at(wanted, *end)) {
        return Some(end);
    }
    // Some models repeat the line of the header as the first line of the hunk.
    let repeats = anchor.filter(|anchor| file.is_at(wanted, *anchor));
    if wanted.len() > 1 && repeats.is_some() {
        return repeats;
    }
    let near = hunk.old_start.map(|start| start.saturating_sub(1));
    file.find(wanted, from, near).or(repeats)
}

fn no_context(path: &FilePath, file: &Haystack<'_>, hunk: &Hunk, context: &str, from: usize) -> PatchError {
    let part = context.trim().as_bytes();
    let has_part = |text: &[u8]| !part.is_empty() && text.windows(part.len()).any(|window| window == part);
    let similar = file.lines().iter().enumerate().filter(|(_, line)| has_part(line.text));
    let similar = similar.map(|(at, line)| (at + 1, short_bytes(line.text))).take(MAX_SIMILAR).collect();
    PatchError::ContextNotFound {
        path: path.to_string(),
        line: hunk.line,
        context: short(context),
        after: from,
        similar,
    }
}

fn no_lines(path: &FilePath, file: &Haystack<'_>, hunk: &Hunk, from: usize) -> PatchError {
    let wanted = old(&hunk.lines);
    let mut expected: Vec<_> = wanted.iter().take(MAX_EXPECTED).map(|line| short_bytes(line)).collect();
    if wanted.len() > MAX_EXPECTED {
        expected.push(format!("... ({} more lines)", wanted.len() - MAX_EXPECTED));
    }
    PatchError::LinesNotFound {
        path: path.to_string(),
        line: hunk.line,
        expected: expected.join("\n"),
        clue: Box::new(clue(file, &wanted, from)),
    }
}

/// What the file has instead of the wanted lines.
fn clue(file: &Haystack<'_>, wanted: &[&[u8]], from: usize) -> Clue {
    if let Some(place) = file.find(wanted, 0, None) {
        return Clue::Above { line: place + 1 };
    }
    let compared = &wanted[..wanted.len().min(MAX_COMPARED_LINES)];
    let starts = (0..file.lines().len()).filter(|start| file.agreeing(&compared[..1], *start) == 1);
    let best = starts
        .take(MAX_COMPARED_STARTS)
        .map(|start| (file.agreeing(compared, start), start))
        .max_by_key(|(agreed, start)| (*agreed, *start >= from, std::cmp::Reverse(*start)));
    let Some((_, start)) = best else {
        return Clue::Nowhere { first: short_bytes(compared[0]) };
    };
    let agreed = file.agreeing(wanted, start);
    let there = file.lines().get(start + agreed).map(|line| short_bytes(line.text));
    let expected = wanted.get(agreed).map(|line| short_bytes(line)).unwrap_or_default();
    Clue::Partly { agreed, of: wanted.len(), start: start + 1, line: start + agreed + 1, there, expected }
}
