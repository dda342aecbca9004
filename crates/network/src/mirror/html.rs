//! Reads and writes the HTML pages of Python's older indexes (PEP 503): a list of links. Other HTML is ignored.

use std::collections::HashMap;

/// A link: its attributes by lower-case name, their values unescaped, and its text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub attributes: HashMap<String, String>,
    pub text: String,
}

/// All links of a page.
pub(super) fn links(page: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find("<a").or_else(|| rest.find("<A")) {
        rest = rest.get(at + 2..).unwrap_or_default();
        if !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            continue;
        }
        let (attributes, after) = attributes(rest);
        let end = after.find('<').unwrap_or(after.len());
        let text = unescape(after.get(..end).unwrap_or_default().trim());
        rest = after.get(end..).unwrap_or_default();
        found.push(Link { attributes, text });
    }
    found
}

/// The attributes up to the end of the tag, and what comes after it.
fn attributes(mut rest: &str) -> (HashMap<String, String>, &str) {
    let mut all = HashMap::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return (all, after);
        }
        let end =
            rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() && !after.starts_with('=') {
            return (all, after); // the end of the page
        }
        rest = after.trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            (value, rest) = value_of(after.trim_start());
        }
        all.entry(name.to_ascii_lowercase()).or_insert_with(|| unescape(value));
    }
}

fn value_of(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    text.split_at(text.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(text.len()))
}

const ESCAPES: [(&str, &str); 6] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")];

fn unescape(text: &str) -> String {
    ESCAPES.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// Escapes a text for a page.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_are_found_with_their_attributes_and_text() {
        let page = "<!DOCTYPE html><html><abbr title=x></abbr>\n<a  href=\"../a-1.whl#sha256=00&amp;x\" \
                    data-requires-python='&gt;=3.8' data-yanked>a-1.whl</a><br/>\n<A HREF=b>b</A>";
        let found = links(page);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].text, "a-1.whl");
        assert_eq!(found[0].attributes["href"], "../a-1.whl#sha256=00&x");
        assert_eq!(found[0].attributes["data-requires-python"], ">=3.8");
        assert_eq!(found[0].attributes["data-yanked"], "");
        assert_eq!((found[1].attributes["href"].as_str(), found[1].text.as_str()), ("b", "b"));
    }

    proptest! {
        #[test]
        fn no_page_breaks_it(page in "[<>a-z =\"'/&;]{0,200}") {
            links(&page);
        }

        #[test]
        fn escaped_text_is_unescaped(text in ".{0,50}") {
            let page = format!("<a href=\"{}\">x</a>", escape(&text));
            prop_assert_eq!(&links(&page)[0].attributes["href"], &text);
        }
    }
}
