//! The last lines of an output, as a terminal would show them: what a program draws again and again (progress
//! bars, spinners, whole screens) is kept once, in its last state.
//!
//! Lines have no width, because a log does not say how wide the terminal was: a long line is one line. A
//! character is one column wide, so text that is drawn over wide characters can leave a rest of them.

mod erase;
mod row;

use std::collections::VecDeque;

use self::row::Row;
use super::decode::{Csi, Token};
use super::{Cell, Position};

/// The lines that a program can still change. More than the rows of a usual terminal; a cursor cannot leave
/// the screen either.
const LIVE_ROWS: usize = 256;
/// The characters of these lines together (24 bytes each): it bounds the memory of lines without an end.
const LIVE_CELLS: usize = 64 << 10;
/// The rightmost column that the cursor can be moved to. Beyond it only text moves the cursor.
const MAX_COLUMN: usize = 1000;
/// The memory of a final line is used again if it has at most this many characters, so that lines do not keep the memory
/// of the longest ones.
const MAX_SPARE_CELLS: usize = 256;

/// The lines that can still change. Lines that leave it are final.
#[derive(Debug)]
pub(super) struct Lines {
    rows: VecDeque<Row>,
    /// The cells of all rows.
    cells: usize,
    row: usize,
    column: usize,
    saved: (usize, usize),
    /// The first row of the screen of a program that positions the cursor absolutely. Text before it stays.
    screen: Option<usize>,
    /// The memory of a line that is final.
    spare: Vec<Cell>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            rows: VecDeque::from([Row::default()]),
            cells: 0,
            row: 0,
            column: 0,
            saved: (0, 0),
            screen: None,
            spare: Vec::new(),
        }
    }
}

impl Lines {
    /// Applies a token. Cells that can no longer change are passed to `out`.
    #[expect(clippy::match_same_arms, reason = "each arm that ignores something follows its exceptions")]
    pub(super) fn apply(&mut self, at: Position, token: Token<'_>, out: &mut impl FnMut(&[Cell])) {
        match token {
            Token::Text(text) => self.print_text(at, text, out),
            Token::Control(b'\t') => self.print(Cell { ch: '\t', at }, out),
            Token::Control(b'\n') => self.feed(at, out),
            Token::Control(b'\r') => self.column = 0,
            Token::Control(0x08) => self.column = self.column.saturating_sub(1),
            Token::Control(_) => {}
            Token::Escape(b'7') => self.saved = (self.row, self.column),
            Token::Escape(b'8') => self.restore(),
            Token::Escape(b'M') => self.row = self.row.saturating_sub(1),
            Token::Escape(b'c') => self.clear_screen(out),
            Token::Escape(_) => {}
            Token::Csi(csi) => self.control(&csi, out),
        }
    }

    /// The cells that are held.
    #[cfg(test)]
    pub(super) fn live_cells(&self) -> usize {
        self.rows.iter().map(|row| row.cells.len()).sum()
    }

    /// Passes everything to `out`.
    pub(super) fn finish(mut self, out: &mut impl FnMut(&[Cell])) {
        while self.rows.len() > 1 {
            self.release(out);
        }
        if let Some(row) = self.rows.pop_front() {
            out(row.visible());
        }
    }

    /// Prints characters that follow each other in the log.
    fn print_text(&mut self, mut at: Position, mut text: &str, out: &mut impl FnMut(&[Cell])) {
        while let Some(first) = text.chars().next() {
            let Some(row) = self.rows.get_mut(self.row) else { return };
            let before = row.cells.len();
            let used = if self.column == before {
                // No more than makes the first row final.
                let room = LIVE_CELLS.saturating_sub(self.cells) + 1;
                let now = first_characters(text, room);
                row.append(at, now);
                let added = row.cells.len() - before;
                self.cells += added;
                self.column += added;
                self.limit(out);
                now.len()
            } else {
                if !first.is_control() {
                    self.print(Cell { ch: first, at }, out);
                }
                first.len_utf8()
            };
            at = at.plus(used);
            text = text.get(used..).unwrap_or_default();
        }
    }

    fn print(&mut self, cell: Cell, out: &mut impl FnMut(&[Cell])) {
        let Some(row) = self.rows.get_mut(self.row) else { return };
        let before = row.cells.len();
        if let Some(old) = row.cells.get_mut(self.column) {
            *old = cell;
            row.drawn = true;
        } else {
            if before < self.column {
                row.cells.resize(self.column, Cell { ch: ' ', at: cell.at });
                row.drawn = true;
            }
            row.cells.push(cell);
        }
        self.cells += row.cells.len() - before;
        self.column += 1;
        self.limit(out);
    }

    fn limit(&mut self, out: &mut impl FnMut(&[Cell])) {
        while self.cells > LIVE_CELLS {
            self.shed(out);
        }
    }

