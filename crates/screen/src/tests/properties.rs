//! A snapshot is exact for any output, before and after it.

use proptest::prelude::*;

use super::generate::{Act, acts};
use super::view::view;
use super::*;

/// The first line that differs.
fn difference(left: &mut Screen, right: &mut Screen) -> Option<(String, String)> {
    let (left, right) = (view(left), view(right));
    let mut lines = left.lines().zip(right.lines()).filter(|(left, right)| left != right);
    let plain =
        [("Named(Foreground)/Named(Background)/", "-"), ("Flags(0x0)/None/None", "-"), ("/None/None", "")];
    let short =
        |text: &str| plain.iter().fold(text.to_owned(), |text, (long, short)| text.replace(long, short));
    let first = lines.next().map(|(left, right)| (short(left), short(right)));
    first.or_else(|| (left != right).then_some((left, right)))
}

fn play(screen: &mut Screen, acts: &[Act]) -> Vec<Fed> {
    let mut all = Vec::new();
    for act in acts {
        match act {
            Act::Print(text) => all.push(screen.feed(text.as_bytes())),
            Act::Raw(bytes) => all.push(screen.feed(bytes)),
            Act::Resize(rows, cols) => screen.resize(*rows, *cols),
            Act::Sleep => screen.sleep(),
        }
    }
    all
}

proptest! {
    #![proptest_config(cases())]


    #[test]
    fn a_snapshot_draws_what_was_there_and_all_goes_on_the_same(
        rows in 1..8_u16, cols in 2..20_u16, before in acts(40), after in acts(25),
    ) {
        let mut screen = screen(rows, cols);
        play(&mut screen, &before);
        let mut drawn = drawn(&mut screen);
        prop_assert_eq!(difference(&mut screen, &mut drawn), None);
        let fed = play(&mut screen, &after);
        prop_assert_eq!(fed, play(&mut drawn, &after));
        prop_assert_eq!(difference(&mut screen, &mut drawn), None);
    }

    #[test]
    fn scrollback_that_is_kept_as_text_is_drawn_as_if_it_were_cells(
        rows in 1..8_u16, cols in 2..20_u16, lines in 0..4_usize, before in acts(60), after in acts(40),
    ) {
        let mut screen = archiving(rows, cols, lines);
        play(&mut screen, &before);
        let mut drawn = drawn(&mut screen);
        prop_assert_eq!(difference(&mut screen, &mut drawn), None);
        play(&mut screen, &after);
        play(&mut drawn, &after);
        prop_assert_eq!(difference(&mut screen, &mut drawn), None);
    }

    #[test]
    fn where_the_bytes_are_cut_makes_no_difference(acts in acts(30), cuts in prop::collection::vec(1..9_usize, 1..20)) {
        let bytes: Vec<u8> = acts.iter().flat_map(|act| match act {
            // The character to repeat is not restored where the cursor is about to wrap after another one.
            Act::Print(text) if text.ends_with('b') && text.contains('\x1b') => Vec::new(),
            Act::Print(text) => text.clone().into_bytes(),
            Act::Raw(bytes) => bytes.clone(),
            _ => Vec::new(),
        }).collect();
        let (mut whole, mut pieces) = (screen(6, 12), screen(6, 12));
        let at_once = whole.feed(&bytes);
        let mut rest = &bytes[..];
        let mut replies = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            replies.extend(pieces.feed(piece).replies);
            // Also in the middle of a sequence.
            pieces = drawn(&mut pieces);
            rest = after;
        }
        prop_assert_eq!(difference(&mut whole, &mut pieces), None);
        prop_assert_eq!(at_once.replies, replies);
    }
}
