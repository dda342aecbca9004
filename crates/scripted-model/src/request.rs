//! A request, whatever its dialect.

use serde_json::Value;

/// What was said before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    User(String),
    /// Part of an answer of the model.
    Answer,
    Result(String),
}

/// What a request asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) tools: Vec<String>,
    /// Whether a stream is asked for.
    pub(crate) is_stream: bool,
}

impl Request {
    /// What all dialects write in the same way.
    pub(crate) fn common(body: &Value) -> Self {
        let tools = body["tools"].as_array().into_iter().flatten();
        let name =
            |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).map(str::to_owned);
        Self {
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            tools: tools.filter_map(name).collect(),
            is_stream: body["stream"].as_bool().unwrap_or(false),
            ..Self::default()
        }
    }

    pub(crate) fn add_system(&mut self, content: &Value) {
        self.system.push_str(&text_of(content));
    }

    /// The number of answers of the model.
    pub(crate) fn answers(&self) -> usize {
        answers(&self.entries)
    }

    /// The number of answers after the last message of the user.
    pub(crate) fn answers_since_user(&self) -> usize {
        let user = self.entries.iter().rposition(|entry| matches!(entry, Entry::User(_)));
        answers(&self.entries[user.unwrap_or(0)..])
    }

    pub(crate) fn first_user(&self) -> Option<&str> {
        self.entries.iter().find_map(user)
    }

    pub(crate) fn last_user(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(user)
    }

    pub(crate) fn last_result(&self) -> Option<&str> {
        match self.entries.last() {
            Some(Entry::Result(text)) => Some(text),
            _ => None,
        }
    }
}

/// Parts of an answer that follow each other are one answer.
fn answers(entries: &[Entry]) -> usize {
    entries
        .chunk_by(|a, b| (*a == Entry::Answer) == (*b == Entry::Answer))
        .filter(|run| run[0] == Entry::Answer)
        .count()
}

fn user(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::User(text) => Some(text),
        _ => None,
    }
}

/// The text of a content: a string, or a list of blocks.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => String::new(),
    }
}
