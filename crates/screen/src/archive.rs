//! Scrollback that has left the grid. A cell of the grid costs 24 bytes, and a line has all its cells; here a
//! line is the bytes that draw it, so that the buffer holds as much text as it has bytes.

use std::collections::VecDeque;

/// Ends a line of the archive.
const LINE_END: u8 = b'\n';
/// Ends a line that continues in the next one. Neither byte occurs in a drawn line.
const WRAP: u8 = 0;

/// The lines before those of the grid, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: VecDeque<u8>,
    max_bytes: usize,
}

impl Archive {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { bytes: VecDeque::new(), max_bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether the last line continues in the first one of the grid.
    pub(crate) fn ends_wrapped(&self) -> bool {
        self.bytes.back() == Some(&WRAP)
    }

    pub(crate) fn clear(&mut self) {
        self.bytes = VecDeque::new();
    }

    /// Releases memory that is not used.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Appends a line, as the bytes that draw it in the default style and return to that style. The oldest
    /// lines make room for it.
    pub(crate) fn push(&mut self, line: &str, wraps: bool) {
        self.bytes.extend(line.as_bytes());
        self.bytes.push_back(if wraps { WRAP } else { LINE_END });
        while self.bytes.len() > self.max_bytes {
            let end = self.bytes.iter().position(|byte| is_end(*byte));
            self.bytes.drain(..end.map_or(self.bytes.len(), |end| end + 1));
        }
    }

    /// The bytes that draw the last `lines` lines, and move the cursor to the line after them.
    pub(crate) fn draw(&self, lines: usize) -> String {
        if lines == 0 {
            return String::new();
        }
        let ends = self.bytes.iter().enumerate().rev().filter(|(_, byte)| is_end(**byte));
        // The end of the line before the first one that is drawn.
        let first = ends.map(|(at, _)| at + 1).nth(lines).unwrap_or(0);
        let mut drawn = Vec::with_capacity(self.bytes.len() - first);
        for byte in self.bytes.range(first..) {
            match *byte {
                LINE_END => drawn.extend_from_slice(b"\r\n"),
                WRAP => {}
                byte => drawn.push(byte),
            }
        }
        String::from_utf8(drawn)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

const fn is_end(byte: u8) -> bool {
    matches!(byte, LINE_END | WRAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_and_drawn() {
        let mut archive = Archive::new(12);
        assert_eq!((archive.draw(9).as_str(), archive.ends_wrapped()), ("", false));
        archive.push("first", false);
        archive.push("two", true);
        assert_eq!((archive.draw(9).as_str(), archive.ends_wrapped()), ("first\r\ntwo", true));
        archive.push("3", false);
        assert_eq!(archive.draw(9), "first\r\ntwo3\r\n");
        assert_eq!(["", "3\r\n", "two3\r\n"], [0, 1, 2].map(|lines| archive.draw(lines)));
        archive.push("", false);
        assert_eq!(archive.draw(9), "two3\r\n\r\n", "12 bytes with the ends of the lines");
        archive.push("more than all of it", false);
        assert!(archive.is_empty());
    }
}
