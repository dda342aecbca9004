//! The block of code around a line, by its indentation.
//!
//! A line is the header of a block if the next line that is not blank is indented deeper. A block ends before the next
//! line that is indented as its header or less; a line that only closes it (`}`, `)`, `end`) belongs to it.

use crate::schema::Indentation;

/// The columns of a tab.
const TAB_COLUMNS: usize = 4;
/// The beginnings of comments and attributes, which belong to the line below them.
const HEADER_MARKS: [&str; 8] = ["#", "//", "/*", "*", "--", "@", ";", "\"\"\""];
/// Lines that only close a block begin with one of these.
const CLOSERS: [&str; 6] = ["}", ")", "]", "end", "fi", "done"];

/// The first and the last line of a block, counted from 0; the last one is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The block around a line, which exists.
pub(super) fn block(lines: &[&str], anchor: usize, options: &Indentation, limit: usize) -> Block {
    let code = Code { indents: lines.iter().map(|line| indent(line)).collect(), lines };
    let anchor = code.near(anchor);
    let header = code.header(anchor, options.max_levels);
    let mut block = Block { first: header, last: code.end(header).max(anchor) };
    if options.include_siblings {
        block = code.with_siblings(block, header);
    }
    if options.include_header {
        block.first = code.with_comments(block.first);
    }
    shorten(code.without_blank_ends(block), anchor, limit)
}

/// The indentation in columns; `None` for a blank line.
fn indent(line: &str) -> Option<usize> {
    let mut columns = 0;
    for letter in line.chars() {
        match letter {
            '\t' => columns += TAB_COLUMNS - columns % TAB_COLUMNS,
            letter if letter.is_whitespace() => columns += 1,
            _ => return Some(columns),
        }
    }
    None
}

struct Code<'a> {
    lines: &'a [&'a str],
    indents: Vec<Option<usize>>,
}

impl Code<'_> {
    fn indent(&self, line: usize) -> Option<usize> {
        self.indents.get(line).copied().flatten()
    }

    /// The line itself or, if it is blank, the next one above that is not.
    fn near(&self, line: usize) -> usize {
        (0..=line).rev().find(|line| self.indent(*line).is_some()).unwrap_or(line)
    }

    /// The header of the block that is `levels` levels further out than the line; 0: the outermost one.
    fn header(&self, line: usize, levels: u32) -> usize {
        let mut header = line;
        let mut left = if levels == 0 { u32::MAX } else { levels };
        // A line with a block of its own is its first level.
        if self.opens(line) && levels > 0 {
            left -= 1;
        }
        while left > 0 {
            let Some(columns) = self.indent(header).filter(|columns| *columns > 0) else { break };
            let above = (0..header).rev().find(|line| self.indent(*line).is_some_and(|at| at < columns));
            let Some(above) = above else { break };
            header = above;
            left -= 1;
        }
        header
    }

    fn opens(&self, line: usize) -> bool {
        let inner = self.indents.iter().skip(line + 1).flatten().next();
        inner.is_some_and(|inner| self.indent(line).is_some_and(|columns| *inner > columns))
    }

    /// The last line of the block of a header.
    fn end(&self, header: usize) -> usize {
        let Some(columns) = self.indent(header) else { return header };
        let mut last = header;
        for line in header + 1..self.lines.len() {
            match self.indent(line) {
                None => {}
                Some(at) if at > columns => last = line,
                Some(at) if at == columns && self.closes(line) => {
                    last = line;
                    if !self.opens(line) {
                        break;
                    }
                }
                Some(_) => break,
            }
        }
        last
    }

    fn closes(&self, line: usize) -> bool {
        let text = self.lines.get(line).map_or("", |line| line.trim_start());
        CLOSERS.iter().any(|closer| {
            text.strip_prefix(closer).is_some_and(|rest| {
                !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            })
        })
    }

    /// Everything in the block that contains this one.
    fn with_siblings(&self, block: Block, header: usize) -> Block {
        let columns = self.indent(header).unwrap_or(0);
        let is_outside = |line: &usize| self.indent(*line).is_some_and(|at| at < columns);
        let first = (0..block.first).rev().find(is_outside).map_or(0, |line| line + 1);
        let last = (block.last + 1..self.lines.len()).find(is_outside);
        Block { first, last: last.map_or(self.lines.len() - 1, |line| line - 1) }
    }

    /// The first of the comments and attributes directly above a line.
    fn with_comments(&self, first: usize) -> usize {
        let columns = self.indent(first);
        let is_comment = |line: usize| {
            let text = self.lines.get(line).map_or("", |line| line.trim_start());
            self.indent(line).is_some()
                && self.indent(line) >= columns
                && HEADER_MARKS.iter().any(|mark| text.starts_with(mark))
        };
        let mut top = first;
        while top > 0 && is_comment(top - 1) {
            top -= 1;
        }
        top
    }

    fn without_blank_ends(&self, block: Block) -> Block {
        let is_text = |line: &usize| self.indent(*line).is_some();
        let first = (block.first..=block.last).find(is_text).unwrap_or(block.first);
        let last = (block.first..=block.last).rev().find(is_text).unwrap_or(block.last);
        Block { first, last }
    }
}

/// At most `limit` lines of a block, around the anchor: as many above it as below it.
fn shorten(block: Block, anchor: usize, limit: usize) -> Block {
    if block.last - block.first < limit {
        return block;
    }
    let limit = limit.max(1);
    let half = (limit - 1) / 2;
    let first = anchor.saturating_sub(half).max(block.first);
    let last = (first + limit - 1).min(block.last);
    Block { first: (last + 1).saturating_sub(limit).max(block.first), last }
}
