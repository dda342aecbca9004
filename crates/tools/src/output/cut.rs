//! Keeps the beginning and the end of a text within a budget, and counts the rest.

use std::collections::VecDeque;

use super::rendered::{LeftOut, Rendered, Size};
use super::{Budget, Cell, Position};

/// The head is filled first. Then the tail takes everything, and drops its oldest characters.
#[derive(Debug)]
pub(super) struct HeadTail {
    budget: usize,
    head: String,
    head_is_full: bool,
    tail: VecDeque<Cell>,
    tail_bytes: usize,
    total: Size,
    last: Option<char>,
    /// The first and the last position of what was dropped.
    dropped: Option<(Position, Position)>,
}

impl HeadTail {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            budget: budget.size(),
            head: String::new(),
            head_is_full: false,
            tail: VecDeque::new(),
            tail_bytes: 0,
            total: Size::default(),
            last: None,
            dropped: None,
        }
    }

    pub(super) fn push(&mut self, cells: &[Cell]) {
        let Some(last) = cells.last() else { return };
        self.last = Some(last.ch);
        let size = Size::of(cells);
        self.total += size;
        let head_bytes = self.head.len();
        let rest = self.fill_head(cells);
        self.tail.extend(rest);
        self.tail_bytes += usize::try_from(size.bytes).unwrap_or(usize::MAX) - (self.head.len() - head_bytes);
        self.drop_oldest();
    }

    /// Drops the characters of the tail that are beyond the budget. What the head could not use, because a character did
    /// not fit, belongs to the tail.
    fn drop_oldest(&mut self) {
        let limit = self.budget - self.head.len();
        let mut excess = self.tail_bytes.saturating_sub(limit);
        let Some(oldest) = self.tail.front().filter(|_| excess > 0) else { return };
        let (mut from, mut to) = self.dropped.unwrap_or((oldest.at, oldest.at));
        let mut count = 0;
        for Cell { ch, at } in &self.tail {
            if excess == 0 {
                break;
            }
            // A line that was drawn again has later positions than the lines below it.
            if at.offset < from.offset {
                from = *at;
            } else if at.offset > to.offset {
                to = *at;
            }
            excess = excess.saturating_sub(ch.len_utf8());
            self.tail_bytes -= ch.len_utf8();
            count += 1;
        }
        self.tail.drain(..count);
        self.dropped = Some((from, to));
    }

    /// Fills the head; returns the cells that are beyond it.
    fn fill_head<'a>(&mut self, cells: &'a [Cell]) -> &'a [Cell] {
        if self.head_is_full {
            return cells;
        }
        for (index, cell) in cells.iter().enumerate() {
            if self.head.len() + cell.ch.len_utf8() > self.budget / 2 {
                self.head_is_full = true;
                return cells.get(index..).unwrap_or_default();
            }
            self.head.push(cell.ch);
        }
        &[]
    }

    pub(super) fn finish(self) -> Rendered {
        let mut total = self.total;
        let tail: String = self.tail.into_iter().map(|cell| cell.ch).collect();
        let left_out = self.dropped.map(|(from, to)| {
            let size = total - Size::of_text(&self.head) - Size::of_text(&tail);
            LeftOut { size, from, to }
        });
        if self.last.is_some_and(|ch| ch != '\n') {
            total.lines += 1; // the last line, which has no end
        }
        Rendered { head: self.head, tail, total, left_out }
    }
}
