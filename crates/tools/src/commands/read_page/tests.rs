//! Tests of pages.

use bytes::Bytes;

use super::*;
use crate::commands::matcher::compile;

fn options(max_bytes: usize, pattern: Option<&str>) -> PageOptions {
    let pattern = pattern.map(|pattern| compile("grep", pattern).unwrap());
    PageOptions { max_bytes, pattern, keep_ansi: false, secrets: Arc::default() }
}

/// The events after a place, as a worker sends them.
fn events(pieces: &[&[u8]], after: Seq) -> Vec<Event> {
    let mut offset = 0;
    let all = (1..).zip(pieces).map(|(seq, piece)| {
        let bytes = Bytes::copy_from_slice(piece);
        let kind = EventKind::Output { stream: Stream::Output, offset, bytes };
        offset += piece.len() as u64;
        Event { seq: Seq(seq), at_ms: 0, kind }
    });
    all.filter(|event| event.seq > after).collect()
}

/// Reads everything page by page.
fn read(pieces: &[&[u8]], max_bytes: usize, pattern: Option<&str>) -> (String, usize) {
    let (mut place, mut text, mut pages) = (Place { after: Seq(0), skip: 0 }, String::new(), 0);
    loop {
        let mut page = Page::new(place, options(max_bytes, pattern));
        for event in events(pieces, place.after) {
            if !page.take(&event) {
                break;
            }
        }
        let filled = page.finish(true);
        text.push_str(&filled.text);
        pages += 1;
        assert!(pages < 1000, "no progress at {place:?}");
        if !filled.is_full {
            return (text, pages);
        }
        place = filled.next;
    }
}

#[test]
fn pages_of_any_size_join_to_the_whole_output() {
    let text = "one\ntwo é and ö\n🙂🙂🙂 three\n".repeat(5);
    for step in [1, 2, 3, 7, 100, 1000] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
        for max in [4, 5, 6, 16, 50, 10_000] {
            let (all, pages) = read(&pieces, max, None);
            assert_eq!(all, text, "pieces of {step}, pages of {max}");
            assert!(max > text.len() || pages > 1);
        }
    }
}

#[test]
fn a_page_at_the_end_of_a_running_command_ends_before_an_unfinished_character() {
    let bytes = "aé".as_bytes();
    let mut page = Page::new(Place { after: Seq(0), skip: 0 }, options(100, None));
    page.take(&events(&[&bytes[..2]], Seq(0))[0]);
    let filled = page.finish(false);
    assert_eq!((filled.text.as_str(), filled.next), ("a", Place { after: Seq(0), skip: 1 }));
}

#[test]
fn matching_lines_are_found_over_events_and_pages_and_colours() {
    let text = "\u{1b}[31merror\u{1b}[0m one\nfine\nerror two\nerr\nerror three";
    for step in [1, 5, 1000] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
        for max in [1, 1000] {
            let (found, _) = read(&pieces, max, Some("^error"));
            assert_eq!(found, "error one\nerror two\nerror three\n", "pieces of {step}, pages of {max}");
        }
    }
}

#[test]
fn a_pattern_does_not_find_a_secret() {
    let secrets = Arc::new(Secrets::new([("KEY", "sesame-open")]).unwrap());
    let mut page = Page::new(
        Place { after: Seq(0), skip: 0 },
        PageOptions { secrets, ..options(1000, Some("sesame|key")) },
    );
    page.take(&events(&[b"sesame-open\nthe key sesame-open\n"], Seq(0))[0]);
    let filled = page.finish(true);
    assert_eq!((filled.text.as_str(), filled.lines), ("the key [KEY masked]\n", Some((1, 2))));
}
