//! The effect of each operation: alacritty's, with our additions.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::Column;
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, ClearMode, CursorShape, CursorStyle, Handler, Hyperlink, LineClearMode, Mode,
    NamedPrivateMode, PrivateMode, Rgb, StandardCharset, TabulationClearMode,
};
use unicode_width::UnicodeWidthChar;

use crate::colours;
use crate::model::{Model, default_tabs};
use crate::repair;

/// The maximum number of combining marks (accents and the like) on one character.
const MAX_COMBINING_MARKS: usize = 8;
/// Longer titles are cut.
const MAX_TITLE_BYTES: usize = 1024;
/// The depth of the title stack, as in xterm.
const MAX_TITLES: usize = 10;
/// Longer links are shown as plain text.
const MAX_LINK_BYTES: usize = 512;

/// Forwards operations to alacritty, then normalises the cursor.
macro_rules! pass {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        fn $name(&mut self, $($arg: $type),*) {
            self.term.$name($($arg),*);
            self.settle();
        }
    )*};
}

/// Forwards operations that change cells of a line.
macro_rules! pass_line {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        fn $name(&mut self, $($arg: $type),*) {
            self.term.$name($($arg),*);
            self.repair_line();
        }
    )*};
}

/// Forwards operations that move lines.
macro_rules! pass_lines {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        fn $name(&mut self, $($arg: $type),*) {
            self.term.$name($($arg),*);
            self.repair_bottom();
        }
    )*};
}

impl Handler for Model {
    pass! {
        set_cursor_style(style: Option<CursorStyle>);
        set_cursor_shape(shape: CursorShape);
        goto(line: i32, col: usize);
        goto_line(line: i32);
        goto_col(col: usize);
        move_up(lines: usize);
        move_down(lines: usize);
        move_forward(cols: usize);
        move_backward(cols: usize);
        move_down_and_cr(lines: usize);
        move_up_and_cr(lines: usize);
        move_forward_tabs(count: u16);
        move_backward_tabs(count: u16);
        backspace();
        carriage_return();
        linefeed();
        newline();
        save_cursor_position();
        terminal_attribute(attr: Attr);
        set_mode(mode: Mode);
        unset_mode(mode: Mode);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        set_color(index: usize, color: Rgb);
        reset_color(index: usize);
        decaln();
        identify_terminal(intermediate: Option<char>);
        device_status(what: usize);
        report_mode(mode: Mode);
        report_private_mode(mode: PrivateMode);
        text_area_size_chars();
    }

    pass_line! {
        insert_blank(count: usize);
        erase_chars(count: usize);
        delete_chars(count: usize);
        clear_line(mode: LineClearMode);
    }

    pass_lines! {
        scroll_up(lines: usize);
        scroll_down(lines: usize);
        insert_blank_lines(lines: usize);
        delete_lines(lines: usize);
        reverse_index();
    }

    fn clear_screen(&mut self, mode: ClearMode) {
        if matches!(mode, ClearMode::Saved) && !self.is_alt() {
            self.archive.clear();
        }
        self.term.clear_screen(mode);
        self.repair_line();
    }

    fn input(&mut self, c: char) {
        let Some(left) = self.budget.checked_sub(1) else { return };
        self.budget = left;
        self.last = Some(c);
        let Some(width) = c.width() else { return };
        let cursor = &self.term.grid().cursor;
        let last = self.term.last_column();
        if width == 0 {
            if !self.has_room_for_a_mark() {
                return;
            }
            return self.term.input(c);
        }
        let wraps = cursor.input_needs_wrap || (width > 1 && cursor.point.column >= last);
        let inserts = self.term.mode().contains(TermMode::INSERT);
        self.term.input(c);
        if wraps {
            self.archive_lines();
            let line = self.term.grid().cursor.point.line;
            let top = self.term.topmost_line();
            let grid = self.term.grid_mut();
            repair::unset(grid, line, last, Flags::LEADING_WIDE_CHAR_SPACER);
            if line > top {
                repair::unset(grid, line - 1, last, Flags::LEADING_WIDE_CHAR_SPACER);
            }
            repair::bottom(grid);
        }
        if inserts {
            self.repair_line();
        }
    }

    /// Alacritty writes a character into the cell and wraps at the end of the line; xterm does neither.
    fn put_tab(&mut self, count: u16) {
        self.move_forward_tabs(count);
    }

