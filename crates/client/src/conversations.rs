//! Calls for conversations with an agent. The stream of a log is in [`crate::log_follower`].

use headwater_protocol::api::{
    AnswersRequest, ApprovalRequest, ConversationBody, ConversationDetail, ConversationPatch,
    ConversationRequest, MessageAccepted, MessageRequest, ModelList, PageBody, StopBody,
};
use headwater_protocol::conversation::{Attachment, ConversationId};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::client::Client;
use crate::http::{CALL_TIMEOUT, json_body};
use crate::log_follower::LogFollower;

/// Which conversations to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// Only those with these words, or words that begin so.
    pub words: Option<String>,
    /// The maximum number of items on a page.
    pub limit: Option<u32>,
    /// The cursor of the page.
    pub cursor: Option<String>,
}

fn path(id: &ConversationId, rest: &str) -> String {
    format!("v1/conversations/{id}{rest}")
}

impl Client {
    /// Creates a conversation. If the request has an id, a second one is refused.
    pub async fn create_conversation(&self, request: &ConversationRequest) -> Result<ConversationBody> {
        let request = self.request(Method::POST, self.route("v1/conversations")?).json(request);
        self.json(self.send(request.timeout(CALL_TIMEOUT))).await
    }

    /// A page of conversations, latest activity first.
    pub async fn conversations(&self, filter: &ConversationFilter) -> Result<PageBody<ConversationBody>> {
        let mut url = self.route("v1/conversations")?;
        let values = [
            ("q", filter.words.clone()),
            ("limit", filter.limit.map(|limit| limit.to_string())),
            ("cursor", filter.cursor.clone()),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        self.json(self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()).timeout(CALL_TIMEOUT))))
            .await
    }

    /// A conversation with its messages.
    pub async fn conversation(&self, id: &ConversationId) -> Result<ConversationDetail> {
        self.get_json(&path(id, "")).await
    }

    /// Changes a conversation: absent fields keep their values.
    pub async fn change_conversation(
        &self,
        id: &ConversationId,
        patch: &ConversationPatch,
    ) -> Result<ConversationBody> {
        self.idempotent(Method::PATCH, &path(id, ""), patch).await
    }

    /// Sends a message. Repeated if the server asks for it: give it an id, so that it is added once.
    pub async fn send_message(
        &self,
        id: &ConversationId,
        message: &MessageRequest,
    ) -> Result<MessageAccepted> {
        self.idempotent(Method::POST, &path(id, "/messages"), message).await
    }

    /// Interrupts the turn that runs, and waits for its end.
    pub async fn stop_conversation(&self, id: &ConversationId) -> Result<StopBody> {
        let request = self.request(Method::POST, self.route(&path(id, "/stop"))?);
        self.json(self.send(request.timeout(CALL_TIMEOUT))).await
    }

    /// Answers a request for consent.
    pub async fn answer_approval(
        &self,
        id: &ConversationId,
        approval_id: &str,
        answer: &ApprovalRequest,
    ) -> Result<()> {
        self.post_once(&path(id, &format!("/approvals/{approval_id}")), Some(answer)).await
    }

    /// Answers questions of the agent.
    pub async fn answer_questions(
        &self,
        id: &ConversationId,
        tool_call_id: &str,
        answers: &AnswersRequest,
    ) -> Result<()> {
        let mut url = self.route(&path(id, "/answers"))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            // Models choose these ids.
            segments.push(tool_call_id);
        }
        self.send(self.request(Method::POST, url).json(answers).timeout(CALL_TIMEOUT)).await.map(drop)
    }

    /// Writes a file into the workspace of a conversation, and returns the entry for a message. Has no timeout, because it
    /// may be long.
    pub async fn add_attachment(
        &self,
        id: &ConversationId,
        name: &str,
        content: impl Into<Body>,
    ) -> Result<Attachment> {
        let mut url = self.route(&path(id, "/attachments"))?;
        url.query_pairs_mut().append_pair("name", name);
        self.json(self.send(self.request(Method::POST, url).body(content))).await
    }

    /// The models of the server.
    pub async fn models(&self) -> Result<ModelList> {
        self.get_json("v1/models").await
    }

    /// Follows the log of a conversation after an event (0: all of it). The stream continues over lost connections and
    /// restarts of the server.
    pub async fn follow_conversation(&self, id: &ConversationId, after: u64) -> Result<LogFollower> {
        LogFollower::open(self.clone(), id.clone(), after).await
    }

    async fn idempotent<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T> {
        let (url, body) = (self.route(path)?, json_body(body)?);
        let make = || {
            let request = self.request(method.clone(), url.clone()).timeout(CALL_TIMEOUT);
            Ok(request.header(CONTENT_TYPE, "application/json").body(body.clone()))
        };
        self.json(self.send_idempotent(make)).await
    }
}
