//! The snapshot: bytes that bring an empty terminal of the same size to the same state.

use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::index::{Column, Line, Point};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorShape, NamedColor, StandardCharset};
use unicode_width::UnicodeWidthChar;

use crate::archive::Archive;
use crate::model::{Model, default_tabs};
use crate::style::{Style, StyleWriter};

/// The shortest run of blank cells that is skipped with a cursor movement.
const MIN_JUMP_CELLS: usize = 8;

const CHARSETS: [(CharsetIndex, char); 4] =
    [(CharsetIndex::G0, '('), (CharsetIndex::G1, ')'), (CharsetIndex::G2, '*'), (CharsetIndex::G3, '+')];

/// Modes that are off by default, and the sequences that set them.
const MODES: [(TermMode, &str); 10] = [
    (TermMode::APP_CURSOR, "\x1b[?1h"),
    (TermMode::APP_KEYPAD, "\x1b="),
    (TermMode::MOUSE_REPORT_CLICK, "\x1b[?1000h"),
    (TermMode::MOUSE_DRAG, "\x1b[?1002h"),
    (TermMode::MOUSE_MOTION, "\x1b[?1003h"),
    (TermMode::FOCUS_IN_OUT, "\x1b[?1004h"),
    (TermMode::UTF8_MOUSE, "\x1b[?1005h"),
    (TermMode::SGR_MOUSE, "\x1b[?1006h"),
    (TermMode::BRACKETED_PASTE, "\x1b[?2004h"),
    (TermMode::LINE_FEED_NEW_LINE, "\x1b[20h"),
];

/// Modes that are on by default, and the sequences that reset them.
const MODES_OFF: [(TermMode, &str); 3] = [
    (TermMode::SHOW_CURSOR, "\x1b[?25l"),
    (TermMode::ALTERNATE_SCROLL, "\x1b[?1007l"),
    (TermMode::URGENCY_HINTS, "\x1b[?1042l"),
];

/// The bytes that draw everything but the archived lines, and where those belong.
#[derive(Debug, Default)]
pub(crate) struct Drawing {
    pub(crate) text: String,
    /// The position of the first line in `text`; archived lines are drawn before it.
    lines_at: usize,
}

impl Drawing {
    /// The whole drawing, with these archived lines.
    pub(crate) fn with(&self, archived: &str) -> Vec<u8> {
        let (before, after) = self.text.split_at_checked(self.lines_at).unwrap_or(("", &self.text));
        [before, archived, after].concat().into_bytes()
    }
}

/// Draws everything, with at most this many lines of scrollback.
pub(crate) fn draw(model: &mut Model, scrollback: Option<usize>) -> Vec<u8> {
    let in_grid = if model.is_alt() {
        model.with_primary(|grid| grid.history_size())
    } else {
        model.grid().history_size()
    };
    let wanted = scrollback.unwrap_or(usize::MAX);
    let archived = model.archive.draw(wanted.saturating_sub(in_grid));
    let wrapped = !archived.is_empty() && model.archive.ends_wrapped();
    draw_grid(model, wanted, wrapped).with(&archived)
}

/// Draws everything but the archived lines, with at most this many lines of scrollback. `wrapped`: the last
/// archived line continues in the first line.
pub(crate) fn draw_grid(model: &mut Model, scrollback: usize, wrapped: bool) -> Drawing {
    let mut pen = StyleWriter::default();
    pen.out.push_str("\x1bc");
    titles(&mut pen, model);
    colours(&mut pen, model);
    tabs(&mut pen, model);
    let lines_at = pen.out.len();
    let flow = |pen: &mut StyleWriter, grid: &Grid<Cell>| {
        let history = grid.history_size().min(scrollback);
        rows(pen, grid, -i32::try_from(history).unwrap_or(0), Way::Flow, wrapped);
    };
    if model.is_alt() {
        model.with_primary(|grid| {
            flow(&mut pen, grid);
            cursor(&mut pen, grid, &grid.cursor, 0);
            rest_of_cursor(&mut pen, &grid.cursor, &Cursor::default());
            pen.out.push_str("\x1b[?1049h");
            rest_of_cursor(&mut pen, &Cursor::default(), &grid.cursor);
        });
        pen.out.push_str("\x1b[H\x1b[2J");
        rows(&mut pen, model.grid(), 0, Way::Placed, false);
    } else {
        flow(&mut pen, model.grid());
    }
    repeatable(&mut pen, model);
    state(&mut pen, model);
    Drawing { text: pen.out, lines_at }
}

