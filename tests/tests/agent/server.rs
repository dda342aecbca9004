//! Conversations on a real server, whose model is an endpoint that follows a script.

mod exports;
mod servers;
mod titles;
mod web_search;

use anyhow::{Context, Result};
use headwater_scripted_model::ScriptedModel;
use headwater_tests::http::json_of;
use headwater_tests::{Api, TestServer, host};
use serde_json::{Value, json};

/// A server with a model, and a user of it.
pub(crate) struct Chat {
    pub(crate) server: TestServer,
    pub(crate) model: ScriptedModel,
    pub(crate) api: Api,
}

impl Chat {
    /// A server whose default model speaks this API and follows this script, with more lines of configuration.
    pub(crate) async fn with(api: &str, script: &Value, config: &str) -> Result<Self> {
        let script = script.to_string().parse().map_err(anyhow::Error::msg)?;
        let model = ScriptedModel::start(script).await?;
        let url = model.base_url();
        let config = format!(
            "{config}\n[models.main]\napi = \"{api}\"\nbase_url = \"{url}\"\nmodel = \"scripted\"\ndefault = true\n\
             [models.plain]\napi = \"openai-chat\"\nbase_url = \"{url}\"\nmodel = \"scripted\"\n"
        );
        let server = TestServer::configured(&config).await?;
        let api = server.user("ann", "member")?;
        Ok(Self { server, model, api })
    }

    pub(crate) async fn new(script: &Value) -> Result<Self> {
        Self::with("openai-responses", script, "").await
    }

    /// Creates a conversation of ann's; its path.
    pub(crate) async fn conversation(&self, body: &Value) -> Result<String> {
        let made = json_of(&self.api.post("/v1/conversations", body).await?, 201)?;
        Ok(format!("/v1/conversations/{}", made["id"].as_str().context("no id")?))
    }

    pub(crate) async fn send(&self, path: &str, text: &str) -> Result<()> {
        self.api.post_ok(&format!("{path}/messages"), &json!({ "text": text })).await.map(drop)
    }

    /// Waits until something is true of a conversation.
    pub(crate) async fn until(
        &self,
        path: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let mut now = Value::Null;
        let waited = host::eventually(what, async || {
            now = self.api.json(path).await.unwrap_or_default();
            holds(&now)
        });
        let waited = waited.await;
        waited.with_context(|| format!("{now:#}"))?;
        Ok(now)
    }

    /// Sends a message, and waits for the end of its turn; the conversation.
    pub(crate) async fn ask(&self, path: &str, text: &str) -> Result<Value> {
        self.send(path, text).await?;
        self.until(path, "the turn ends", |now| !now["turn"]["outcome"].is_null()).await
    }
}

#[tokio::test]
async fn a_model_that_nobody_has_chosen_gets_its_reasoning_back_too() -> Result<()> {
    let call = json!({"name": "exec_command", "arguments": {"cmd": "true"}});
    let chat = Chat::new(&json!([{"reasoning": "Hm", "tool_calls": [call]}, {"text": "Done."}])).await?;
    let path = chat.conversation(&json!({})).await?;
    chat.ask(&path, "go").await?;
    let requests = chat.model.requests();
    assert!(requests[1].body.to_string().contains("encrypted-2-bytes"), "{}", requests[1].body);
    Ok(())
}

/// The texts and notices of all answers, in order.
pub(crate) fn said(conversation: &Value) -> Vec<String> {
    let messages = conversation["messages"].as_array().into_iter().flatten();
    let parts = messages
        .filter(|message| message["role"] == "assistant")
        .flat_map(|message| message["parts"].as_array().cloned().unwrap_or_default());
    let text = |part: Value| match part["type"].as_str() {
        Some("text") => part["text"].as_str().map(str::to_owned),
        Some("notice") => part["text"].as_str().map(|text| format!("[{text}]")),
        _ => None,
    };
    parts.filter_map(text).collect()
}
