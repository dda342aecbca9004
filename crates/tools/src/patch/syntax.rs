//! The parts of a patch, as they are written in it.

/// A patch: sections, each of which changes one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// The text after `*** Environment ID:`, which selects one of several workspaces.
    pub environment_id: Option<String>,
    /// The sections, in the order of the patch.
    pub sections: Vec<Section>,
}

/// What a patch does with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The line in the patch, from 1.
    pub line: usize,
    /// The path as written.
    pub path: String,
    /// The change.
    pub action: Action,
}

/// The kind of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `*** Add File:` creates a file, or replaces one.
    Add {
        /// The content.
        lines: Vec<NewLine>,
    },
    /// `*** Delete File:` removes a file.
    Delete,
    /// `*** Update File:` changes parts of a file, moves it, or both.
    Update {
        /// The path after `*** Move to:`, as written.
        move_to: Option<String>,
        /// The changes, from the top of the file to its end.
        hunks: Vec<Hunk>,
    },
}

/// A line of a new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    /// The text without its line end.
    pub text: String,
    /// The line ends with a carriage return, in a patch whose other lines do not.
    pub carriage_return: bool,
}

/// A change in one place of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The first line of the hunk in the patch, from 1.
    pub line: usize,
    /// The texts after `@@`: lines to find one after the other before the hunk's own lines.
    pub context: Vec<String>,
    /// The first old line in a header like `@@ -12,3 +12,4 @@`. It only selects among several matches.
    pub old_start: Option<usize>,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// `*** End of File` follows: the end of the file is tried first.
    pub at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// Whether the line stays, goes or comes.
    pub kind: LineKind,
    /// The text without its mark and its line end.
    pub text: String,
    /// The line ends with a carriage return, in a patch whose other lines do not.
    pub carriage_return: bool,
    /// `\ No newline at end of file` follows, as in a unified diff.
    pub no_newline: bool,
}

/// The mark of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// A space: the line stays, with the bytes that it has in the file.
    Keep,
    /// `-`
    Remove,
    /// `+`
    Add,
}

impl Patch {
    /// The paths that the patch names, as written. A caller that reads files asynchronously reads these first.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().flat_map(|section| {
            let target = match &section.action {
                Action::Update { move_to, .. } => move_to.as_deref(),
                Action::Add { .. } | Action::Delete => None,
            };
            [Some(section.path.as_str()), target].into_iter().flatten()
        })
    }
}

impl Hunk {
    /// Whether it adds or removes a line.
    pub fn changes_something(&self) -> bool {
        self.lines.iter().any(|line| line.kind != LineKind::Keep)
    }
}
