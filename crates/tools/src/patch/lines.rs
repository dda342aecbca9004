//! The lines of a file, as bytes with their line ends.

/// The byte order mark of UTF-8. It belongs to the file and not to its first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The last line of a file without a final newline.
    Nothing,
    /// A newline.
    Lf,
    /// A carriage return and a newline.
    CrLf,
}

impl Ending {
    pub(super) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Nothing => b"",
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) text: &'a [u8],
    pub(super) ending: Ending,
}

/// A file, split into lines at newlines only. Joined again they give the same bytes.
#[derive(Debug)]
pub(super) struct FileLines<'a> {
    pub(super) mark: &'a [u8],
    pub(super) lines: Vec<Line<'a>>,
}

impl<'a> FileLines<'a> {
    pub(super) fn split(file: &'a [u8]) -> Self {
        let (mark, rest) = match file.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (&file[..BYTE_ORDER_MARK.len()], rest),
            None => (&file[..0], file),
        };
        let lines = rest.split_inclusive(|byte| *byte == b'\n').map(|line| {
            if let Some(text) = line.strip_suffix(b"\r\n") {
                Line { text, ending: Ending::CrLf }
            } else if let Some(text) = line.strip_suffix(b"\n") {
                Line { text, ending: Ending::Lf }
            } else {
                Line { text: line, ending: Ending::Nothing }
            }
        });
        Self { mark, lines: lines.collect() }
    }

    /// Whether the last line has no newline. An empty file has no such line.
    pub(super) fn lacks_final_newline(&self) -> bool {
        self.lines.last().is_some_and(|line| line.ending == Ending::Nothing)
    }

    /// The line end that most lines have.
    pub(super) fn usual_ending(&self) -> Ending {
        let count = |ending| self.lines.iter().filter(|line| line.ending == ending).count();
        if count(Ending::CrLf) > count(Ending::Lf) { Ending::CrLf } else { Ending::Lf }
    }
}
