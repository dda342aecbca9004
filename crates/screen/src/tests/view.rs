//! The visible state of a screen, as text to compare.

use std::fmt::Write;

use alacritty_terminal::grid::{Cursor, Dimensions, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Cell;

use crate::Screen;

fn cell(out: &mut String, cell: &Cell) {
    if *cell == Cell::default() {
        return out.push(' ');
    }
    let marks = cell.zerowidth().unwrap_or_default();
    let _ = write!(out, "{:?}{marks:?}{:?}/{:?}/{:?}", cell.c, cell.fg, cell.bg, cell.flags);
    let _ = write!(
        out,
        "/{:?}/{:?}|",
        cell.underline_color(),
        cell.hyperlink().map(|link| link.uri().to_owned())
    );
}

fn cursor(out: &mut String, cursor: &Cursor<Cell>) {
    let _ = write!(out, "{:?} {:?} ", cursor.point, cursor.charsets);
    cell(out, &cursor.template);
    out.push('\n');
}

fn grid(out: &mut String, grid: &Grid<Cell>) {
    for line in grid.topmost_line().0..=grid.bottommost_line().0 {
        let _ = write!(out, "{line}: ");
        for column in 0..grid.columns() {
            let found = &grid[Line(line)][Column(column)];
            // An empty cell is left out.
            let empty = found.zerowidth().is_none_or(<[char]>::is_empty)
                && found.underline_color().is_none()
                && found.hyperlink().is_none();
            let extra = if empty { None } else { found.extra.clone() };
            cell(out, &Cell { extra, ..found.clone() });
        }
        out.push('\n');
    }
    let _ = write!(out, "wraps {} ", grid.cursor.input_needs_wrap);
    cursor(out, &grid.cursor);
    cursor(out, &grid.saved_cursor);
}

/// The visible state of a screen as text.
pub(super) fn view(screen: &mut Screen) -> String {
    let mut out = String::new();
    let held = screen.tokenizer.held().to_vec();
    let model = &mut screen.wake().model;
    let (mode, style) = (*model.term.mode(), model.term.cursor_style());
    let _ = writeln!(out, "{mode:?} {style:?} {:?} {:?} {:?}", model.region, model.charset, held);
    let _ = writeln!(out, "{:?} {:?} {:?}", model.title, model.titles, model.tabs);
    let colours: Vec<_> = (0..259).filter_map(|at| Some((at, model.term.colors()[at]?))).collect();
    let _ = writeln!(out, "{colours:?}");
    let archived = model.archive.draw(usize::MAX);
    // The id of a link without one is a new number each time.
    let parts = archived.split("\x1b]8;id=").enumerate();
    let archived: Vec<_> = parts
        .map(|(at, part)| if at == 0 { part } else { part.split_once(';').map_or("", |(_, rest)| rest) })
        .collect();
    let _ = writeln!(out, "{archived:?}");
    grid(&mut out, model.term.grid());
    if model.is_alt() {
        model.with_primary(|primary| grid(&mut out, primary));
    }
    out
}
