//! What a terminal shows: an emulator that is fed output and tells the screen, the shell's marks and the replies that
//! programs ask for. No I/O.
//!
//! A screen that is not used sleeps: it is no more than the bytes that draw it.

mod colours;
mod cutter;
mod draw;
mod handler;
mod marks;
mod mend;
mod model;
mod pen;

#[cfg(test)]
mod tests;

use std::fmt;

use alacritty_terminal::vte::ansi::Processor;

pub use marks::Mark;

use cutter::{Cutter, Piece, Terminator};
use marks::Marks;
use model::{Model, NoWait};

/// A cell's size in memory: what scrollback costs.
const CELL_BYTES: usize = 24;
/// At least so many lines of scrollback are kept.
const MIN_HISTORY: usize = 100;
/// Larger terminals are emulated as if they had this size.
const MAX_ROWS: u16 = 300;
const MAX_COLS: u16 = 500;
/// What the emulator needs at least.
const MIN_COLS: u16 = 2;

/// How a screen is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub cols: u16,
    /// How much memory the scrollback may take; at least 100 lines are kept.
    pub buffer_bytes: usize,
    /// What a mark must carry to count. Without one none does.
    pub secret: String,
}

/// What came of some bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fed {
    /// Answers to questions that the program asked its terminal (where is the cursor, which colours?): its input.
    pub replies: Vec<u8>,
    /// What the shell told.
    pub marks: Vec<Mark>,
}

/// Finds the shell's marks without a screen.
#[derive(Debug)]
pub struct MarkFinder {
    cutter: Cutter,
    marks: Marks,
}

impl MarkFinder {
    /// Finds marks that carry this secret.
    pub fn new(secret: &str) -> Self {
        Self { cutter: Cutter::default(), marks: Marks::new(secret) }
    }

    /// The marks in what the program printed next.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Mark> {
        let Self { cutter, marks } = self;
        let mut found = Vec::new();
        cutter.cut(bytes, |piece| {
            if let Piece::Osc(body, _) = piece {
                found.extend(body.get(2..).and_then(|body| marks.find(body)));
            }
        });
        found
    }
}

/// A terminal's screen.
pub struct Screen {
    rows: u16,
    cols: u16,
    buffer_bytes: usize,
    cutter: Cutter,
    marks: Marks,
    /// `None` while it sleeps.
    awake: Option<Box<Emulator>>,
    asleep: Asleep,
}

/// What is left of an emulator that sleeps.
#[derive(Default)]
struct Asleep {
    drawing: Box<str>,
    title: Option<Box<str>>,
}

struct Emulator {
    model: Model,
    processor: Processor<NoWait>,
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Screen {{ rows: {}, cols: {}, awake: {} }}", self.rows, self.cols, self.is_awake())
    }
}

impl Screen {
    /// An empty screen.
    pub fn new(options: &Options) -> Self {
        Self {
            rows: rows(options.rows),
            cols: cols(options.cols),
            buffer_bytes: options.buffer_bytes,
            cutter: Cutter::default(),
            marks: Marks::new(&options.secret),
            awake: None,
            asleep: Asleep::default(),
        }
    }

    /// Its lines and columns.
    pub const fn size(&self) -> (u16, u16) {
        (self.rows, self.cols)
    }

    /// The window's title, if there is one.
    pub fn title(&self) -> Option<&str> {
        match &self.awake {
            Some(emulator) => emulator.model.title.as_deref(),
            None => self.asleep.title.as_deref(),
        }
    }

    /// Takes output of the program.
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        let mut fed = Fed::default();
        self.wake();
        let Screen { cutter, marks, awake: Some(emulator), .. } = self else { return fed };
        cutter.cut(bytes, |piece| match piece {
            Piece::Plain(bytes) => emulator.feed(bytes),
            Piece::Osc(body, terminator) => {
                fed.marks.extend(body.get(2..).and_then(|body| marks.find(body)));
                emulator.feed_string(body, terminator);
            }
        });
        fed.replies = emulator.model.replies.take();
        fed
    }

    /// The terminal has another size.
    pub fn resize(&mut self, new_rows: u16, new_cols: u16) {
        let (new_rows, new_cols) = (rows(new_rows), cols(new_cols));
        if (new_rows, new_cols) == self.size() {
            return;
        }
        let history = history(self.buffer_bytes, new_cols);
        let emulator = self.wake();
        emulator.model.resize(new_rows.into(), new_cols.into(), history);
        (self.rows, self.cols) = (new_rows, new_cols);
    }

    /// Bytes that draw all this on a terminal of this size, with at most so many lines of scrollback.
    pub fn snapshot(&mut self, scrollback: Option<usize>) -> Vec<u8> {
        let mut bytes = match (&self.awake, scrollback) {
            (None, None) if self.asleep.drawing.is_empty() => b"\x1bc".to_vec(),
            (None, None) => self.asleep.drawing.as_bytes().to_vec(),
            _ => draw::draw(&mut self.wake().model, scrollback).into_bytes(),
        };
        bytes.extend_from_slice(self.cutter.held());
        bytes
    }

    /// The text of its lines, without what is blank at their ends.
    pub fn lines(&mut self) -> Vec<String> {
        draw::lines(self.wake().model.grid())
    }

    /// Gives its memory back until it is used again.
    pub fn sleep(&mut self) {
        if let Some(mut emulator) = self.awake.take() {
            self.asleep.drawing = draw::draw(&mut emulator.model, None).into_boxed_str();
            self.asleep.title = emulator.model.title.map(String::into_boxed_str);
        }
    }

    /// Whether it is awake.
    pub const fn is_awake(&self) -> bool {
        self.awake.is_some()
    }

    fn wake(&mut self) -> &mut Emulator {
        self.awake.get_or_insert_with(|| {
            let asleep = std::mem::take(&mut self.asleep);
            let history = history(self.buffer_bytes, self.cols);
            let model = Model::new(self.rows.into(), self.cols.into(), history);
            let mut emulator = Box::new(Emulator { model, processor: Processor::new() });
            emulator.draw(asleep.drawing.as_bytes());
            emulator
        })
    }
}

fn rows(rows: u16) -> u16 {
    rows.clamp(1, MAX_ROWS)
}

fn cols(cols: u16) -> u16 {
    cols.clamp(MIN_COLS, MAX_COLS)
}

fn history(buffer_bytes: usize, cols: u16) -> usize {
    (buffer_bytes / (CELL_BYTES * usize::from(cols))).max(MIN_HISTORY)
}

impl Emulator {
    fn feed(&mut self, bytes: &[u8]) {
        self.model.feed(&mut self.processor, bytes);
    }

    fn feed_string(&mut self, body: &[u8], terminator: Terminator) {
        let mut whole = Vec::with_capacity(body.len() + 2);
        whole.extend_from_slice(body);
        whole.extend_from_slice(match terminator {
            Terminator::Bell => b"\x07",
            Terminator::Other => b"\x1b\\",
        });
        self.feed(&whole);
    }

    /// What was drawn before.
    fn draw(&mut self, drawing: &[u8]) {
        Cutter::default().cut(drawing, |piece| match piece {
            Piece::Plain(bytes) => self.feed(bytes),
            Piece::Osc(body, terminator) => self.feed_string(body, terminator),
        });
    }
}
