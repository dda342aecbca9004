//! A turn as a list of pieces, in the order in which they are sent.

use crate::script::{Call, Search, Turn};

const HOLD: &str = "{{hold}}";
/// Becomes the time at which it is sent, in milliseconds since 1970.
pub(crate) const NOW_MS: &str = "{{now_ms}}";
/// The same in microseconds.
pub(crate) const NOW_US: &str = "{{now_us}}";

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Reasoning,
    Text,
    /// A search of the provider.
    Search(Search),
    /// A tool call; without an id none is sent.
    Call {
        id: Option<String>,
        name: String,
    },
}

/// What is sent next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Open(Part),
    Delta(String),
    Close,
    /// Wait for a release.
    Hold,
}

/// The pieces of a turn. `new_id` makes up ids of calls.
pub(crate) fn pieces(turn: &Turn, mut new_id: impl FnMut() -> String) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if turn.hold {
        pieces.push(Piece::Hold);
    }
    if !turn.reasoning.is_empty() {
        add(&mut pieces, Part::Reasoning, &turn.reasoning, turn.delta_chars);
    }
    for search in &turn.searches {
        pieces.extend([Piece::Open(Part::Search(search.clone())), Piece::Close]);
    }
    if !turn.text.is_empty() {
        add(&mut pieces, Part::Text, &turn.text, turn.delta_chars);
    }
    for call in &turn.tool_calls {
        let id = Some(call.id.clone().unwrap_or_else(&mut new_id)).filter(|id| !id.is_empty());
        add(&mut pieces, Part::Call { id, name: call.name.clone() }, &arguments(call), turn.delta_chars);
    }
    pieces
}

fn arguments(call: &Call) -> String {
    match &call.arguments {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "{}".to_owned(),
        arguments => arguments.to_string(),
    }
}

fn add(pieces: &mut Vec<Piece>, part: Part, text: &str, delta_chars: Option<usize>) {
    pieces.push(Piece::Open(part));
    for (number, text) in text.split(HOLD).enumerate() {
        if number > 0 {
            pieces.push(Piece::Hold);
        }
        pieces.extend(deltas(text, delta_chars).into_iter().map(Piece::Delta));
    }
    pieces.push(Piece::Close);
}

/// Words with the space after them, or pieces of a number of characters. A placeholder stays in one piece.
fn deltas(text: &str, delta_chars: Option<usize>) -> Vec<String> {
    let mut deltas = Vec::new();
    let mut rest = text;
    while let Some((at, placeholder)) = next_placeholder(rest) {
        cut(&mut deltas, &rest[..at], delta_chars);
        deltas.push(placeholder.to_owned());
        rest = &rest[at + placeholder.len()..];
    }
    cut(&mut deltas, rest, delta_chars);
    deltas
}

fn next_placeholder(text: &str) -> Option<(usize, &'static str)> {
    [NOW_MS, NOW_US].into_iter().filter_map(|name| Some((text.find(name)?, name))).min()
}

fn cut(deltas: &mut Vec<String>, text: &str, delta_chars: Option<usize>) {
    match delta_chars {
        None => deltas.extend(text.split_inclusive(char::is_whitespace).map(str::to_owned)),
        Some(length) => {
            let chars: Vec<char> = text.chars().collect();
            deltas.extend(chars.chunks(length.max(1)).map(|chars| chars.iter().collect::<String>()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_cut_at_words_and_waits_where_it_says() {
        let turn = Turn { text: "one two{{hold}}{{now_ms}} {{now_us}}x".into(), ..Turn::default() };
        let delta = |text: &str| Piece::Delta(text.into());
        let expected = [
            Piece::Open(Part::Text),
            delta("one "),
            delta("two"),
            Piece::Hold,
            delta("{{now_ms}}"),
            delta(" "),
            delta("{{now_us}}"),
            delta("x"),
            Piece::Close,
        ];
        assert_eq!(pieces(&turn, String::new), expected);
    }

    #[test]
    fn calls_get_ids_unless_they_shall_have_none() {
        let call =
            |id: Option<&str>| Call { id: id.map(str::to_owned), name: "x".into(), arguments: "{".into() };
        let turn = Turn { tool_calls: vec![call(None), call(Some("")), call(Some("b"))], ..Turn::default() };
        let ids: Vec<_> = pieces(&turn, || "made".into())
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Open(Part::Call { id, .. }) => Some(id),
                _ => None,
            })
            .collect();
        assert_eq!(ids, [Some("made".to_owned()), None, Some("b".to_owned())]);
    }
}
