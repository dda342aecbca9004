//! Where conversations are: on a server, or in the data folder of this machine. The rest of the command sees no difference.

use std::path::Path;

use async_trait::async_trait;
use headwater_protocol::api::{
    AnswersRequest, ApprovalRequest, ConversationBody, ConversationPatch, ConversationRequest,
    MessageRequest, ModelBody,
};
use headwater_protocol::conversation::{Attachment, ConversationId, LogEntry};

use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};

type Result<T> = std::result::Result<T, CommandError>;

/// All conversations of a person.
#[async_trait(?Send)]
pub trait Chats {
    /// Where programs run, whose output is followed.
    fn engine(&self) -> &Engine;
    /// The models to choose from.
    async fn models(&self) -> Result<Vec<ModelBody>>;
    /// The conversations, newest first.
    async fn list(&self) -> Result<Vec<ConversationBody>>;
    /// The newest conversation to go on with.
    async fn newest(&self) -> Result<Option<ConversationId>>;
    /// Creates a conversation.
    async fn create(&self, request: ConversationRequest) -> Result<Box<dyn Chat>>;
    /// Opens a conversation that exists. A turn that was interrupted goes on.
    async fn open(&self, id: &ConversationId) -> Result<Box<dyn Chat>>;
    /// The log of a conversation, without opening it.
    async fn log(&self, id: &ConversationId) -> Result<Vec<LogEntry>>;
}

/// One conversation.
#[async_trait(?Send)]
pub trait Chat {
    /// Its id.
    fn id(&self) -> &ConversationId;
    /// The last event at the time when it was opened: those up to here are the past.
    fn past(&self) -> u64;
    /// Where the agent works, in a few words.
    fn place(&self) -> String;
    /// Its settings as they are now.
    async fn body(&self) -> Result<ConversationBody>;
    /// The next event of the log, from the first one. Cancelling this loses nothing.
    async fn next(&mut self) -> Result<LogEntry>;
    /// Sends a message. With an empty text as `model` it runs without a model, as a notebook.
    async fn send(&self, message: MessageRequest) -> Result<()>;
    /// Whether a message can run without a model though there are some.
    fn has_notebook(&self) -> bool;
    /// Interrupts the turn that runs. Returns before it has ended.
    async fn stop(&self) -> Result<()>;
    /// Answers a request for consent.
    async fn approve(&self, approval_id: &str, answer: ApprovalRequest) -> Result<()>;
    /// Answers questions.
    async fn answer(&self, tool_call_id: &str, answers: AnswersRequest) -> Result<()>;
    /// Changes settings.
    async fn change(&self, patch: ConversationPatch) -> Result<()>;
    /// Gives the agent a file.
    async fn attach(&self, file: &Path) -> Result<Attachment>;
    /// Leaves it. A turn that still runs on this machine is interrupted, and goes on when it is resumed.
    async fn leave(&self) -> Result<()>;
}

/// Finds a conversation by its id or a unique prefix of it; an empty text is the newest one.
pub async fn find(chats: &dyn Chats, text: &str) -> Result<ConversationId> {
    if text.is_empty() {
        let none = || CommandError::new(ErrorKind::NotFound, "there is no conversation to go on with");
        let newest = chats.newest().await?;
        return newest.ok_or_else(|| none().hint("`headwater chat --list` lists all of them"));
    }
    let all: Vec<_> = chats.list().await?.into_iter().map(|body| body.id).collect();
    if let Some(id) = all.iter().find(|id| id.as_str() == text) {
        return Ok(id.clone());
    }
    let is_match = |id: &&ConversationId| {
        id.as_str().strip_prefix("cnv_").unwrap_or(id.as_str()).starts_with(text)
            || id.as_str().starts_with(text)
    };
    let found: Vec<_> = all.iter().filter(is_match).collect();
    let error = |message: String| {
        CommandError::new(ErrorKind::NotFound, message).hint("`headwater chat --list` lists all of them")
    };
    match found[..] {
        [one] => Ok(one.clone()),
        // One that is not in the list: archived, shared, or that of a sub-agent.
        [] => text.parse().map_err(|_| error(format!("there is no conversation `{text}`"))),
        [..] => Err(error(format!("`{text}` matches {} conversations", found.len()))),
    }
}