    fn set_horizontal_tabstop(&mut self) {
        let column = self.term.grid().cursor.point.column;
        if let Some(stop) = self.tabs.get_mut(column.0) {
            *stop = true;
        }
        self.term.set_horizontal_tabstop();
    }

    fn clear_tabs(&mut self, mode: TabulationClearMode) {
        let column = self.term.grid().cursor.point.column;
        match &mode {
            TabulationClearMode::Current => {
                self.tabs.iter_mut().skip(column.0).take(1).for_each(|stop| *stop = false);
            }
            TabulationClearMode::All => self.tabs.fill(false),
        }
        self.term.clear_tabs(mode);
    }

    fn restore_cursor_position(&mut self) {
        self.term.restore_cursor_position();
        self.term.grid_mut().cursor.input_needs_wrap = false;
        self.settle();
    }

    fn reset_state(&mut self) {
        self.term.reset_state();
        self.archive.clear();
        self.region = (0, self.term.screen_lines());
        self.tabs = default_tabs(self.term.columns());
        self.charset = CharsetIndex::G0;
        self.title = None;
        self.titles.clear();
    }

    fn set_scrolling_region(&mut self, top: usize, bottom: Option<usize>) {
        let rows = self.term.screen_lines();
        let bottom = bottom.unwrap_or(rows).min(rows);
        // A region needs two lines, as in xterm.
        if top == 0 || top >= bottom {
            return;
        }
        self.region = (top - 1, bottom);
        self.term.set_scrolling_region(top, Some(bottom));
        self.settle();
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.charset = index;
        self.term.set_active_charset(index);
    }

    fn set_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor)
            | PrivateMode::Unknown(47 | 1047) => self.show_alternate(true),
            PrivateMode::Unknown(1048) => self.save_cursor_position(),
            mode => {
                self.switch_columns(mode);
                self.term.set_private_mode(mode);
                self.settle();
            }
        }
    }

    fn unset_private_mode(&mut self, mode: PrivateMode) {
        match mode {
            PrivateMode::Named(NamedPrivateMode::SwapScreenAndSetRestoreCursor)
            | PrivateMode::Unknown(47 | 1047) => self.show_alternate(false),
            PrivateMode::Unknown(1048) => self.restore_cursor_position(),
            mode => {
                self.switch_columns(mode);
                self.term.unset_private_mode(mode);
                self.settle();
            }
        }
    }

    fn set_title(&mut self, title: Option<String>) {
        self.title = title.filter(|title| !title.is_empty()).map(|mut title| {
            title.truncate(title.floor_char_boundary(MAX_TITLE_BYTES));
            title
        });
    }

    fn push_title(&mut self) {
        if self.titles.len() < MAX_TITLES {
            self.titles.push(self.title.clone());
        }
    }

    fn pop_title(&mut self) {
        if let Some(title) = self.titles.pop() {
            self.title = title;
        }
    }

    fn dynamic_color_sequence(&mut self, prefix: String, index: usize, terminator: &str) {
        let set = if index < 256 + 3 { self.term.colors()[index] } else { None };
        let Rgb { r, g, b } = set.unwrap_or_else(|| colours::colour(index));
        let reply = format!("\x1b]{prefix};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{terminator}");
        self.replies.push(&reply);
    }

    fn set_hyperlink(&mut self, link: Option<Hyperlink>) {
        let short =
            |link: &Hyperlink| link.uri.len() + link.id.as_ref().map_or(0, String::len) <= MAX_LINK_BYTES;
        self.term.set_hyperlink(link.filter(short));
    }
}

impl Model {
    /// 132 columns are not supported, but the side effects of requesting them are.
    fn switch_columns(&mut self, mode: PrivateMode) {
        if mode == PrivateMode::Named(NamedPrivateMode::ColumnMode) {
            self.region = (0, self.term.screen_lines());
        }
    }

    /// Whether the character before the cursor accepts another combining mark.
    fn has_room_for_a_mark(&self) -> bool {
        let grid = self.term.grid();
        let point = grid.cursor.point;
        let back = |column: Column| Column(column.0.saturating_sub(1));
        let mut column = if grid.cursor.input_needs_wrap { point.column } else { back(point.column) };
        if grid[point.line][column].flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = back(column);
        }
        grid[point.line][column].zerowidth().is_none_or(|marks| marks.len() < MAX_COMBINING_MARKS)
    }
}
