//! A terminal emulator: takes a program's output, and provides the screen, the shell's marks and the replies
//! to the program's queries. No I/O.
//!
//! An unused screen sleeps: only the bytes that draw it are kept.

mod archive;
mod colours;
mod handler;
mod marks;
mod model;
mod repair;
mod snapshot;
mod style;
mod tokenizer;

#[cfg(test)]
mod tests;

use std::fmt;

use alacritty_terminal::vte::ansi::Processor;

pub use marks::Mark;

use archive::Archive;
use marks::Marks;
use model::{Model, NoWait};
use snapshot::Drawing;
use tokenizer::{Terminator, Token, Tokenizer};

/// The lines of scrollback that are kept as cells, which a change of the size wraps again at once. Older lines
/// are kept as text.
const GRID_LINES: usize = 100;
/// The maximum text of the scrollback: a snapshot is one message of the worker's contract, of at most 16 MiB.
const MAX_TEXT_BYTES: usize = 8 << 20;
/// Larger terminals are emulated with this size.
const MAX_ROWS: u16 = 300;
const MAX_COLS: u16 = 500;
/// The minimum that the emulator requires.
const MIN_COLS: u16 = 2;

/// The parameters of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The number of rows.
    pub rows: u16,
    /// The number of columns.
    pub cols: u16,
    /// The maximum scrollback, in bytes of text with its colours, and at most 8 MiB. The last 100 lines are
    /// kept in any case.
    pub buffer_bytes: usize,
    /// The secret that a mark must contain. If it is empty, no mark is accepted.
    pub secret: String,
}

/// The result of feeding bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fed {
    /// Replies to the program's queries (cursor position, colours), to be written to its input.
    pub replies: Vec<u8>,
    /// The shell's marks in these bytes.
    pub marks: Vec<Mark>,
}

/// Finds the shell's marks without emulating a screen.
#[derive(Debug)]
pub struct MarkFinder {
    tokenizer: Tokenizer,
    marks: Marks,
}

impl MarkFinder {
    /// Finds marks with this secret.
    pub fn new(secret: &str) -> Self {
        Self { tokenizer: Tokenizer::default(), marks: Marks::new(secret) }
    }

    /// The marks in the next output of the program.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Mark> {
        let Self { tokenizer, marks } = self;
        let mut found = Vec::new();
        tokenizer.cut(bytes, |piece| {
            if let Token::Osc(body, _) = piece {
                found.extend(body.get(2..).and_then(|body| marks.find(body)));
            }
        });
        found
    }
}

/// The screen of a terminal.
pub struct Screen {
    rows: u16,
    cols: u16,
    grid_lines: usize,
    buffer_bytes: usize,
    tokenizer: Tokenizer,
    marks: Marks,
    /// `None` while it sleeps.
    awake: Option<Box<Emulator>>,
    asleep: Asleep,
}

/// The state of a sleeping emulator.
#[derive(Default)]
struct Asleep {
    drawing: Drawing,
    archive: Archive,
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
    /// Creates an empty screen.
    pub fn new(options: &Options) -> Self {
        Self {
            rows: rows(options.rows),
            cols: cols(options.cols),
            grid_lines: GRID_LINES,
            buffer_bytes: options.buffer_bytes.min(MAX_TEXT_BYTES),
            tokenizer: Tokenizer::default(),
            marks: Marks::new(&options.secret),
            awake: None,
            asleep: Asleep::default(),
        }
    }

    /// The number of rows and columns.
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

    /// Processes output of the program.
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        let mut fed = Fed::default();
        self.wake();
        let Screen { tokenizer, marks, awake: Some(emulator), .. } = self else { return fed };
        tokenizer.cut(bytes, |piece| match piece {
            Token::Plain(bytes) => emulator.feed(bytes),
            Token::Osc(body, terminator) => {
                fed.marks.extend(body.get(2..).and_then(|body| marks.find(body)));
                emulator.feed_string(body, terminator);
            }
        });
        fed.replies = emulator.model.replies.take();
        fed
    }

    /// Resizes the terminal.
    pub fn resize(&mut self, new_rows: u16, new_cols: u16) {
        let (new_rows, new_cols) = (rows(new_rows), cols(new_cols));
        if (new_rows, new_cols) == self.size() {
            return;
        }
        self.wake();
        (self.rows, self.cols) = (new_rows, new_cols);
        let Some(emulator) = &mut self.awake else { return };
        emulator.model.resize(new_rows.into(), new_cols.into());
        if !emulator.model.archive.is_empty() {
            // Drawn again, so that archived lines are wrapped for the new size, and as many lines are kept as
            // cells as on any other screen.
            let drawing = snapshot::draw(&mut emulator.model, None);
            let archive = Archive::new(self.buffer_bytes);
            self.awake = Some(Emulator::new(self.rows, self.cols, self.grid_lines, archive, &drawing));
        }
    }

    /// Bytes that draw the screen on an empty terminal of this size, with at most this many lines of
    /// scrollback.
    pub fn snapshot(&mut self, scrollback: Option<usize>) -> Vec<u8> {
        let mut bytes = match (&self.awake, scrollback) {
            (None, None) if self.asleep.drawing.text.is_empty() => b"\x1bc".to_vec(),
            (None, None) => self.asleep.drawing.with(&self.asleep.archive.draw(usize::MAX)),
            _ => snapshot::draw(&mut self.wake().model, scrollback),
        };
        bytes.extend_from_slice(self.tokenizer.held());
        bytes
    }

    /// The text of the lines, without trailing blanks.
    pub fn lines(&mut self) -> Vec<String> {
        snapshot::lines(self.wake().model.grid())
    }

    /// Frees memory until the screen is used again.
    pub fn sleep(&mut self) {
        if let Some(mut emulator) = self.awake.take() {
            let wrapped = emulator.model.archive.ends_wrapped();
            self.asleep.drawing = snapshot::draw_grid(&mut emulator.model, usize::MAX, wrapped);
            self.asleep.drawing.text.shrink_to_fit();
            self.asleep.archive = emulator.model.archive;
            self.asleep.archive.shrink();
            self.asleep.title = emulator.model.title.map(String::into_boxed_str);
        }
    }

    /// Whether the emulator is in memory.
    pub const fn is_awake(&self) -> bool {
        self.awake.is_some()
    }

    fn wake(&mut self) -> &mut Emulator {
        self.awake.get_or_insert_with(|| {
            let Asleep { drawing, archive, .. } = std::mem::take(&mut self.asleep);
            let new = Archive::new(self.buffer_bytes);
            let drawing = drawing.text.as_bytes();
            let mut emulator = Emulator::new(self.rows, self.cols, self.grid_lines, new, drawing);
            if !archive.is_empty() {
                emulator.model.archive = archive;
            }
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

impl Emulator {
    /// An emulator that shows this drawing.
    fn new(rows: u16, cols: u16, history: usize, archive: Archive, drawing: &[u8]) -> Box<Self> {
        let model = Model::new(rows.into(), cols.into(), history, archive);
        let mut emulator = Box::new(Self { model, processor: Processor::new() });
        emulator.draw(drawing);
        emulator
    }

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

    /// Restores what was drawn before.
    fn draw(&mut self, drawing: &[u8]) {
        Tokenizer::default().cut(drawing, |piece| match piece {
            Token::Plain(bytes) => self.feed(bytes),
            Token::Osc(body, terminator) => self.feed_string(body, terminator),
        });
    }
}
