//! Finds a sequence of lines in a file, in four passes. Each takes a time that grows with the sum of the two
//! lengths, whatever the lines are.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::key::{PASSES, Pass, key};
use super::lines::Line;

type Key<'a> = Cow<'a, [u8]>;

/// The lines of a file, prepared for searches.
pub(super) struct Haystack<'a> {
    lines: &'a [Line<'a>],
    /// The keys of all lines, for each pass that was needed.
    keys: [OnceCell<Vec<Key<'a>>>; PASSES.len()],
}

impl<'a> Haystack<'a> {
    pub(super) fn new(lines: &'a [Line<'a>]) -> Self {
        Self { lines, keys: Default::default() }
    }

    pub(super) const fn lines(&self) -> &'a [Line<'a>] {
        self.lines
    }

    /// The first place at or after `from`, in the first pass that finds one. With `near`, the place that is
    /// nearest to that line.
    pub(super) fn find(&self, needle: &[&[u8]], from: usize, near: Option<usize>) -> Option<usize> {
        PASSES.into_iter().find_map(|pass| {
            let needle = keys(pass, needle);
            let mut places = Places::new(self.keys(pass), &needle, from);
            match near {
                None => places.next(),
                Some(near) => places.min_by_key(|place| place.abs_diff(near)),
            }
        })
    }

    /// Whether the lines are at this place, in any pass.
    pub(super) fn is_at(&self, needle: &[&[u8]], place: usize) -> bool {
        PASSES.into_iter().any(|pass| {
            let there = self.keys(pass).get(place..).and_then(|rest| rest.get(..needle.len()));
            there.is_some_and(|there| there.iter().zip(needle).all(|(there, line)| *there == key(pass, line)))
        })
    }

    /// The number of lines that agree from this place on.
    pub(super) fn agreeing(&self, needle: &[&[u8]], place: usize) -> usize {
        let there = self.keys(Pass::Punctuation).get(place..).unwrap_or_default();
        let pairs = there.iter().zip(needle);
        pairs.take_while(|(there, line)| **there == key(Pass::Punctuation, line)).count()
    }

    fn keys(&self, pass: Pass) -> &[Key<'a>] {
        self.keys[pass as usize].get_or_init(|| self.lines.iter().map(|line| key(pass, line.text)).collect())
    }
}

fn keys<'n>(pass: Pass, needle: &[&'n [u8]]) -> Vec<Key<'n>> {
    needle.iter().map(|line| key(pass, line)).collect()
}

/// All places of a needle, by the algorithm of Knuth, Morris and Pratt.
struct Places<'h, 'n> {
    hay: &'h [Key<'h>],
    needle: &'n [Key<'n>],
    /// For each prefix of the needle, the length of its longest proper prefix that is also its end.
    borders: Vec<usize>,
    at: usize,
    agreed: usize,
}

impl<'h, 'n> Places<'h, 'n> {
    fn new(hay: &'h [Key<'h>], needle: &'n [Key<'n>], from: usize) -> Self {
        let mut borders = vec![0; needle.len()];
        let mut border = 0;
        for at in 1..needle.len() {
            while border > 0 && needle[at] != needle[border] {
                border = borders[border - 1];
            }
            border += usize::from(needle[at] == needle[border]);
            borders[at] = border;
        }
        Self { hay, needle, borders, at: from, agreed: 0 }
    }
}

impl Iterator for Places<'_, '_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.needle.is_empty() {
            return None;
        }
        while let Some(line) = self.hay.get(self.at) {
            while self.agreed > 0 && *line != self.needle[self.agreed] {
                self.agreed = self.borders[self.agreed - 1];
            }
            self.agreed += usize::from(*line == self.needle[self.agreed]);
            self.at += 1;
            if self.agreed == self.needle.len() {
                self.agreed = self.borders[self.agreed - 1];
                return Some(self.at - self.needle.len());
            }
        }
        None
    }
}
