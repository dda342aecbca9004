//! The emulator's state: alacritty's, and state that alacritty does not expose (tab stops, margins, titles)
//! or does not bound.
//!
//! The state can always be drawn: each operation that could leave something that no sequence of bytes can
//! draw (half of a wide character, for example) is followed by a repair. So a snapshot is exact, and so is
//! everything drawn after it.

use std::sync::{Arc, Mutex, PoisonError};

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::{CharsetIndex, Processor, Timeout};

use crate::archive::Archive;
use crate::{repair, snapshot};

/// More replies at once are dropped: a program that asks must read.
const MAX_REPLY_BYTES: usize = 64 << 10;
const TAB_COLUMNS: usize = 8;

/// Synchronised updates are applied at once: no one sees a half-drawn screen here.
#[derive(Debug, Default)]
pub(crate) struct NoWait;

impl Timeout for NoWait {
    fn set_timeout(&mut self, _: std::time::Duration) {}
    fn clear_timeout(&mut self) {}
    fn pending_timeout(&self) -> bool {
        false
    }
}

/// Replies to the program's queries, collected.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replies(Arc<Mutex<Vec<u8>>>);

impl Replies {
    pub(crate) fn push(&self, text: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() + text.len() <= MAX_REPLY_BYTES {
            all.extend_from_slice(text.as_bytes());
        }
    }

    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventListener for Replies {
    fn send_event(&self, event: Event) {
        if let Event::PtyWrite(text) = event {
            self.push(&text);
        }
    }
}

/// The size of a screen, for alacritty.
struct Size(usize, usize);

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        self.0
    }
    fn screen_lines(&self) -> usize {
        self.0
    }
    fn columns(&self) -> usize {
        self.1
    }
}

/// The state after all bytes so far.
pub(crate) struct Model {
    pub(crate) term: Term<Replies>,
    pub(crate) replies: Replies,
    pub(crate) tabs: Vec<bool>,
    /// The first line of the scroll region, and the line after its last.
    pub(crate) region: (usize, usize),
    pub(crate) charset: CharsetIndex,
    pub(crate) title: Option<String>,
    pub(crate) titles: Vec<Option<String>>,
    /// The character that `REP` would repeat.
    pub(crate) last: Option<char>,
    /// How many characters the current token may still print.
    pub(crate) budget: usize,
    /// How many lines of scrollback the grid keeps; older ones are in `archive`.
    history: usize,
    pub(crate) archive: Archive,
}

impl Model {
    pub(crate) fn new(rows: usize, cols: usize, history: usize, archive: Archive) -> Self {
        let replies = Replies::default();
        let config = Config { scrolling_history: history + rows, ..Config::default() };
        Self {
            term: Term::new(config, &Size(rows, cols), replies.clone()),
            replies,
            tabs: default_tabs(cols),
            region: (0, rows),
            charset: CharsetIndex::G0,
            title: None,
            titles: Vec::new(),
            last: None,
            budget: 0,
            history,
            archive,
        }
    }

    pub(crate) fn feed(&mut self, processor: &mut Processor<NoWait>, bytes: &[u8]) {
        self.budget = bytes.len() + self.term.columns();
        processor.advance(self, bytes);
    }