/// Appends the oldest `lines` lines of the scrollback to the archive.
pub(crate) fn archive(grid: &Grid<Cell>, lines: usize, archive: &mut Archive) {
    let first = grid.topmost_line().0;
    let mut pen = StyleWriter::default();
    for line in (first..).take(lines) {
        let wraps = row(&mut pen, grid, line, archive.ends_wrapped(), Blanks::Printed);
        pen.look(&Style::default());
        archive.push(&pen.out, wraps);
        pen.out.clear();
    }
}

/// The text of the visible lines.
pub(crate) fn lines(grid: &Grid<Cell>) -> Vec<String> {
    let line = |line: i32| {
        let mut pen = StyleWriter::default();
        for column in 0..grid.columns() {
            let cell = &grid[Line(line)][Column(column)];
            if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                pen.out.push(cell.c);
                pen.out.extend(cell.zerowidth().unwrap_or_default());
            }
        }
        pen.out.trim_end().to_owned()
    };
    (0..=grid.bottommost_line().0).map(line).collect()
}

fn titles(pen: &mut StyleWriter, model: &Model) {
    for title in &model.titles {
        pen.write(format_args!("\x1b]2;{}\x1b\\\x1b[22;2t", title.as_deref().unwrap_or_default()));
    }
    if let Some(title) = &model.title {
        pen.write(format_args!("\x1b]2;{title}\x1b\\"));
    } else if !model.titles.is_empty() {
        pen.out.push_str("\x1b]2;\x1b\\");
    }
}

fn colours(pen: &mut StyleWriter, model: &Model) {
    for index in 0..=NamedColor::Cursor as usize {
        let Some(c) = model.term.colors()[index] else { continue };
        match index.checked_sub(NamedColor::Foreground as usize) {
            Some(dynamic) => pen.write(format_args!("\x1b]{}", 10 + dynamic)),
            None => pen.write(format_args!("\x1b]4;{index}")),
        }
        pen.write(format_args!(";rgb:{:02x}/{:02x}/{:02x}\x1b\\", c.r, c.g, c.b));
    }
}

fn tabs(pen: &mut StyleWriter, model: &Model) {
    if model.tabs == default_tabs(model.tabs.len()) {
        return;
    }
    pen.out.push_str("\x1b[3g");
    for (column, _) in model.tabs.iter().enumerate().filter(|(_, stop)| **stop) {
        pen.write(format_args!("\x1b[{}G\x1bH", column + 1));
    }
    pen.out.push('\r');
}

/// How the cursor gets to the next line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a line feed: lines that leave at the top become scrollback.
    Flow,
    /// By its line number.
    Placed,
}

fn is_blank(cell: &Cell) -> bool {
    cell.c == ' '
        && cell.flags.is_empty()
        && cell.zerowidth().is_none_or(<[char]>::is_empty)
        && Style::of(cell) == Style::default()
}

/// How a run of blank cells is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blanks {
    /// A long one by a cursor movement.
    Skipped,
    /// By spaces, which wrap where a terminal has fewer columns.
    Printed,
}

