//! An estimate of the tokens of a text.

/// The longest word that counts as one token, in letters. Common words of English are one token in the
/// vocabularies of today; longer ones and identifiers are split.
const LETTERS_PER_TOKEN: usize = 8;
/// Vocabularies have all numbers of up to three digits.
const DIGITS_PER_TOKEN: usize = 3;
/// Runs of punctuation that JSON has (`":{"`, `"},`) are mostly one token; two characters each is a cautious
/// average.
const MARKS_PER_TOKEN: usize = 2;

#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Letters,
    Digits,
    Space,
    Marks,
}

/// Estimates the tokens of English text or JSON.
///
/// The text is split as tokenizers split it: words, numbers, punctuation. A space belongs to the word after
/// it. The estimate is meant to be higher than the count of a real tokenizer, never exact.
pub fn estimate_tokens(text: &str) -> usize {
    let mut total = 0;
    let mut run: Option<(Kind, usize)> = None;
    for ch in text.chars() {
        let kind = kind_of(ch);
        match &mut run {
            Some((last, length)) if *last == kind => *length += 1,
            _ => {
                total += run.map_or(0, cost);
                run = Some((kind, 1));
            }
        }
    }
    total + run.map_or(0, cost)
}

fn kind_of(ch: char) -> Kind {
    match ch {
        '0'..='9' => Kind::Digits,
        ' ' => Kind::Space,
        _ if ch.is_alphabetic() => Kind::Letters,
        _ => Kind::Marks,
    }
}

fn cost((kind, length): (Kind, usize)) -> usize {
    match kind {
        Kind::Letters => length.div_ceil(LETTERS_PER_TOKEN),
        Kind::Digits => length.div_ceil(DIGITS_PER_TOKEN),
        Kind::Marks => length.div_ceil(MARKS_PER_TOKEN),
        Kind::Space => length - 1,
    }
}
