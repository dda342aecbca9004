//! Removes states that no sequence of bytes could draw: halves of wide characters, wraps without a next line.

use alacritty_terminal::grid::{Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};

/// Clears flags of a cell; a cell without them is not touched.
pub(crate) fn unset(grid: &mut Grid<Cell>, line: Line, column: Column, flags: Flags) {
    if grid[line][column].flags.intersects(flags) {
        grid[line][column].flags.remove(flags);
    }
}

/// Repairs the cells of one line.
pub(crate) fn row(grid: &mut Grid<Cell>, line: Line) {
    let last = grid.columns() - 1;
    let odd = Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER | Flags::WRAPLINE;
    for column in 0..=last {
        let flags = grid[line][Column(column)].flags;
        if !flags.intersects(odd) {
            continue;
        }
        unset(grid, line, Column(column), Flags::LEADING_WIDE_CHAR_SPACER);
        if column < last {
            unset(grid, line, Column(column), Flags::WRAPLINE);
        }
        let has = |at: usize, flag| at <= last && grid[line][Column(at)].flags.contains(flag);
        if flags.contains(Flags::WIDE_CHAR) && !has(column + 1, Flags::WIDE_CHAR_SPACER) {
            grid[line][Column(column)].clear_wide();
        } else if flags.contains(Flags::WIDE_CHAR_SPACER)
            && (column == 0 || !has(column - 1, Flags::WIDE_CHAR))
        {
            unset(grid, line, Column(column), Flags::WIDE_CHAR_SPACER);
        }
    }
}

/// Repairs the last line, which nothing follows.
pub(crate) fn bottom(grid: &mut Grid<Cell>) {
    let (line, column) = (grid.bottommost_line(), grid.last_column());
    unset(grid, line, column, Flags::WRAPLINE);
}

/// Alacritty clears only cells that it considers used, and after a resize it considers some unused that are
/// not.
fn touch(grid: &mut Grid<Cell>, line: Line) {
    let last = grid.last_column();
    let _ = &mut grid[line][last]; // mutable access marks it as used
}

/// Clears all lines of the screen, in the current background colour.
pub(crate) fn clear(grid: &mut Grid<Cell>) {
    let blank = Cell { bg: grid.cursor.template.bg, ..Cell::default() };
    for line in 0..=grid.bottommost_line().0 {
        for cell in &mut grid[Line(line)][Column(0)..] {
            *cell = blank.clone();
        }
    }
}

/// Repairs all lines, scrollback included.
pub(crate) fn grid(grid: &mut Grid<Cell>) {
    let mut line = grid.topmost_line();
    while line <= grid.bottommost_line() {
        touch(grid, line);
        row(grid, line);
        line += 1;
    }
    bottom(grid);
    let (rows, last) = (grid.bottommost_line(), grid.last_column());
    for cursor in [&mut grid.cursor, &mut grid.saved_cursor] {
        cursor.point.line = cursor.point.line.clamp(Line(0), rows);
        cursor.point.column = cursor.point.column.min(last);
        cursor.input_needs_wrap &= cursor.point.column == last;
    }
    if grid.cursor.input_needs_wrap {
        let point = grid.cursor.point;
        unset(grid, point.line, point.column, Flags::WRAPLINE);
    }
}
