//! The three dialects: how they write a request, and how an answer is written in them.

mod chat;
mod messages;
mod responses;

use serde_json::{Value, json};

use crate::pieces::Part;
use crate::request::Request;
use crate::script::{Finish, Usage};

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `OpenAI` chat completions.
    Chat,
    /// `OpenAI` Responses.
    Responses,
    /// Anthropic messages.
    Messages,
}

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event(String);

impl Event {
    /// An event whose type is in its data as well, or only in its data.
    fn named(name: &str, data: &Value) -> Self {
        Self(format!("event: {name}\ndata: {data}\n\n"))
    }

    fn data(data: &Value) -> Self {
        Self(format!("data: {data}\n\n"))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// A part of an answer as far as it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) part: Part,
    pub(crate) text: String,
}

/// What is the same in all events of an answer, and what was sent.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) finish: Finish,
    pub(crate) usage: Usage,
    pub(crate) parts: Vec<Sent>,
}

impl Answer {
    /// The pages that were found: address and title.
    fn pages(&self) -> impl Iterator<Item = (&String, &String)> {
        let pages = self.parts.iter().filter_map(|sent| match &sent.part {
            Part::Search(search) => Some(&search.pages),
            _ => None,
        });
        pages.flatten()
    }

    fn last(&self) -> Option<(usize, &Sent)> {
        self.parts.iter().enumerate().next_back()
    }
}

/// Writes events. Each method is called after the answer was changed accordingly.
pub(crate) trait Encoder: Send {
    fn begin(&mut self, answer: &Answer) -> Vec<Event>;
    fn open(&mut self, answer: &Answer) -> Vec<Event>;
    fn delta(&mut self, answer: &Answer, text: &str) -> Vec<Event>;
    fn close(&mut self, answer: &Answer) -> Vec<Event>;
    fn finish(&mut self, answer: &Answer) -> Vec<Event>;
    /// An error inside the stream.
    fn error(&mut self, answer: &Answer, message: &str) -> Vec<Event>;
}

impl Dialect {
    pub(crate) fn request(self, body: &Value) -> Request {
        match self {
            Self::Chat => chat::request(body),
            Self::Responses => responses::request(body),
            Self::Messages => messages::request(body),
        }
    }

    pub(crate) fn encoder(self) -> Box<dyn Encoder> {
        match self {
            Self::Chat => Box::new(chat::Chat::default()),
            Self::Responses => Box::new(responses::Responses::default()),
            Self::Messages => Box::new(messages::Messages),
        }
    }

    /// The answer without a stream.
    pub(crate) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Chat => chat::whole(answer),
            Self::Responses => responses::whole(answer, "completed"),
            Self::Messages => messages::whole(answer),
        }
    }

    /// The body of an error response.
    pub(crate) fn failure(self, status: u16, message: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        match self {
            Self::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Chat | Self::Responses => {
                json!({"error": {"message": message, "type": kind, "code": null}})
            }
        }
    }
}
