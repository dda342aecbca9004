//! Why a call failed, before it is told to a person: what a status, the body of a refusal or a broken connection mean.

use std::error::Error;
use std::time::Duration;

use serde_json::Value;

use super::key::Secrets;
use super::{ModelError, ModelErrorKind};

/// Characters of a provider's message that are shown.
const MAX_MESSAGE: usize = 300;

/// A failure of a call, without the name of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ModelErrorKind,
    /// The rest of a sentence that begins with the model.
    sentence: String,
    /// The status of the response, if it is one.
    status: Option<u16>,
    pub(super) retry_after: Option<Duration>,
}

impl Fault {
    /// A failure, with the details that are known.
    pub(super) fn new(kind: ModelErrorKind, detail: &str) -> Self {
        let (what, advice) = match kind {
            ModelErrorKind::Unreachable => (
                "cannot be reached",
                "check `base_url`, and whether the endpoint runs and can be reached from here",
            ),
            ModelErrorKind::RateLimited => ("gets too many requests", "try again later"),
            ModelErrorKind::Overloaded => ("has a problem at its provider", "try again later"),
            ModelErrorKind::BrokenOff => ("broke off its answer", "try again"),
            ModelErrorKind::Unauthorized => {
                ("is refused by its provider", "check the key in `api_key_env` or `api_key_file`")
            }
            ModelErrorKind::ContextTooLong => {
                ("cannot read a prompt of this length", "shorten the conversation, or set `context_tokens`")
            }
            ModelErrorKind::Refused => {
                ("refuses the request", "check `api`, `base_url` and `model` of the configuration")
            }
        };
        let detail = shortened(detail);
        let sentence = match detail.as_str() {
            "" => format!("{what}; {advice}"),
            detail => format!("{what}: {detail}; {advice}"),
        };
        Self { kind, sentence, status: None, retry_after: None }
    }

    /// The key is missing.
    pub(super) fn no_key(why: &str) -> Self {
        let sentence = format!("has no key: {why}; set `api_key_env` or `api_key_file` to where the key is");
        Self { kind: ModelErrorKind::Unauthorized, sentence, status: None, retry_after: None }
    }

    /// The answer is not in the form of the API.
    pub(super) fn garbage(why: &str) -> Self {
        Self::new(ModelErrorKind::BrokenOff, &format!("the answer is not valid: {why}"))
    }

    /// The request could not be sent, or the answer not be received.
    pub(super) fn transport(kind: ModelErrorKind, error: &(dyn Error + 'static)) -> Self {
        // The outer errors name the address, which may contain a secret.
        let mut inner = error;
        while let Some(source) = inner.source() {
            inner = source;
        }
        Self::new(kind, &inner.to_string())
    }

    /// A response that is not a success.
    pub(super) fn refusal(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let body: Value = serde_json::from_slice(body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).trim().to_owned()));
        let message = message(&body);
        let kind = kind_of(status, &body, &message);
        let detail =
            if message.is_empty() { format!("status {status}") } else { format!("{message} ({status})") };
        Self { status: Some(status), retry_after, ..Self::new(kind, &detail) }
    }

    /// An error inside an answer.
    pub(super) fn in_answer(error: &Value) -> Self {
        let code = [&error["code"], &error["type"]].into_iter().find_map(Value::as_str).unwrap_or_default();
        let message = message(error);
        let kind = match code {
            "rate_limit_error" | "rate_limit_exceeded" => ModelErrorKind::RateLimited,
            "authentication_error" | "permission_error" => ModelErrorKind::Unauthorized,
            "invalid_request_error" | "invalid_prompt" | "not_found_error" => kind_of(400, error, &message),
            _ if is_too_long(code, &message) => ModelErrorKind::ContextTooLong,
            _ => ModelErrorKind::Overloaded,
        };
        Self::new(kind, if message.is_empty() { code } else { &message })
    }

    /// Whether a check failed only because the endpoint has no list of models.
    pub(super) const fn is_missing_list(&self) -> bool {
        matches!(self.status, Some(404 | 405 | 501))
    }

    /// Whether the provider's message contains one of these words.
    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        let sentence = self.sentence.to_ascii_lowercase();
        words.iter().any(|word| sentence.contains(word))
    }

    pub(super) fn into_error(self, model: &str, secrets: &Secrets) -> ModelError {
        let message = format!("the model `{model}` {}", secrets.hide(&self.sentence));
        ModelError { kind: self.kind, message, retry_after: self.retry_after }
    }
}

/// The message of a provider: `{"error": {"message": "..."}}`, `{"error": "..."}`, `{"message": "..."}` or plain text.
fn message(body: &Value) -> String {
    let places = [&body["error"]["message"], &body["message"], &body["detail"], &body["error"], body];
    places.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}

fn kind_of(status: u16, body: &Value, message: &str) -> ModelErrorKind {
    let code = [&body["error"]["code"], &body["error"]["type"], &body["code"], &body["type"]];
    let code = code.into_iter().find_map(Value::as_str).unwrap_or_default();
    match status {
        401 | 403 => ModelErrorKind::Unauthorized,
        // The money is used up: waiting does not help.
        429 if code == "insufficient_quota" => ModelErrorKind::Refused,
        429 => ModelErrorKind::RateLimited,
        408 | 409 | 425 => ModelErrorKind::Overloaded,
        413 => ModelErrorKind::ContextTooLong,
        _ if is_too_long(code, message) => ModelErrorKind::ContextTooLong,
        500.. => ModelErrorKind::Overloaded,
        _ => ModelErrorKind::Refused,
    }
}

/// Providers have no common code for this.
fn is_too_long(code: &str, message: &str) -> bool {
    let codes =
        ["context_length_exceeded", "exceed_context_size_error", "request_too_large", "context_too_long"];
    let words = ["context length", "context window", "context size", "prompt is too long", "too many tokens"];
    let message = message.to_ascii_lowercase();
    codes.contains(&code) || words.iter().any(|word| message.contains(word))
}

/// One line of at most [`MAX_MESSAGE`] characters, without the last full stop.
fn shortened(text: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let line = text.chars().map(printable).collect::<String>();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end_matches('.').to_owned(),
    }
}
