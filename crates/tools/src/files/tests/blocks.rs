//! Blocks by indentation.

use crate::files::indentation::block;
use crate::schema::Indentation;

const PYTHON: &str = "\
import os

# What it does.
@decorated
class First:
    def one(self):
        if self.x:
            return 1

        return 2

    # About two.
    def two(self):
        return 3


class Second:
    def three(self):
        return 4
";

const RUST: &str = "\
/// Adds.
fn add(a: i32) -> i32 {
    if a > 1 {
        a + 1
    } else {
        a
    }
}

fn other() {
\tlet x = 1;
}
";

/// The lines of the block around a line, from 1.
fn lines(text: &str, anchor: usize, options: &Indentation, limit: usize) -> (usize, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let found = block(&lines, anchor - 1, options, limit);
    (found.first + 1, found.last + 1)
}

fn levels(max_levels: u32) -> Indentation {
    Indentation { max_levels, ..Indentation::default() }
}

#[test]
fn all_levels_reach_the_outermost_block_with_what_is_written_above_it() {
    assert_eq!(lines(PYTHON, 8, &levels(0), 100), (3, 14));
    assert_eq!(lines(PYTHON, 19, &levels(0), 100), (17, 19));
    assert_eq!(lines(RUST, 4, &levels(0), 100), (1, 8));
    assert_eq!(lines(RUST, 11, &levels(0), 100), (10, 12));
}

#[test]
fn a_number_of_levels_reaches_as_far() {
    assert_eq!(lines(PYTHON, 8, &levels(1), 100), (7, 8));
    assert_eq!(lines(PYTHON, 8, &levels(2), 100), (6, 10));
    assert_eq!(lines(PYTHON, 14, &levels(1), 100), (12, 14), "with its comment");
    assert_eq!(lines(PYTHON, 7, &levels(1), 100), (7, 8), "a header is in its own block");
    assert_eq!(lines(RUST, 4, &levels(1), 100), (3, 7), "with its else");
}

#[test]
fn siblings_and_comments_can_be_chosen() {
    let siblings = Indentation { include_siblings: true, ..levels(2) };
    assert_eq!(lines(PYTHON, 8, &siblings, 100), (6, 14));
    let bare = Indentation { include_header: false, ..levels(0) };
    assert_eq!(lines(PYTHON, 8, &bare, 100), (5, 14));
}

#[test]
fn a_block_that_is_too_long_is_shortened_around_the_anchor() {
    let body: String = "    line\n".repeat(100);
    let text = format!("def f():\n{body}");
    assert_eq!(lines(&text, 50, &levels(0), 11), (45, 55));
    assert_eq!(lines(&text, 2, &levels(0), 10), (1, 10));
    assert_eq!(lines(&text, 101, &levels(0), 10), (92, 101));
    assert_eq!(lines(&text, 101, &levels(0), 1), (101, 101));
}

#[test]
fn odd_files_have_blocks_too() {
    assert_eq!(lines("", 1, &levels(0), 10).0, 1);
    assert_eq!(lines("\n\n\n", 2, &levels(0), 10), (2, 2));
    assert_eq!(lines("a\nb\nc\n", 2, &levels(0), 10), (2, 2));
    assert_eq!(lines("    a\n    b\n", 2, &levels(3), 10), (2, 2));
    assert_eq!(
        lines("if x:\n    a\n\n\n", 4, &levels(0), 10),
        (1, 2),
        "a blank line belongs to the block above"
    );
}
