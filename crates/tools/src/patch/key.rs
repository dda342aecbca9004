//! What two lines have in common to be equal, pass by pass.

use std::borrow::Cow;

/// A way to compare lines. A later pass is tried only if an earlier one finds nothing in the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Equal bytes.
    Exact,
    /// Equal except for whitespace at the end.
    TrailingSpace,
    /// Equal except for whitespace at both ends.
    Trimmed,
    /// Besides, typographic punctuation equals its ASCII form, and bytes that are not UTF-8 equal the replacement
    /// character that a model sees for them.
    Punctuation,
}

pub(super) const PASSES: [Pass; 4] = [Pass::Exact, Pass::TrailingSpace, Pass::Trimmed, Pass::Punctuation];

/// Two lines are equal in a pass if their keys are.
pub(super) fn key(pass: Pass, line: &[u8]) -> Cow<'_, [u8]> {
    match pass {
        Pass::Exact => Cow::Borrowed(line),
        Pass::TrailingSpace => Cow::Borrowed(trim_end(line)),
        Pass::Trimmed => Cow::Borrowed(trim(line)),
        Pass::Punctuation => punctuation(line),
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    std::str::from_utf8(line).map_or_else(|_| line.trim_ascii_end(), |text| text.trim_end().as_bytes())
}

fn trim(line: &[u8]) -> &[u8] {
    std::str::from_utf8(line).map_or_else(|_| line.trim_ascii(), |text| text.trim().as_bytes())
}

fn punctuation(line: &[u8]) -> Cow<'_, [u8]> {
    if line.is_ascii() {
        return Cow::Borrowed(line.trim_ascii());
    }
    let text: String = String::from_utf8_lossy(line).chars().filter_map(plain).collect();
    Cow::Owned(text.trim().as_bytes().to_vec())
}

/// The ASCII form of a character, if it has one. A byte order mark has none and is left out.
const fn plain(letter: char) -> Option<char> {
    Some(match letter {
        // Hyphens, dashes and the minus sign.
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        // Single quotation marks.
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        // Double quotation marks.
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        // Spaces of all widths.
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '\u{feff}' => return None,
        other => other,
    })
}
