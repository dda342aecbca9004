//! Reads a patch.
//!
//! Between sections a marker may have whitespace around it. Inside the hunks of a section it starts at the first
//! column, because ` *** End of File` is a line of context there.

use super::PatchError;
use super::error::short;
use super::syntax::{Action, Hunk, HunkLine, LineKind, NewLine, Patch, Section};
use super::unwrap::{Numbered, unwrap};

const ENVIRONMENT: &str = "Environment ID:";
const ADD: &str = "Add File:";
const DELETE: &str = "Delete File:";
const UPDATE: &str = "Update File:";
const MOVE: &str = "Move to:";
const END_OF_FILE: &str = "End of File";

const SECTION_HINT: &str =
    "begin each section with `*** Add File: PATH`, `*** Update File: PATH` or `*** Delete File: PATH`";
const ADD_HINT: &str = "begin every line of the new file with `+`, empty lines included";
const HUNK_HINT: &str =
    "begin every line of a hunk with a space (the line stays), `-` (it goes) or `+` (it comes)";
const HEADER_HINT: &str = "write `@@`, or `@@ ` and a whole line of the file that comes before the change";
const EMPTY_HINT: &str = "after `@@` write the lines to change, with a few unchanged lines around them";

impl Patch {
    /// Reads a patch. Nothing is compared with any file yet.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let lines = unwrap(text)?;
        let mut reader = Reader { lines: &lines, at: 0 };
        let mut patch = Self::default();
        reader.skip_blank();
        if let Some(id) = reader.peek().and_then(|line| marker(line.text, ENVIRONMENT)) {
            patch.environment_id = Some(id.to_owned());
            reader.at += 1;
        }
        while let Some(section) = reader.section()? {
            patch.sections.push(section);
        }
        if patch.sections.is_empty() { Err(PatchError::Empty) } else { Ok(patch) }
    }
}

/// The text after a marker like `*** Add File:`.
fn marker<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.trim().strip_prefix("***")?.trim_start().strip_prefix(name).map(str::trim)
}

fn without_return(line: &str) -> (&str, bool) {
    line.strip_suffix('\r').map_or((line, false), |line| (line, true))
}