    pub(crate) fn is_alt(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    pub(crate) fn grid(&self) -> &Grid<Cell> {
        self.term.grid()
    }

    /// Resizes the screen; wrapped lines are wrapped again.
    pub(crate) fn resize(&mut self, rows: usize, cols: usize) {
        if (rows, cols) == (self.term.screen_lines(), self.term.columns()) {
            return;
        }
        // No line is lost when lines are wrapped into more lines.
        let cells = (self.history + self.term.screen_lines()) * self.term.columns();
        self.limit_history(cells + rows);
        self.term.resize(Size(rows, cols));
        self.region = (0, rows);
        let old = self.tabs.len();
        self.tabs.resize(cols, false);
        for (at, stop) in self.tabs.iter_mut().enumerate().skip(old) {
            *stop = at % TAB_COLUMNS == 0;
        }
        repair::grid(self.term.grid_mut());
        if self.is_alt() {
            let (history, mut archive) = (self.history, std::mem::take(&mut self.archive));
            self.with_primary(|grid| {
                repair::grid(grid);
                move_to_archive(grid, history, &mut archive);
            });
            self.archive = archive;
        }
        self.settle();
        // One operation moves at most all lines of the screen to the scrollback.
        self.limit_history(self.history + rows);
    }

    fn limit_history(&mut self, lines: usize) {
        self.term.set_options(Config { scrolling_history: lines, ..Config::default() });
    }

    /// Moves scrollback that the grid does not keep to the archive.
    pub(crate) fn archive_lines(&mut self) {
        if !self.is_alt() {
            move_to_archive(self.term.grid_mut(), self.history, &mut self.archive);
        }
    }

    /// Gives access to the primary screen while the alternate one is shown.
    pub(crate) fn with_primary<T>(&mut self, look: impl FnOnce(&mut Grid<Cell>) -> T) -> T {
        // Alacritty gives access to the other screen only by switching to it, which clears the alternate one.
        let alternate = self.term.grid().clone();
        self.term.swap_alt();
        let seen = look(self.term.grid_mut());
        self.term.swap_alt();
        *self.term.grid_mut() = alternate;
        seen
    }

    /// After anything but a character: moves the cursor to where it can be drawn.
    pub(crate) fn settle(&mut self) {
        self.archive_lines();
        let (rows, cols) = (self.term.screen_lines(), self.term.columns());
        let origin = self.term.mode().contains(TermMode::ORIGIN);
        let region = self.region;
        let grid = self.term.grid_mut();
        let cursor = &mut grid.cursor;
        let line = usize::try_from(cursor.point.line.0).unwrap_or(0).min(rows - 1);
        let line = if origin { line.clamp(region.0, region.1 - 1) } else { line };
        cursor.point.line = Line(i32::try_from(line).unwrap_or(0));
        cursor.point.column = cursor.point.column.min(Column(cols - 1));
        cursor.input_needs_wrap &= cursor.point.column.0 == cols - 1;
        if cursor.input_needs_wrap {
            let point = cursor.point;
            repair::unset(grid, point.line, point.column, Flags::WRAPLINE);
        }
    }

    /// After an operation that erased or moved cells of the cursor's line.
    pub(crate) fn repair_line(&mut self) {
        let line = self.term.grid().cursor.point.line;
        repair::row(self.term.grid_mut(), line);
        self.settle();
    }

    /// After an operation that moved whole lines: nothing follows the last one.
    pub(crate) fn repair_bottom(&mut self) {
        repair::bottom(self.term.grid_mut());
        self.settle();
    }

    /// Shows the alternate screen, or the primary one again.
    pub(crate) fn show_alternate(&mut self, alternate: bool) {
        if self.is_alt() == alternate {
            return;
        }
        self.term.swap_alt();
        if alternate {
            // Contents and cursor that another program left there earlier are discarded.
            let grid = self.term.grid_mut();
            grid.saved_cursor = Cursor::default();
            repair::clear(grid);
        }
        self.settle();
    }
}

/// Moves the oldest lines to the archive, until the grid has only `history` lines of scrollback.
fn move_to_archive(grid: &mut Grid<Cell>, history: usize, archive: &mut Archive) {
    let lines = grid.history_size();
    if lines <= history {
        return;
    }
    snapshot::archive(grid, lines - history, archive);
    let limit = history + grid.screen_lines();
    grid.update_history(history);
    grid.update_history(limit);
}

pub(crate) fn default_tabs(cols: usize) -> Vec<bool> {
    (0..cols).map(|at| at % TAB_COLUMNS == 0).collect()
}
