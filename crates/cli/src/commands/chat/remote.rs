//! Conversations on a server.

use std::path::Path;

use async_trait::async_trait;
use headwater_client::{Client, ConversationFilter, LogFollower};
use headwater_protocol::api::{
    AnswersRequest, ApprovalRequest, ConversationBody, ConversationPatch, ConversationRequest,
    MessageRequest, ModelBody,
};
use headwater_protocol::conversation::{Attachment, ConversationId, LogEntry, MessageId};

use super::source::{Chat, Chats};
use crate::engine::Engine;
use crate::error::CommandError;

type Result<T> = std::result::Result<T, CommandError>;

/// The conversations of a server.
pub struct RemoteChats {
    server: Client,
    engine: Engine,
}

impl RemoteChats {
    /// Those of this server.
    pub fn new(server: Client) -> Self {
        Self { engine: Engine::Remote(server.clone()), server }
    }

    async fn opened(&self, body: ConversationBody, past: u64) -> Result<Box<dyn Chat>> {
        let log = self.server.follow_conversation(&body.id, 0).await?;
        let place = format!("on {}", self.server.url().trim_end_matches('/'));
        Ok(Box::new(RemoteChat { server: self.server.clone(), id: body.id, past, place, log }))
    }
}

#[async_trait(?Send)]
impl Chats for RemoteChats {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn models(&self) -> Result<Vec<ModelBody>> {
        Ok(self.server.retry_known_server(|server| async move { server.models().await }).await?.items)
    }

    async fn list(&self) -> Result<Vec<ConversationBody>> {
        let page = async |cursor| {
            self.server.conversations(&ConversationFilter { cursor, ..ConversationFilter::default() }).await
        };
        crate::engine::pages(page).await
    }

    async fn newest(&self) -> Result<Option<ConversationId>> {
        let filter = ConversationFilter { limit: Some(1), ..ConversationFilter::default() };
        Ok(self.server.conversations(&filter).await?.items.into_iter().next().map(|body| body.id))
    }

    async fn create(&self, request: ConversationRequest) -> Result<Box<dyn Chat>> {
        let body = self.server.create_conversation(&request).await?;
        self.opened(body, 0).await
    }

    async fn open(&self, id: &ConversationId) -> Result<Box<dyn Chat>> {
        let detail = self.server.conversation(id).await?;
        self.opened(detail.conversation, detail.last_seq).await
    }

    async fn log(&self, id: &ConversationId) -> Result<Vec<LogEntry>> {
        let last = self.server.conversation(id).await?.last_seq;
        let (mut log, mut all) = (self.server.follow_conversation(id, 0).await?, Vec::new());
        while log.position() < last {
            all.push(log.next().await?);
        }
        Ok(all)
    }
}

/// A conversation on a server.
struct RemoteChat {
    server: Client,
    id: ConversationId,
    past: u64,
    place: String,
    log: LogFollower,
}

#[async_trait(?Send)]
impl Chat for RemoteChat {
    fn id(&self) -> &ConversationId {
        &self.id
    }

    fn past(&self) -> u64 {
        self.past
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    async fn body(&self) -> Result<ConversationBody> {
        Ok(self.server.conversation(&self.id).await?.conversation)
    }

    async fn next(&mut self) -> Result<LogEntry> {
        Ok(self.log.next().await?)
    }

    async fn send(&self, message: MessageRequest) -> Result<()> {
        // With an id it is added once, however often it is sent.
        let id = Some(message.id.clone().unwrap_or_else(MessageId::random));
        let (message, id) = (&MessageRequest { id, ..message }, &self.id);
        let sent =
            self.server.retry_known_server(|server| async move { server.send_message(id, message).await });
        Ok(sent.await.map(drop)?)
    }

    fn has_notebook(&self) -> bool {
        false
    }

    async fn stop(&self) -> Result<()> {
        let (server, id) = (self.server.clone(), self.id.clone());
        // The server answers when the turn has ended; the log says it, too.
        let stop = move |server: Client| {
            let id = id.clone();
            async move { server.stop_conversation(&id).await }
        };
        tokio::task::spawn_local(async move { server.retry_known_server(stop).await.is_ok() });
        Ok(())
    }

    async fn approve(&self, approval_id: &str, answer: ApprovalRequest) -> Result<()> {
        Ok(self.server.answer_approval(&self.id, approval_id, &answer).await?)
    }

    async fn answer(&self, tool_call_id: &str, answers: AnswersRequest) -> Result<()> {
        Ok(self.server.answer_questions(&self.id, tool_call_id, &answers).await?)
    }

    async fn change(&self, patch: ConversationPatch) -> Result<()> {
        Ok(self.server.change_conversation(&self.id, &patch).await.map(drop)?)
    }

    async fn attach(&self, file: &Path) -> Result<Attachment> {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let content = std::fs::read(file)
            .map_err(|error| CommandError::usage(format!("cannot read `{}`: {error}", file.display())))?;
        Ok(self.server.add_attachment(&self.id, &name, content).await?)
    }

    async fn leave(&self) -> Result<()> {
        Ok(())
    }
}