/// Draws the lines from `first` to the last. `wrapped`: a line that continues in the first one was drawn
/// before it.
fn rows(pen: &mut StyleWriter, grid: &Grid<Cell>, first: i32, way: Way, mut wrapped: bool) {
    for line in first..=grid.bottommost_line().0 {
        if line > first && !wrapped {
            pen.look(&Style::default()); // a new line gets the current background
            match way {
                Way::Flow => pen.out.push_str("\r\n"),
                Way::Placed => pen.write(format_args!("\x1b[{}H", line + 1)),
            }
        }
        wrapped = row(pen, grid, line, wrapped, Blanks::Skipped);
    }
    pen.look(&Style::default());
}

/// Draws one line, and returns whether it continues in the next one. `wrapped`: it continues the line before.
fn row(pen: &mut StyleWriter, grid: &Grid<Cell>, line: i32, wrapped: bool, way: Blanks) -> bool {
    let (row, last) = (&grid[Line(line)], grid.last_column());
    let wraps = row[last].flags.contains(Flags::WRAPLINE);
    let used = (0..=last.0).rev().find(|at| !is_blank(&row[Column(*at)])).map_or(0, |at| at + 1);
    let end = if wraps { last.0 + 1 } else { used.max(usize::from(wrapped)) };
    let mut blanks = 0;
    for column in 0..end {
        let cell = &row[Column(column)];
        // The first cell after a wrap must be printed, because it causes the wrap.
        if is_blank(cell) && !(wrapped && column == 0) {
            blanks += 1;
            continue;
        }
        skip(pen, &mut blanks, way);
        put(pen, cell);
        if wrapped && column == 0 && Style::of(cell) != Style::default() {
            // The wrap may have created the line, in this cell's colour.
            pen.look(&Style::default());
            pen.out.push_str("\x1b[K");
        }
    }
    wraps
}

fn skip(pen: &mut StyleWriter, blanks: &mut usize, way: Blanks) {
    match std::mem::take(blanks) {
        0 => {}
        count if count < MIN_JUMP_CELLS || way == Blanks::Printed => {
            pen.look(&Style::default());
            (0..count).for_each(|_| pen.out.push(' '));
        }
        count => pen.write(format_args!("\x1b[{count}C")),
    }
}

fn put(pen: &mut StyleWriter, cell: &Cell) {
    if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
        return;
    }
    pen.look(&Style::of(cell));
    pen.out.push(cell.c);
    pen.out.extend(cell.zerowidth().unwrap_or_default());
}

/// Moves the cursor. A pending wrap exists only right after printing in the last column, so that cell is
/// printed again.
fn cursor(pen: &mut StyleWriter, grid: &Grid<Cell>, cursor: &Cursor<Cell>, top: usize) {
    let Point { line, column } = cursor.point;
    let row = usize::try_from(line.0).unwrap_or(0).saturating_sub(top);
    let cell = &grid[line][column];
    if !cursor.input_needs_wrap {
        return pen.write(format_args!("\x1b[{};{}H", row + 1, column.0 + 1));
    }
    let wide = cell.flags.contains(Flags::WIDE_CHAR_SPACER) && column.0 > 0;
    let column = if wide { Column(column.0 - 1) } else { column };
    pen.write(format_args!("\x1b[{};{}H", row + 1, column.0 + 1));
    put(pen, &grid[line][column]);
}

/// Sets the colours and character sets of a cursor, where those of another are active.
fn rest_of_cursor(pen: &mut StyleWriter, cursor: &Cursor<Cell>, before: &Cursor<Cell>) {
    pen.look(&Style::of(&cursor.template));
    for (index, name) in CHARSETS {
        if cursor.charsets[index] != before.charsets[index] {
            let charset = if cursor.charsets[index] == StandardCharset::Ascii { 'B' } else { '0' };
            pen.write(format_args!("\x1b{name}{charset}"));
        }
    }
}