struct Reader<'a> {
    lines: &'a [Numbered<'a>],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Numbered<'a>> {
        self.lines.get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.text.trim().is_empty()) {
            self.at += 1;
        }
    }

    fn section(&mut self) -> Result<Option<Section>, PatchError> {
        self.skip_blank();
        let Some(Numbered { number, text }) = self.peek() else { return Ok(None) };
        self.at += 1;
        let (path, action) = if let Some(path) = marker(text, ADD) {
            (path, Action::Add { lines: self.new_lines()? })
        } else if let Some(path) = marker(text, DELETE) {
            (path, Action::Delete)
        } else if let Some(path) = marker(text, UPDATE) {
            (path, self.update(path, number)?)
        } else {
            let message = format!("`{}` does not begin a section", short(text.trim()));
            return Err(PatchError::malformed(number, message, SECTION_HINT));
        };
        if path.is_empty() {
            return Err(PatchError::malformed(number, "the section names no file".to_owned(), SECTION_HINT));
        }
        Ok(Some(Section { line: number, path: path.to_owned(), action }))
    }

    /// The lines of a new file.
    fn new_lines(&mut self) -> Result<Vec<NewLine>, PatchError> {
        let mut lines = Vec::new();
        while let Some(Numbered { number, text }) = self.peek() {
            let (text, carriage_return) = without_return(text);
            if let Some(text) = text.strip_prefix('+') {
                lines.push(NewLine { text: text.to_owned(), carriage_return });
            } else if text.trim().is_empty() {
                // An empty line of the file whose `+` was forgotten, unless the section ends here.
                if self.next_written().is_some_and(|next| next.starts_with('+')) {
                    lines.push(NewLine { text: String::new(), carriage_return });
                }
            } else if text.trim_start().starts_with("***") {
                break;
            } else {
                let message = format!("`{}` is not a line of a new file", short(text));
                return Err(PatchError::malformed(number, message, ADD_HINT));
            }
            self.at += 1;
        }
        Ok(lines)
    }

    /// The next line that is not blank.
    fn next_written(&self) -> Option<&'a str> {
        let rest = self.lines.get(self.at..).unwrap_or_default();
        rest.iter().map(|line| line.text).find(|text| !text.trim().is_empty())
    }

    fn update(&mut self, path: &str, number: usize) -> Result<Action, PatchError> {
        self.skip_blank();
        let move_to = self.move_to()?;
        let mut hunks = Vec::new();
        while let Some(hunk) = self.hunk()? {
            hunks.push(hunk);
        }
        if move_to.is_none() && !hunks.iter().any(Hunk::changes_something) {
            let message = format!("the section of `{path}` changes nothing");
            return Err(PatchError::malformed(number, message, EMPTY_HINT));
        }
        Ok(Action::Update { move_to, hunks })
    }

    fn move_to(&mut self) -> Result<Option<String>, PatchError> {
        let Some(line) = self.peek() else { return Ok(None) };
        let Some(target) = marker(line.text, MOVE) else { return Ok(None) };
        if target.is_empty() {
            let hint = "write the new path after `*** Move to:`";
            return Err(PatchError::malformed(line.number, "the move names no file".to_owned(), hint));
        }
        self.at += 1;
        Ok(Some(target.to_owned()))
    }

    fn hunk(&mut self) -> Result<Option<Hunk>, PatchError> {
        self.skip_blank();
        let Some(first) = self.peek().filter(|line| !ends_hunks(line.text)) else { return Ok(None) };
        let mut hunk = Hunk { line: first.number, ..Hunk::default() };
        while let Some(line) = self.peek().filter(|line| line.text.starts_with("@@")) {
            self.at += 1;
            header(&mut hunk, line)?;
            self.hunk_lines(&mut hunk)?;
            if !hunk.lines.is_empty() {
                break;
            }
        }
        if hunk.lines.is_empty() && hunk.context.is_empty() && hunk.old_start.is_none() {
            self.hunk_lines(&mut hunk)?;
        }
        if self.peek().is_some_and(|line| is_end_of_file(line.text)) {
            hunk.at_end = true;
            self.at += 1;
        }
        if hunk.lines.is_empty() {
            return Err(PatchError::malformed(hunk.line, "the hunk has no lines".to_owned(), EMPTY_HINT));
        }
        Ok(Some(hunk))
    }

    fn hunk_lines(&mut self, hunk: &mut Hunk) -> Result<(), PatchError> {
        // Empty lines before the next marker separate hunks; between lines of a hunk they are lines of it.
        let mut empty = 0;
        while let Some(Numbered { number, text }) = self.peek() {
            if text.starts_with("@@") || text.starts_with("***") {
                break;
            }
            self.at += 1;
            let (text, carriage_return) = without_return(text);
            if text.is_empty() {
                empty += 1;
                continue;
            }
            if text.starts_with("\\ No newline") {
                if let Some(last) = hunk.lines.last_mut() {
                    last.no_newline = true;
                }
                continue;
            }
            let Some((kind, text)) = mark(text) else {
                let message = format!("`{}` is not a line of a hunk", short(text));
                return Err(PatchError::malformed(number, message, HUNK_HINT));
            };
            let line = |kind, text: &str, carriage_return| HunkLine {
                kind,
                text: text.to_owned(),
                carriage_return,
                no_newline: false,
            };
            hunk.lines.extend((0..empty).map(|_| line(LineKind::Keep, "", false)));
            empty = 0;
            hunk.lines.push(line(kind, text, carriage_return));
        }
        Ok(())
    }
}

fn mark(line: &str) -> Option<(LineKind, &str)> {
    let kind = match line.as_bytes().first()? {
        b' ' => LineKind::Keep,
        b'-' => LineKind::Remove,
        b'+' => LineKind::Add,
        _ => return None,
    };
    Some((kind, &line[1..]))
}

fn is_end_of_file(line: &str) -> bool {
    line.starts_with("***") && marker(line, END_OF_FILE).is_some_and(str::is_empty)
}

/// Whether this line belongs to the next section.
fn ends_hunks(line: &str) -> bool {
    line.starts_with("***") && !is_end_of_file(line)
}

/// Reads `@@`, `@@ a line of the file` or `@@ -12,3 +12,4 @@`.
fn header(hunk: &mut Hunk, line: Numbered<'_>) -> Result<(), PatchError> {
    let (text, _) = without_return(line.text);
    let rest = text.strip_prefix("@@").unwrap_or_default();
    if rest.trim().is_empty() {
        return Ok(());
    }
    let Some(context) = rest.strip_prefix([' ', '\t']) else {
        let message = format!("`{}` is not the header of a hunk", short(text));
        return Err(PatchError::malformed(line.number, message, HEADER_HINT));
    };
    match old_start(context) {
        Some(start) => hunk.old_start = Some(start),
        None => hunk.context.push(context.to_owned()),
    }
    Ok(())
}

/// The first old line of the header of a unified diff, without its `@@`.
fn old_start(context: &str) -> Option<usize> {
    let (old, rest) = context.trim_start().strip_prefix('-')?.split_once(' ')?;
    let (new, _) = rest.strip_prefix('+')?.split_once("@@")?;
    let is_range = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    if !is_range(old) || !is_range(new.trim_end()) {
        return None;
    }
    old.split(',').next()?.parse().ok()
}
