//! Searches of the web by a model's provider: what people see of them.

use std::fmt::Write as _;

use serde_json::Value;

use super::ModelEvent;

/// Sources of one answer at most.
const MAX_SOURCES: usize = 30;
/// The longest query and title that are shown, in characters.
const MAX_SHOWN: usize = 200;
/// The longest address that is kept, in bytes.
const MAX_URL_BYTES: usize = 2000;

/// Adds the search to the tools of a request.
pub(super) fn declare(body: &mut Value, search: &Value) {
    match body["tools"].as_array_mut() {
        Some(tools) => tools.push(search.clone()),
        None => body["tools"] = Value::Array(vec![search.clone()]),
    }
}

/// What an answer refers to, in the order of the first mention.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<(String, String)>);

impl Sources {
    /// Adds a source, which is known once by its address. Only pages of the web are sources.
    pub(super) fn add(&mut self, citation: &Value) {
        let Some(url) = citation["url"].as_str().and_then(plain_url) else { return };
        if self.0.len() < MAX_SOURCES && self.0.iter().all(|(known, _)| *known != url) {
            let title = one_line(citation["title"].as_str().unwrap_or_default());
            self.0.push((url, title));
        }
    }

    /// The sources as a text of their own, in Markdown.
    pub(super) fn text(&mut self, part: u32, out: &mut Vec<ModelEvent>) {
        let sources = std::mem::take(&mut self.0);
        if sources.is_empty() {
            return;
        }
        let mut text = "Sources:\n".to_owned();
        for (url, title) in sources {
            let title = if title.is_empty() { url.clone() } else { title };
            let _ = write!(text, "\n- [{}](<{url}>)", escaped(&title));
        }
        out.extend([ModelEvent::Text { part, delta: text }, ModelEvent::PartEnded { part }]);
    }
}

/// What the provider has searched for.
pub(super) fn searched(query: &str, out: &mut Vec<ModelEvent>) {
    let text = match one_line(query).as_str() {
        "" => "The provider of the model has searched the web.".to_owned(),
        query => format!("The provider of the model has searched the web for: {query}"),
    };
    out.push(ModelEvent::Notice { text });
}

/// An address that cannot leave its brackets in Markdown.
fn plain_url(text: &str) -> Option<String> {
    let url = reqwest::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let url = String::from(url).replace('<', "%3C").replace('>', "%3E").replace('\\', "%5C");
    (url.len() <= MAX_URL_BYTES).then_some(url)
}

fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_SHOWN).collect()
}

fn escaped(title: &str) -> String {
    let escape = |ch: char| ch.is_ascii_punctuation().then_some('\\').into_iter().chain([ch]);
    title.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sources_are_links_to_the_web_once_each_and_nothing_else() {
        let mut sources = Sources::default();
        for citation in [
            json!({"url": "https://a.example/x y<z>", "title": "A [title](javascript:x)\n# two"}),
            json!({"url": "https://a.example/x y<z>", "title": "again"}),
            json!({"url": "javascript:alert(1)", "title": "no"}),
            json!({"url": "not an address"}),
            json!({"title": "nothing"}),
            json!({"url": "http://b.example/"}),
        ] {
            sources.add(&citation);
        }
        let mut out = Vec::new();
        sources.text(3, &mut out);
        let Some(ModelEvent::Text { part: 3, delta }) = out.first() else { panic!("{out:?}") };
        let lines: Vec<_> = delta.lines().collect();
        assert_eq!(lines[2], r"- [A \[title\]\(javascript\:x\) \# two](<https://a.example/x%20y%3Cz%3E>)");
        assert_eq!(lines[3], r"- [http\:\/\/b\.example\/](<http://b.example/>)");
        assert_eq!(lines.len(), 4);
        out.clear();
        sources.text(4, &mut out);
        assert_eq!(out, [], "they are said once");
    }
}
