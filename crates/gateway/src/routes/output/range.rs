//! Conditional and range requests: `Range`, `If-Range`, `If-None-Match` (RFC 9110).

use axum::http::{HeaderMap, HeaderName, Method, header};

/// The requested part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// No range, or none that is valid, was requested.
    Whole,
    /// From the first byte up to, but not including, the second.
    Range(u64, u64),
    /// A range without bytes.
    Nothing,
}

/// The part of `length` bytes that a request asks for. Multiple ranges and invalid ones are ignored, as the
/// RFC allows and requires.
pub(crate) fn part(method: &Method, headers: &HeaderMap, etag: &str, length: u64) -> Part {
    let Some(range) = text(headers, header::RANGE).filter(|_| *method == Method::GET) else {
        return Part::Whole;
    };
    // A part of another version would be worse than the whole.
    if text(headers, header::IF_RANGE).is_some_and(|condition| condition.trim() != etag) {
        return Part::Whole;
    }
    parse(range, length).unwrap_or(Part::Whole)
}

fn parse(range: &str, length: u64) -> Option<Part> {
    let (unit, range) = range.split_once('=')?;
    let (first, last) = range.trim().split_once('-').filter(|_| unit.trim().eq_ignore_ascii_case("bytes"))?;
    let (first, last) = (first.trim_end(), last.trim_start());
    if first.is_empty() {
        let count = number(last)?.min(length);
        return Some(if count == 0 { Part::Nothing } else { Part::Range(length - count, length) });
    }
    let first = number(first)?;
    let end = if last.is_empty() { length } else { number(last)?.saturating_add(1) };
    if end <= first && !last.is_empty() {
        return None; // the range ends before it begins
    }
    Some(if first < length { Part::Range(first, end.min(length)) } else { Part::Nothing })
}

/// Digits only; numbers that do not fit count as the largest one.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// Whether the client already has this version.
pub(crate) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ETAG: &str = "\"here\"";

    fn headers_of(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    fn of_ten(range: &str) -> Part {
        part(&Method::GET, &headers_of(&[(header::RANGE, range)]), ETAG, 10)
    }

    #[test]
    fn a_single_range_is_cut_to_the_available_bytes() {
        for (range, expected) in [
            ("bytes=0-0", Part::Range(0, 1)),
            ("bytes=2-5", Part::Range(2, 6)),
            ("bytes=2-", Part::Range(2, 10)),
            ("bytes=2-99999999999999999999999", Part::Range(2, 10)),
            ("bytes=-3", Part::Range(7, 10)),
            ("bytes=-99", Part::Range(0, 10)),
            ("BYTES = 9 - 9", Part::Range(9, 10)),
            ("bytes=10-", Part::Nothing),
            ("bytes=99-100", Part::Nothing),
            ("bytes=-0", Part::Nothing),
        ] {
            assert_eq!(of_ten(range), expected, "{range}");
        }
        assert_eq!(part(&Method::GET, &headers_of(&[(header::RANGE, "bytes=0-")]), ETAG, 0), Part::Nothing);
    }

    #[test]
    fn a_header_that_is_not_a_single_byte_range_is_ignored() {
        for range in
            ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=0-1,4-5", "lines=1-2"]
        {
            assert_eq!(of_ten(range), Part::Whole, "{range}");
        }
        let headers = headers_of(&[(header::RANGE, "bytes=0-0")]);
        assert_eq!(part(&Method::HEAD, &headers, ETAG, 10), Part::Whole);
        assert_eq!(part(&Method::GET, &HeaderMap::new(), ETAG, 10), Part::Whole);
    }

    #[test]
    fn a_range_of_what_has_changed_is_the_whole() {
        for (condition, expected) in
            [(ETAG, Part::Range(0, 1)), ("\"gone\"", Part::Whole), ("W/\"here\"", Part::Whole)]
        {
            let headers = headers_of(&[(header::RANGE, "bytes=0-0"), (header::IF_RANGE, condition)]);
            assert_eq!(part(&Method::GET, &headers, ETAG, 10), expected, "{condition}");
        }
    }

    #[test]
    fn a_matching_tag_means_that_the_client_has_the_content() {
        for (tags, known) in
            [("\"here\"", true), ("*", true), ("\"a\", W/\"here\"", true), ("\"a\"", false), ("", false)]
        {
            assert_eq!(is_known(&headers_of(&[(header::IF_NONE_MATCH, tags)]), ETAG), known, "{tags}");
        }
        assert!(!is_known(&HeaderMap::new(), ETAG));
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_a_range_lies_inside(
            range in "(bytes=)?[0-9]{0,21}-?[0-9]{0,21}|\\PC*",
            length in any::<u64>(),
        ) {
            if let Some(Part::Range(from, to)) = parse(&range, length) {
                prop_assert!(from < to && to <= length);
            }
        }
    }
}
