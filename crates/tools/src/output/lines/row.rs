//! One line of the output.

use super::super::{Cell, Position};
use super::MAX_COLUMN;

/// A line that can still change.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    /// The position of its line feed.
    pub(super) end: Option<Position>,
    /// The program moved the cursor in it: blanks at its end cover older text and mean nothing.
    pub(super) drawn: bool,
}

impl Row {
    /// Adds characters at the end, except for 8-bit control characters.
    pub(super) fn append(&mut self, at: Position, text: &str) {
        if text.is_ascii() {
            let cells = text.bytes().zip(at.offset..);
            self.cells.extend(cells.map(|(byte, offset)| {
                let at = Position { offset, ..at };
                Cell { ch: char::from(byte), at }
            }));
            return;
        }
        let cells = text.char_indices().filter(|(_, ch)| !ch.is_control());
        self.cells.extend(cells.map(|(index, ch)| Cell { ch, at: at.plus(index) }));
    }

    /// Whether sequences that touch many cells apply. No terminal is wider, and on a line of any length each
    /// such sequence would cost as much as the whole line.
    pub(super) fn is_editable(&self) -> bool {
        self.cells.len() <= MAX_COLUMN
    }

    /// The cells without the blanks that only cover older text.
    pub(super) fn visible(&self) -> &[Cell] {
        if !self.drawn {
            return &self.cells;
        }
        let end = self.cells.iter().rposition(|cell| cell.ch != ' ').map_or(0, |last| last + 1);
        self.cells.get(..end).unwrap_or_default()
    }
}
