//! `<think>` tags: small local models write their reasoning at the beginning of the text, between these.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Text, or reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but space has come.
    #[default]
    Start,
    /// Between the tags.
    Inside,
    /// After them, before the text.
    After,
    /// In the text.
    Outside,
}

/// Separates reasoning from text.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    state: State,
    /// Text that may be the beginning of a tag.
    held: String,
}

impl ThinkTags {
    /// Adds text; calls `found` for what is certain.
    pub(super) fn push(&mut self, text: &str, mut found: impl FnMut(Kind, &str)) {
        if self.state == State::Outside {
            return found(Kind::Text, text);
        }
        self.held.push_str(text);
        while self.step(&mut found) {}
    }

    /// Takes one step; returns whether another may follow.
    fn step(&mut self, found: &mut impl FnMut(Kind, &str)) -> bool {
        match self.state {
            State::Start => {
                let begun = self.held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPEN) {
                    (self.state, self.held) = (State::Inside, rest.to_owned());
                    return true;
                }
                if OPEN.starts_with(begun) {
                    return false;
                }
                self.state = State::Outside;
                true
            }
            State::Inside => {
                let end = self.held.find(CLOSE);
                let certain = end.unwrap_or_else(|| self.held.len() - beginning_of_close(&self.held));
                if certain > 0 {
                    found(Kind::Reasoning, &self.held[..certain]);
                }
                self.held.drain(..end.map_or(certain, |end| end + CLOSE.len()));
                if end.is_some() {
                    self.state = State::After;
                }
                end.is_some()
            }
            State::After => {
                self.held = self.held.trim_start().to_owned();
                if self.held.is_empty() {
                    return false;
                }
                self.state = State::Outside;
                true
            }
            State::Outside => {
                let held = std::mem::take(&mut self.held);
                if !held.is_empty() {
                    found(Kind::Text, &held);
                }
                false
            }
        }
    }

    /// Something else follows, or nothing: what is held is no tag.
    pub(super) fn flush(&mut self, mut found: impl FnMut(Kind, &str)) {
        let held = std::mem::take(&mut self.held);
        let kind = if self.state == State::Inside { Kind::Reasoning } else { Kind::Text };
        self.state = State::Outside;
        if kind == Kind::Reasoning && !held.is_empty() || !held.trim().is_empty() {
            found(kind, &held);
        }
    }
}

/// The length of the end of a text that may be the beginning of the closing tag.
fn beginning_of_close(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|length| text.ends_with(&CLOSE[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> (String, String) {
        let (mut tags, mut reasoning, mut text) = (ThinkTags::default(), String::new(), String::new());
        let mut found = |kind: Kind, more: &str| match kind {
            Kind::Reasoning => reasoning.push_str(more),
            Kind::Text => text.push_str(more),
        };
        for piece in pieces {
            tags.push(piece, &mut found);
        }
        tags.flush(&mut found);
        (reasoning, text)
    }

    #[test]
    fn reasoning_between_tags_is_separated_wherever_the_text_is_cut() {
        for (whole, reasoning, text) in [
            ("<think>a < b</think>\n\nyes", "a < b", "yes"),
            ("\n<think></think>yes", "", "yes"),
            ("no tag: <think>x</think>", "", "no tag: <think>x</think>"),
            ("<thin air", "", "<thin air"),
            ("<think>never </thi", "never </thi", ""),
            ("  ", "", ""),
        ] {
            let expected = (reasoning.to_owned(), text.to_owned());
            assert_eq!(read(&[whole]), expected);
            let chars: Vec<String> = whole.chars().map(String::from).collect();
            assert_eq!(read(&chars.iter().map(String::as_str).collect::<Vec<_>>()), expected);
            for cut in 0..whole.len() {
                assert_eq!(read(&[&whole[..cut], &whole[cut..]]), expected);
            }
        }
    }
}
