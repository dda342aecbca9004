//! What a client of the AI SDK sends. Fields and parts of other purposes are ignored: apps add their own.

use headwater_protocol::conversation::ConversationId;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::streams::ui_messages::ProgressMode;

/// A request of an AI SDK front end, with all messages that it has.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UiChatRequest)]
#[schema(examples(json!({
    "id": "chat-1", "trigger": "submit-message",
    "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Run the tests."}]}]
})))]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatRequest {
    /// The conversation. One that does not exist is created.
    pub(super) id: ConversationId,
    /// Only the last one is used, and only if a person wrote it: the server has its own history.
    #[serde(default)]
    pub(super) messages: Vec<UiMessage>,
    /// What is to be done.
    #[serde(default)]
    pub(super) trigger: Trigger,
    /// The message that is edited, answered again or continued.
    #[serde(default)]
    pub(super) message_id: Option<String>,
    /// The model for the answer, by its name in the configuration; that of the conversation if absent.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The session of a conversation that this request creates: its id or its name.
    #[serde(default, rename = "session_id", alias = "sessionId")]
    pub(super) session_id: Option<String>,
    /// How much of the output of running calls is sent.
    #[serde(default)]
    pub(super) progress: ProgressMode,
}

/// Why a client sends its messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = UiTrigger)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trigger {
    /// A person has written something, or has answered a request for consent.
    #[default]
    SubmitMessage,
    /// A person wants another answer.
    RegenerateMessage,
}

/// A message, as a client has it.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct UiMessage {
    /// Its id.
    pub(super) id: String,
    /// `user` or `assistant`.
    pub(super) role: String,
    /// What it consists of.
    #[schema(value_type = Vec<Object>)]
    pub(super) parts: Vec<Value>,
    /// What the server added to it.
    #[schema(value_type = Option<Object>)]
    pub(super) metadata: Option<Value>,
}

/// A file part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FilePart {
    pub(super) url: String,
    #[serde(default)]
    pub(super) media_type: String,
    #[serde(default)]
    pub(super) filename: Option<String>,
}

/// What a person has answered to a request for consent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Consent {
    pub(super) id: String,
    pub(super) approved: bool,
    #[serde(default)]
    pub(super) reason: Option<String>,
}

/// What a request wants.
#[derive(Debug)]
pub(super) enum Act {
    /// The agent gets a message.
    Say(UiMessage),
    /// A message of the agent goes on.
    Continue(UiMessage),
    /// The agent answers again.
    Again,
}

impl ChatRequest {
    /// What it wants.
    pub(super) fn act(&self) -> Result<Act, ApiError> {
        if self.trigger == Trigger::RegenerateMessage {
            return Ok(Act::Again);
        }
        let named = self.messages.iter().find(|message| Some(&message.id) == self.message_id.as_ref());
        if let Some(continued) = named.filter(|message| message.role == "assistant") {
            return Ok(Act::Continue(continued.clone()));
        }
        match self.messages.last() {
            Some(last) if last.role == "user" => Ok(Act::Say(last.clone())),
            Some(last) if last.role == "assistant" => Ok(Act::Continue(last.clone())),
            _ => Err(ApiError::invalid("the last entry of `messages` must be a message of the user")),
        }
    }

    /// Answers to requests for consent, in all messages: most of them are old.
    pub(super) fn consents(&self) -> impl Iterator<Item = Consent> {
        let parts = self.messages.iter().filter(|message| message.role == "assistant");
        let parts = parts.flat_map(|message| &message.parts);
        let parts = parts.filter(|part| part["state"] == "approval-responded");
        parts.filter_map(|part| Consent::deserialize(&part["approval"]).ok())
    }
}

impl UiMessage {
    /// Its text.
    pub(super) fn text(&self) -> String {
        let parts = self.parts.iter().filter(|part| part["type"] == "text");
        let texts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
        texts.join("\n\n")
    }

    /// Its files.
    pub(super) fn files(&self) -> Result<Vec<FilePart>, ApiError> {
        let parts = self.parts.iter().filter(|part| part["type"] == "file");
        let files = parts.map(FilePart::deserialize);
        files.collect::<Result<_, _>>().map_err(|error| ApiError::invalid(format!("a file part: {error}")))
    }

    /// The last event of the conversation's log that it shows.
    pub(super) fn seq(&self) -> Option<u64> {
        self.metadata.as_ref()?["seq"].as_u64()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(body: Value) -> ChatRequest {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn what_a_client_wants_follows_from_its_trigger_and_its_messages() {
        let user = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]});
        let agent = json!({"id": "a", "role": "assistant", "parts": []});
        let of = |messages: Value, trigger: &str, message: Option<&str>| {
            let body = json!({"id": "c", "messages": messages, "trigger": trigger, "messageId": message, "mine": {"x": 1}});
            request(body).act()
        };
        assert!(matches!(of(json!([agent, user]), "submit-message", None), Ok(Act::Say(_))));
        assert!(matches!(of(json!([user]), "submit-message", Some("u")), Ok(Act::Say(_))));
        assert!(matches!(of(json!([user, agent]), "submit-message", Some("a")), Ok(Act::Continue(_))));
        assert!(matches!(of(json!([agent, user]), "submit-message", Some("a")), Ok(Act::Continue(_))));
        assert!(matches!(of(json!([user]), "regenerate-message", None), Ok(Act::Again)));
        for bad in [json!([]), json!([{"role": "system"}])] {
            assert_eq!(of(bad, "submit-message", None).unwrap_err().status, 400);
        }
    }

    #[test]
    fn only_answered_requests_of_messages_of_the_agent_are_consents() {
        let part = |state: &str| json!({"type": "dynamic-tool", "state": state, "output": "forged", "approval": {"id": state, "approved": true}});
        let parts = json!([
            part("approval-responded"),
            part("approval-requested"),
            part("output-available"),
            1,
            null
        ]);
        let body = json!({"id": "c", "messages": [
            {"role": "assistant", "parts": parts}, {"role": "user", "parts": parts}
        ]});
        let consents: Vec<_> = request(body).consents().collect();
        assert_eq!(consents.len(), 1);
        assert_eq!((consents[0].id.as_str(), consents[0].approved), ("approval-responded", true));
    }
}
