//! Sequences that erase and delete.

use super::super::Cell;
use super::Lines;

impl Lines {
    pub(super) fn clear_screen(&mut self, out: &mut impl FnMut(&[Cell])) {
        self.row = self.screen(out);
        self.column = 0;
        self.erase_display(0, out);
    }

    pub(super) fn erase_display(&mut self, what: usize, out: &mut impl FnMut(&[Cell])) {
        match what {
            0 => {
                self.erase_line(0);
                let removed: usize = self.rows.drain(self.row + 1..).map(|row| row.cells.len()).sum();
                self.cells -= removed;
            }
            2 => {
                let column = self.column;
                self.clear_screen(out);
                self.column = column;
            }
            _ => {}
        }
    }

    pub(super) fn erase_line(&mut self, what: usize) {
        match what {
            0 => self.truncate(self.column),
            1 => self.blank(0, self.column.saturating_add(1)),
            2 => self.truncate(0),
            _ => {}
        }
    }

    fn truncate(&mut self, column: usize) {
        let Some(row) = self.rows.get_mut(self.row) else { return };
        let before = row.cells.len();
        row.cells.truncate(column);
        row.drawn = true;
        self.cells -= before - row.cells.len();
    }

    /// Replaces columns by blanks.
    pub(super) fn blank(&mut self, from: usize, to: usize) {
        let Some(row) = self.rows.get_mut(self.row).filter(|row| row.is_editable()) else { return };
        row.drawn = true;
        row.cells.iter_mut().take(to).skip(from).for_each(|cell| cell.ch = ' ');
    }

    /// Removes characters at the cursor; the rest of the line moves left.
    pub(super) fn delete(&mut self, n: usize) {
        let Some(row) = self.rows.get_mut(self.row).filter(|row| row.is_editable()) else { return };
        let from = self.column.min(row.cells.len());
        let to = from.saturating_add(n).min(row.cells.len());
        row.cells.drain(from..to);
        row.drawn = true;
        self.cells -= to - from;
    }
}