/// Prints the character that `REP` would repeat, where it leaves no trace: over itself, or where it can be
/// erased.
fn repeatable(pen: &mut StyleWriter, model: &Model) {
    let Some(c) = model.last else { return };
    let (grid, width) = (model.grid(), c.width().unwrap_or(0).max(1));
    let places = || {
        let lines = (0..=grid.bottommost_line().0).rev();
        lines.flat_map(|line| (0..=grid.columns() - width).rev().map(move |column| (line, column)))
    };
    let cell = |(line, column): (i32, usize)| &grid[Line(line)][Column(column)];
    let bare = |cell: &Cell| cell.zerowidth().is_none_or(<[char]>::is_empty);
    let is_there = |place: &(i32, usize)| {
        let cell = cell(*place);
        let end = &grid[Line(place.0)][Column(place.1 + width - 1)];
        cell.c == c && c != ' ' && bare(cell) && !end.flags.contains(Flags::WRAPLINE)
    };
    if let Some((line, column)) = places().find(is_there) {
        pen.write(format_args!("\x1b[{};{}H", line + 1, column + 1));
        put(pen, cell((line, column)));
        return pen.look(&Style::default());
    }
    let erased = |place: (i32, usize)| {
        let cell = cell(place);
        let is = cell.c == ' ' && cell.flags.is_empty() && Style::of(cell) == Style::erased(cell.bg);
        (is && bare(cell)).then_some(cell.bg)
    };
    let is_free = |(line, column): &(i32, usize)| {
        let first = erased((*line, *column));
        first.is_some() && (width < 2 || erased((*line, *column + 1)) == first)
    };
    let Some((line, column)) = places().find(is_free) else { return };
    let place = format!("\x1b[{};{}H", line + 1, column + 1);
    pen.out.push_str(&place);
    if c.width() == Some(0) {
        pen.out.push(' '); // a combining mark needs a base character
    }
    pen.out.push(c);
    pen.out.push_str(&place);
    pen.look(&Style::erased(cell((line, column)).bg));
    pen.write(format_args!("\x1b[{width}X"));
    pen.look(&Style::default());
}

fn state(pen: &mut StyleWriter, model: &Model) {
    let (grid, mode) = (model.grid(), *model.term.mode());
    if model.region != (0, grid.screen_lines()) {
        pen.write(format_args!("\x1b[{};{}r", model.region.0 + 1, model.region.1));
    }
    let fresh = Cursor::default();
    let saved = &grid.saved_cursor;
    if *saved != fresh {
        pen.write(format_args!("\x1b[{};{}H", saved.point.line.0 + 1, saved.point.column.0 + 1));
        rest_of_cursor(pen, saved, &fresh);
        pen.out.push_str("\x1b7");
        rest_of_cursor(pen, &fresh, saved);
    }
    for (flag, set) in MODES {
        if mode.contains(flag) {
            pen.out.push_str(set);
        }
    }
    for (flag, unset) in MODES_OFF {
        if !mode.contains(flag) {
            pen.out.push_str(unset);
        }
    }
    let origin = mode.contains(TermMode::ORIGIN);
    if origin {
        pen.out.push_str("\x1b[?6h");
    }
    cursor(pen, grid, &grid.cursor, if origin { model.region.0 } else { 0 });
    if !mode.contains(TermMode::LINE_WRAP) {
        pen.out.push_str("\x1b[?7l");
    }
    if mode.contains(TermMode::INSERT) {
        pen.out.push_str("\x1b[4h");
    }
    cursor_style(pen, model);
    rest_of_cursor(pen, &grid.cursor, &fresh);
    match model.charset {
        CharsetIndex::G0 => {}
        _ => pen.out.push('\x0e'),
    }
}

fn cursor_style(pen: &mut StyleWriter, model: &Model) {
    let style = model.term.cursor_style();
    let number = match style.shape {
        CursorShape::Underline => 4,
        CursorShape::Beam => 6,
        _ => 2,
    };
    let number = number - u8::from(style.blinking);
    if number != 2 {
        pen.write(format_args!("\x1b[{number} q"));
    }
}
