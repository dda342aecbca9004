//! Models: one interface over the APIs of providers.
//!
//! A call passes through the files in this order: `provider` writes the request with the dialect of the API (`chat`,
//! `messages`, `responses`), sends it (`http`), repeats it if it fails (`retry`), and returns a `stream`, which reads the
//! response through `decoding`. A `fault` becomes the error that people see.

mod chat;
mod config;
mod decoding;
mod fault;
mod http;
mod images;
mod key;
mod messages;
mod opaque;
mod provider;
mod quirks;
mod registry;
mod responses;
mod retry;
mod stream;
#[cfg(test)]
mod tests;
mod think_tags;
mod web_search;

pub use self::config::{Api, ModelConfig, ModelConfigs, check as check_configs};
pub use self::provider::Provider;
pub use self::registry::{ModelInfo, Models};

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use headwater_protocol::conversation::ModelUsage;
use serde_json::Value;

/// What a model is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// The instructions.
    pub system: String,
    /// What was said and done so far, in order.
    pub items: Vec<Item>,
    /// The tools that it may call.
    pub tools: Vec<ToolSpec>,
    /// A key under which a provider may cache the beginning of the prompt: the conversation.
    pub cache_key: Option<String>,
    /// The tokens that it may write at most; the configuration may allow fewer.
    pub max_output_tokens: Option<u64>,
    /// Whether a call that fails is not repeated: nobody waits for the answer.
    pub is_tried_once: bool,
    /// Whether the provider may search the web for the model.
    pub web_search: bool,
}

impl Prompt {
    /// The tokens that the answer may have, if anything bounds them.
    fn output_tokens(&self, config: &ModelConfig) -> Option<u64> {
        match (self.max_output_tokens, config.max_output_tokens) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        }
    }
}

/// A tool, as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name by which it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

/// Something that was said or done.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A message of a person.
    User(Vec<Content>),
    /// A text of the model.
    Text(String),
    /// Reasoning of the model, with what its provider wants to get back. Another provider does not get it.
    Reasoning {
        /// The text that was shown.
        text: String,
        /// A signature, or encrypted reasoning.
        opaque: Option<Value>,
    },
    /// A call of a tool by the model.
    ToolCall {
        /// The id that the model gave it.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments as JSON text.
        arguments: String,
    },
    /// What the tool returned.
    ToolResult {
        /// The call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The text and images for the model.
        content: Vec<Content>,
        /// Whether the tool failed.
        is_error: bool,
    },
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// For example `image/png`.
        media_type: String,
        /// The file.
        bytes: Vec<u8>,
    },
}

impl Content {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// What a model writes, as it arrives. `part` numbers the parts of one answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More of a text.
    Text {
        /// The part.
        part: u32,
        /// The text.
        delta: String,
    },
    /// More of its reasoning.
    Reasoning {
        /// The part.
        part: u32,
        /// The text; may be empty if the provider shows none.
        delta: String,
    },
    /// What the provider wants to get back with a reasoning part.
    Opaque {
        /// The part.
        part: u32,
        /// A signature, or encrypted reasoning.
        opaque: Value,
    },
    /// It begins to call a tool.
    ToolCall {
        /// The part.
        part: u32,
        /// The id of the call; made up if the provider gives none.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of the arguments.
    Arguments {
        /// The part.
        part: u32,
        /// JSON text.
        delta: String,
    },
    /// A part is complete.
    PartEnded {
        /// The part.
        part: u32,
    },
    /// What the provider has done for the model: one sentence for a person.
    Notice {
        /// The sentence.
        text: String,
    },
    /// What the call used.
    Usage(ModelUsage),
    /// The answer is complete: always the last event, exactly once.
    Finished(FinishReason),
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// It has answered.
    Stop,
    /// It waits for the results of tools.
    ToolCalls,
    /// It has written as much as it may.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

/// Why a call of a model failed. No message contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// One sentence for a person, with what to do.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No connection, or it took too long.
    Unreachable,
    /// Too many requests.
    RateLimited,
    /// The provider has a problem (5xx).
    Overloaded,
    /// The answer broke off in the middle.
    BrokenOff,
    /// The key is missing or wrong.
    Unauthorized,
    /// The prompt is longer than the model can read.
    ContextTooLong,
    /// The provider refuses the request as it is.
    Refused,
}

impl ModelErrorKind {
    /// Whether the same call may succeed later.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Unreachable | Self::RateLimited | Self::Overloaded | Self::BrokenOff)
    }
}

/// The events of an answer.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model that can be called.
#[async_trait]
pub trait Model: Debug + Send + Sync + 'static {
    /// The name in the configuration.
    fn name(&self) -> &str;

    /// How many tokens of prompt and answer it can hold.
    fn context_tokens(&self) -> u64;

    /// Whether its provider can search the web for it.
    fn can_search_web(&self) -> bool {
        false
    }

    /// Calls it. Failures before the first event were repeated as far as that helps; after it, the caller decides.
    /// Dropping the stream ends the call.
    async fn call(&self, prompt: &Prompt) -> Result<ModelStream, ModelError>;

    /// Checks that it can be reached with its key, without writing an answer.
    async fn check(&self) -> Result<(), ModelError>;
}
