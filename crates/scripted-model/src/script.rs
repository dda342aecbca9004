//! The script: its JSON form, and which turn answers a request.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::request::Request;

/// A script; see the description of the crate.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Turns for some requests. The first rule that matches is used.
    pub rules: Vec<Rule>,
    /// Turns for all other requests.
    pub turns: Vec<Turn>,
    /// The key that requests must have.
    pub key: Option<String>,
    /// The answer to requests for a title.
    pub title: Option<Turn>,
}

/// Turns for requests that match.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Which requests.
    pub when: When,
    /// The turns.
    pub turns: Vec<Turn>,
}

/// Conditions, all of which must be true.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// Part of the last message of the user.
    pub last_user_contains: Option<String>,
    /// Part of the first message of the user.
    pub first_user_contains: Option<String>,
    /// Part of the instructions.
    pub system_contains: Option<String>,
    /// Part of the last result of a tool, if nothing else came after it.
    pub last_result_contains: Option<String>,
    /// The name of a tool in the request.
    pub has_tool: Option<String>,
    /// The model of the request.
    pub model: Option<String>,
}

/// One answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// Searches of the web that the provider makes before the text, which refers to what they have found.
    pub searches: Vec<Search>,
    /// The text.
    pub text: String,
    /// The reasoning before it.
    pub reasoning: String,
    /// The tool calls after it.
    pub tool_calls: Vec<Call>,
    /// What the answer used.
    pub usage: Usage,
    /// Why it ends.
    pub finish: Option<Finish>,
    /// Characters of one event; by default a word.
    pub delta_chars: Option<usize>,
    /// Bytes of one piece on the wire; by default an event.
    pub chunk_bytes: Option<usize>,
    /// The pause after each piece.
    pub delay_ms: u64,
    /// Whether it waits for a release first.
    pub hold: bool,
    /// An error instead of the answer.
    pub fail: Option<Failure>,
    /// Cuts the connection after this many bytes.
    pub break_after_bytes: Option<usize>,
    /// How often it does; once by default.
    pub break_times: Option<u32>,
    /// An error inside the stream.
    pub error: Option<String>,
    /// Whether the answer is JSON instead of a stream.
    pub is_plain: bool,
    /// The body, instead of an answer.
    pub raw: Option<String>,
}

/// A search of the web.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Search {
    /// What it looks for.
    pub query: String,
    /// The addresses of the pages that it finds, and their titles.
    pub pages: BTreeMap<String, String>,
}

/// A tool call.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// Its id; made up by default, and not sent if it is empty.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
}

/// What an answer used.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// Cached tokens of the prompt.
    pub cached_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// The cost in US dollars; only the chat dialect reports it.
    pub cost: Option<f64>,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input_tokens: 10, cached_tokens: 0, output_tokens: 5, cost: None }
    }
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It is complete.
    Stop,
    /// The results of tools are needed.
    ToolCalls,
    /// It is as long as it may be.
    Length,
    /// The rest is withheld.
    ContentFilter,
}

/// An error instead of an answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Failure {
    /// The status of the response.
    pub status: u16,
    /// The message in its body.
    pub message: Option<String>,
    /// The value of `Retry-After`: a number of seconds, or a text.
    pub retry_after: Option<Value>,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// How often, in each conversation; once by default.
    pub times: Option<u32>,
}

impl FromStr for Script {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = if text.trim_start().starts_with('[') {
            serde_json::from_str(text).map(|turns| Self { turns, ..Self::default() })
        } else {
            serde_json::from_str(text)
        };
        read.map_err(|error| format!("the script is not valid: {error}"))
    }
}

/// The place of a turn in the script: the number of the rule (none for the script's own turns), and that of the turn.
pub(crate) type Position = (Option<usize>, usize);

static NO_TITLE: LazyLock<Turn> = LazyLock::new(Turn::default);
/// How the instructions begin that ask for the title of a conversation.
const TITLE_INSTRUCTIONS: &str = "You write the title of a conversation";

impl Script {
    /// The answer to a request for a title: an empty one, which changes no title, if the script has none.
    pub(crate) fn title_turn(&self, request: &Request) -> Option<(Position, &Turn)> {
        let is_asked = request.system.starts_with(TITLE_INSTRUCTIONS);
        is_asked.then(|| ((None, usize::MAX), self.title.as_ref().unwrap_or(&NO_TITLE)))
    }

    /// The turn that answers a request.
    pub(crate) fn turn(&self, request: &Request) -> Result<(Position, &Turn), Position> {
        let rule = self.rules.iter().enumerate().find(|(_, rule)| rule.when.matches(request));
        let (number, turns, index) = match rule {
            Some((number, rule)) if rule.when.last_user_contains.is_some() => {
                (Some(number), &rule.turns, request.answers_since_user())
            }
            Some((number, rule)) => (Some(number), &rule.turns, request.answers()),
            None => (None, &self.turns, request.answers()),
        };
        turns.get(index).map(|turn| ((number, index), turn)).ok_or((number, index))
    }
}

impl When {
    fn matches(&self, request: &Request) -> bool {
        let contains = |part: &Option<String>, text: Option<&str>| {
            part.as_ref().is_none_or(|part| text.is_some_and(|text| text.contains(part)))
        };
        contains(&self.last_user_contains, request.last_user())
            && contains(&self.first_user_contains, request.first_user())
            && contains(&self.system_contains, Some(&request.system))
            && contains(&self.last_result_contains, request.last_result())
            && self.has_tool.as_ref().is_none_or(|tool| request.tools.contains(tool))
            && self.model.as_ref().is_none_or(|model| *model == request.model)
    }
}
