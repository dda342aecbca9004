//! Properties of any output.

use proptest::prelude::*;

use super::*;

/// Bytes as programs print them: text, control sequences, invalid bytes.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[a-z \u{e9}\u{4e2d}\u{1f600}]{0,12}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        2 => "\x1b\\[[0-9]{0,3}(;[0-9]{1,3})?[A-HJKPXsumf]".prop_map(String::into_bytes),
        1 => "\x1b[78Mc]".prop_map(String::into_bytes),
        1 => "\x1b\\][a-z;]{0,9}\x07".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Splits bytes at any places.
fn split(bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..12)
}

proptest! {
    #[test]
    fn the_pieces_of_an_output_do_not_matter(
        bytes in output(), cuts in cuts(), budget in 0_u64..300, keep_ansi in any::<bool>(),
    ) {
        let options = Options { budget: Budget::bytes(budget), keep_ansi, ..Options::default() };
        let pieces = split(&bytes, &cuts);
        let mut output = Output::new(&options);
        for piece in &pieces {
            output.push(Stream::Output, Seq(1), piece);
        }
        prop_assert_eq!(output.finish(End::Closed).0, render(&options, &[&bytes]));
    }

    #[test]
    fn head_and_tail_are_the_ends_of_the_whole_text_and_the_counts_are_exact(
        bytes in output(), budget in 0_u64..300,
    ) {
        let whole = render(&roomy(), &[&bytes]).text();
        let cut = render(&Options { budget: Budget::bytes(budget), ..Options::default() }, &[&bytes]);
        let shown = cut.head.len() + cut.tail.len();
        prop_assert!(whole.starts_with(&cut.head) && whole.ends_with(&cut.tail));
        prop_assert!(shown as u64 <= budget);
        prop_assert_eq!(cut.total.bytes, whole.len() as u64);
        prop_assert_eq!(cut.total.lines, whole.lines().count() as u64);
        let middle = &whole[cut.head.len()..whole.len() - cut.tail.len()];
        let left_out = cut.left_out.map(|left_out| left_out.size).unwrap_or_default();
        prop_assert_eq!(left_out.bytes, middle.len() as u64);
        prop_assert_eq!(left_out.lines, middle.matches('\n').count() as u64);
        prop_assert_eq!(cut.left_out.is_some(), whole.len() as u64 > budget);
    }

    #[test]
    fn ordinary_text_is_unchanged_and_its_positions_are_those_of_its_bytes(
        text in "[a-z\u{e9}\u{4e2d}\n\t ]{0,200}", budget in 0_u64..100,
    ) {
        prop_assert_eq!(&clean(&text), &text);
        let cut = render(&Options { budget: Budget::bytes(budget), ..Options::default() }, &[text.as_bytes()]);
        if let Some(left_out) = cut.left_out {
            prop_assert_eq!(left_out.from.offset, cut.head.len() as u64);
            prop_assert!(left_out.to.offset < (text.len() - cut.tail.len()) as u64);
        }
    }

    #[test]
    fn an_output_read_in_polls_has_the_same_text_if_nothing_is_drawn_again(
        text in "[a-z\u{e9}\u{4e2d}\u{1f600}\n]{0,100}", cuts in cuts(),
    ) {
        let mut carry = Carry::default();
        let mut all = String::new();
        for piece in split(text.as_bytes(), &cuts) {
            let mut output = Output::resume(&roomy(), carry);
            output.push(Stream::Stdout, Seq(1), &piece);
            let (rendered, next) = output.finish(End::Open);
            all.push_str(&rendered.text());
            carry = next;
        }
        prop_assert_eq!(all, text);
    }

    #[test]
    fn no_secret_is_ever_shown(
        bytes in output(), secret in "[a-z0-9]{4,40}", at in any::<prop::sample::Index>(), cuts in cuts(),
        budget in 0_u64..9000, filler in 0_usize..9000,
    ) {
        let secrets = Secrets::new([("S", secret.as_str())]).unwrap();
        let options = Options { budget: Budget::bytes(budget), secrets: Arc::new(secrets), ..Options::default() };
        let mut all = "~".repeat(filler).into_bytes();
        let place = at.index(all.len() + 1);
        all.splice(place..place, secret.bytes());
        all.extend(bytes);
        let pieces = split(&all, &cuts);
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let rendered = render(&options, &pieces);
        // The mark's own words are not a leak.
        prop_assume!(!"[S masked]".contains(&secret));
        prop_assert!(!rendered.head.contains(&secret) && !rendered.tail.contains(&secret));
    }
}
