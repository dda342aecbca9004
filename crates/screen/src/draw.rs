//! The snapshot: bytes that bring an empty terminal of the same size to the same state.

use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::index::{Column, Line, Point};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorShape, NamedColor, StandardCharset};
use unicode_width::UnicodeWidthChar;

use crate::model::{Model, default_tabs};
use crate::pen::{Look, Pen};

/// Blank cells in a row that are worth a jump.
const JUMP: usize = 8;

const CHARSETS: [(CharsetIndex, char); 4] =
    [(CharsetIndex::G0, '('), (CharsetIndex::G1, ')'), (CharsetIndex::G2, '*'), (CharsetIndex::G3, '+')];

/// Modes that are off unless they were set, and how they are set.
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

/// Modes that are on unless they were unset, and how they are unset.
const MODES_OFF: [(TermMode, &str); 3] = [
    (TermMode::SHOW_CURSOR, "\x1b[?25l"),
    (TermMode::ALTERNATE_SCROLL, "\x1b[?1007l"),
    (TermMode::URGENCY_HINTS, "\x1b[?1042l"),
];

/// Draws everything, with at most so many lines of scrollback.
pub(crate) fn draw(model: &mut Model, scrollback: Option<usize>) -> String {
    let mut pen = Pen::default();
    pen.out.push_str("\x1bc");
    titles(&mut pen, model);
    colours(&mut pen, model);
    tabs(&mut pen, model);
    let wanted = scrollback.unwrap_or(usize::MAX);
    let flow = |pen: &mut Pen, grid: &Grid<Cell>| {
        let history = grid.history_size().min(wanted);
        rows(pen, grid, -i32::try_from(history).unwrap_or(0), Way::Flow);
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
        rows(&mut pen, model.grid(), 0, Way::Placed);
    } else {
        flow(&mut pen, model.grid());
    }
    repeatable(&mut pen, model);
    state(&mut pen, model);
    pen.out
}

/// The text of the lines that are shown.
pub(crate) fn lines(grid: &Grid<Cell>) -> Vec<String> {
    let line = |line: i32| {
        let mut pen = Pen::default();
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

fn titles(pen: &mut Pen, model: &Model) {
    for title in &model.titles {
        pen.write(format_args!("\x1b]2;{}\x1b\\\x1b[22;2t", title.as_deref().unwrap_or_default()));
    }
    if let Some(title) = &model.title {
        pen.write(format_args!("\x1b]2;{title}\x1b\\"));
    } else if !model.titles.is_empty() {
        pen.out.push_str("\x1b]2;\x1b\\");
    }
}

fn colours(pen: &mut Pen, model: &Model) {
    for index in 0..=NamedColor::Cursor as usize {
        let Some(c) = model.term.colors()[index] else { continue };
        match index.checked_sub(NamedColor::Foreground as usize) {
            Some(dynamic) => pen.write(format_args!("\x1b]{}", 10 + dynamic)),
            None => pen.write(format_args!("\x1b]4;{index}")),
        }
        pen.write(format_args!(";rgb:{:02x}/{:02x}/{:02x}\x1b\\", c.r, c.g, c.b));
    }
}

fn tabs(pen: &mut Pen, model: &Model) {
    if model.tabs == default_tabs(model.tabs.len()) {
        return;
    }
    pen.out.push_str("\x1b[3g");
    for (column, _) in model.tabs.iter().enumerate().filter(|(_, stop)| **stop) {
        pen.write(format_args!("\x1b[{}G\x1bH", column + 1));
    }
    pen.out.push('\r');
}

/// How one gets from a line to the next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a line feed: what goes over the top is scrollback.
    Flow,
    /// By its number.
    Placed,
}

fn is_blank(cell: &Cell) -> bool {
    cell.c == ' '
        && cell.flags.is_empty()
        && cell.zerowidth().is_none_or(<[char]>::is_empty)
        && Look::of(cell) == Look::default()
}

/// Draws lines from this one to the last.
fn rows(pen: &mut Pen, grid: &Grid<Cell>, first: i32, way: Way) {
    let last = grid.last_column();
    let mut wrapped = false;
    for line in first..=grid.bottommost_line().0 {
        let row = &grid[Line(line)];
        if line > first && !wrapped {
            pen.look(&Look::default()); // a new line comes in the colour that is set
            match way {
                Way::Flow => pen.out.push_str("\r\n"),
                Way::Placed => pen.write(format_args!("\x1b[{}H", line + 1)),
            }
        }
        let wraps = row[last].flags.contains(Flags::WRAPLINE);
        let used = (0..=last.0).rev().find(|at| !is_blank(&row[Column(*at)])).map_or(0, |at| at + 1);
        let end = if wraps { last.0 + 1 } else { used.max(usize::from(wrapped)) };
        let mut blanks = 0;
        for column in 0..end {
            let cell = &row[Column(column)];
            // The first cell after a wrap is what wraps.
            if is_blank(cell) && !(wrapped && column == 0) {
                blanks += 1;
                continue;
            }
            skip(pen, &mut blanks);
            put(pen, cell);
            if wrapped && column == 0 && Look::of(cell) != Look::default() {
                // The wrap may have made the line, in this cell's colour.
                pen.look(&Look::default());
                pen.out.push_str("\x1b[K");
            }
        }
        wrapped = wraps;
    }
    pen.look(&Look::default());
}

fn skip(pen: &mut Pen, blanks: &mut usize) {
    match std::mem::take(blanks) {
        0 => {}
        count @ 1..JUMP => {
            pen.look(&Look::default());
            (0..count).for_each(|_| pen.out.push(' '));
        }
        count => pen.write(format_args!("\x1b[{count}C")),
    }
}

fn put(pen: &mut Pen, cell: &Cell) {
    if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
        return;
    }
    pen.look(&Look::of(cell));
    pen.out.push(cell.c);
    pen.out.extend(cell.zerowidth().unwrap_or_default());
}

/// Moves the cursor. If the next character wraps, that is so because the last one was just printed: it is, again.
fn cursor(pen: &mut Pen, grid: &Grid<Cell>, cursor: &Cursor<Cell>, top: usize) {
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

/// Colours and character sets of a cursor, where those of another are in force.
fn rest_of_cursor(pen: &mut Pen, cursor: &Cursor<Cell>, before: &Cursor<Cell>) {
    pen.look(&Look::of(&cursor.template));
    for (index, name) in CHARSETS {
        if cursor.charsets[index] != before.charsets[index] {
            let charset = if cursor.charsets[index] == StandardCharset::Ascii { 'B' } else { '0' };
            pen.write(format_args!("\x1b{name}{charset}"));
        }
    }
}

/// Prints the character that `REP` would repeat, where it leaves no trace: where it is already, or where it can be erased.
fn repeatable(pen: &mut Pen, model: &Model) {
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
        return pen.look(&Look::default());
    }
    let erased = |place: (i32, usize)| {
        let cell = cell(place);
        let is = cell.c == ' ' && cell.flags.is_empty() && Look::of(cell) == Look::erased(cell.bg);
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
        pen.out.push(' '); // a mark needs something to sit on
    }
    pen.out.push(c);
    pen.out.push_str(&place);
    pen.look(&Look::erased(cell((line, column)).bg));
    pen.write(format_args!("\x1b[{width}X"));
    pen.look(&Look::default());
}

fn state(pen: &mut Pen, model: &Model) {
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

fn cursor_style(pen: &mut Pen, model: &Model) {
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