    /// Ends the line. A line feed also returns the cursor: output of a pipe has no carriage returns.
    fn feed(&mut self, at: Position, out: &mut impl FnMut(&[Cell])) {
        if let Some(row) = self.rows.get_mut(self.row) {
            row.end = Some(at);
        }
        self.column = 0;
        self.row += 1;
        self.grow(out);
    }

    /// Creates the row of the cursor, and releases the oldest rows.
    fn grow(&mut self, out: &mut impl FnMut(&[Cell])) {
        while self.row >= self.rows.len() {
            self.rows.push_back(Row { cells: std::mem::take(&mut self.spare), ..Row::default() });
            if self.rows.len() > LIVE_ROWS {
                self.release(out);
            }
        }
    }

    /// Makes the first row final.
    fn release(&mut self, out: &mut impl FnMut(&[Cell])) {
        let Some(mut row) = self.rows.pop_front() else { return };
        self.cells -= row.cells.len();
        out(row.visible());
        let last = row.cells.last().map(|cell| cell.at);
        out(&[Cell { ch: '\n', at: row.end.or(last).unwrap_or_default() }]);
        if row.cells.capacity() <= MAX_SPARE_CELLS {
            row.cells.clear();
            self.spare = row.cells;
        }
        if self.row == 0 {
            self.column = 0;
        }
        self.row = self.row.saturating_sub(1);
        self.saved.0 = self.saved.0.saturating_sub(1);
        self.screen = self.screen.map(|row| row.saturating_sub(1));
    }

    /// Frees memory: the first row, or the first half of an only row.
    fn shed(&mut self, out: &mut impl FnMut(&[Cell])) {
        if self.rows.len() > 1 {
            return self.release(out);
        }
        let Some(row) = self.rows.front_mut() else { return };
        let half = row.cells.len().div_ceil(2);
        out(row.cells.get(..half).unwrap_or_default());
        row.cells.drain(..half);
        self.cells -= half;
        self.column = self.column.saturating_sub(half);
        self.saved.1 = self.saved.1.saturating_sub(half);
    }

    fn control(&mut self, csi: &Csi, out: &mut impl FnMut(&[Cell])) {
        if csi.has_intermediate {
            return;
        }
        if csi.private != 0 {
            // The alternate screen: a new screen below what was printed, on entry and on exit.
            if csi.private == b'?' && matches!(csi.parameter(0), 47 | 1047 | 1049) {
                self.leave_screen(out);
            }
            return;
        }
        let n = csi.times(0);
        match csi.function {
            b'A' => self.row = self.row.saturating_sub(n),
            b'B' => self.down(n),
            b'C' => self.column = self.column.max((self.column + n).min(MAX_COLUMN)),
            b'D' => self.column = self.column.saturating_sub(n),
            b'E' => {
                self.down(n);
                self.column = 0;
            }
            b'F' => {
                self.row = self.row.saturating_sub(n);
                self.column = 0;
            }
            b'G' | b'`' => self.column = (n - 1).min(MAX_COLUMN),
            b'H' | b'f' => self.place(n, csi.times(1), out),
            b'J' => self.erase_display(csi.parameter(0), out),
            b'K' => self.erase_line(csi.parameter(0)),
            b'P' => self.delete(n),
            b'X' => self.blank(self.column, self.column.saturating_add(n)),
            b's' => self.saved = (self.row, self.column),
            b'u' => self.restore(),
            _ => {}
        }
    }

    fn down(&mut self, n: usize) {
        self.row = (self.row + n).min(self.rows.len() - 1);
    }

    fn restore(&mut self) {
        self.row = self.saved.0.min(self.rows.len() - 1);
        self.column = self.saved.1;
    }

    /// The first row of the screen. The first use begins a screen below everything that was printed.
    fn screen(&mut self, out: &mut impl FnMut(&[Cell])) -> usize {
        if let Some(first) = self.screen {
            return first.min(self.rows.len() - 1);
        }
        self.leave_screen(out);
        self.screen = Some(self.row);
        self.row
    }

    /// Moves the cursor to an empty line below everything.
    fn leave_screen(&mut self, out: &mut impl FnMut(&[Cell])) {
        self.screen = None;
        self.row = self.rows.len() - 1;
        self.column = 0;
        if self.rows.back().is_some_and(|row| !row.cells.is_empty()) {
            self.row += 1;
            self.grow(out);
        }
    }

    /// Places the cursor at a row and a column of the screen, both from 1.
    fn place(&mut self, row: usize, column: usize, out: &mut impl FnMut(&[Cell])) {
        let first = self.screen(out);
        self.row = first + (row - 1).min(LIVE_ROWS - 1);
        self.grow(out);
        self.row = self.row.min(self.rows.len() - 1);
        self.column = (column - 1).min(MAX_COLUMN);
    }
}

/// At most this many characters.
fn first_characters(text: &str, most: usize) -> &str {
    let end = if text.len() <= most { None } else { text.char_indices().nth(most) };
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
