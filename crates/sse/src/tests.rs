//! Compares the parser with a simple implementation, for any text and any chunks.

use proptest::prelude::*;

use super::*;

const MAX_BYTES: usize = 4 << 20;

fn parse(chunks: impl IntoIterator<Item = Bytes>) -> Vec<(String, String)> {
    let mut parser = Parser::new(MAX_BYTES);
    let mut all = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        while let Some(message) = parser.next().unwrap() {
            let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
            all.push((text(message.event), text(message.data)));
        }
    }
    all
}

/// The standard, line by line, without regard for speed.
fn reference(text: &str) -> Vec<(String, String)> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let (mut all, mut event, mut data) = (Vec::new(), String::new(), Vec::new());
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    if text.contains('\n') {
        for line in whole.split('\n') {
            if line.is_empty() {
                let (event, data) = (std::mem::take(&mut event), std::mem::take(&mut data));
                if !data.is_empty() {
                    all.push((event, data.join("\n")));
                }
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "data" => data.push(value.to_owned()),
                "event" => value.clone_into(&mut event),
                _ => {}
            }
        }
    }
    all
}

fn cut(text: &str, cuts: &[usize]) -> Vec<Bytes> {
    let (mut rest, mut chunks, mut cuts) = (Bytes::copy_from_slice(text.as_bytes()), Vec::new(), cuts.iter());
    while !rest.is_empty() {
        let length = cuts.next().copied().unwrap_or(rest.len()).min(rest.len());
        chunks.push(rest.split_to(length));
    }
    chunks
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("data"),
        Just("event"),
        Just("id"),
        Just("retry"),
        Just(":"),
        Just(": "),
        Just(" "),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\n\n"),
        Just("x"),
        Just("data: {\"a\":1}\n"),
        Just("event: stdout\n"),
        Just(": hb\n"),
        Just("\u{FEFF}"),
        Just("ü"),
        Just("data\n"),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_in_any_cutting_reads_as_the_standard_says(
        text in pieces(),
        cuts in proptest::collection::vec(0usize..9, 0..80),
    ) {
        prop_assert_eq!(parse(cut(&text, &cuts)), reference(&text));
    }

    #[test]
    fn no_bytes_at_all_make_it_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20)) {
        let mut parser = Parser::new(MAX_BYTES);
        for chunk in chunks {
            parser.push(chunk.into());
            while parser.next().unwrap().is_some() {}
        }
    }
}

#[test]
fn the_forms_of_an_event_are_all_understood() {
    let text = "\u{FEFF}: hello\nid: 1\nevent: stdout\ndata: {\"a\"}\n\nevent:gap\rdata:a\rdata:  b\r\r: hb\r\ndata\r\n\r\n";
    let expected = [("stdout", "{\"a\"}"), ("gap", "a\n b"), ("", "")];
    let expected: Vec<_> =
        expected.into_iter().map(|(event, data)| (event.to_owned(), data.to_owned())).collect();
    assert_eq!(parse([Bytes::from_static(text.as_bytes())]), expected);
    let bytes = (0..text.len()).map(|at| Bytes::copy_from_slice(&text.as_bytes()[at..=at]));
    assert_eq!(parse(bytes), expected);
}

#[test]
fn data_that_lies_in_one_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"event: stdout\ndata: 0123456789\n\n");
    let at = chunk.as_ptr();
    let mut parser = Parser::new(MAX_BYTES);
    parser.push(chunk);
    let data = parser.next().unwrap().unwrap().data;
    assert_eq!(data.as_ptr(), at.wrapping_add("event: stdout\ndata: ".len()));
}

#[test]
fn an_event_without_an_end_is_refused_and_not_kept_for_ever() {
    let mut parser = Parser::new(MAX_BYTES);
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    let refused = (0..10).find_map(|_| {
        parser.push(chunk.clone());
        parser.next().err()
    });
    assert_eq!(refused, Some(TooLong { max_bytes: MAX_BYTES }));
}
