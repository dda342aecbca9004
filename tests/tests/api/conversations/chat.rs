//! A server with a scripted model, and a person's way to one conversation.

use anyhow::{Context, Result};
use headwater_protocol::conversation::{Conversation, LogEntry};
use headwater_scripted_model::{Recorded, Script, ScriptedModel};
use headwater_tests::host::eventually;
use headwater_tests::http::{Response, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

/// A server, and the model that its conversations use.
pub(super) struct Chat {
    pub(super) model: ScriptedModel,
    pub(super) server: TestServer,
}

impl Chat {
    /// A server with a model that follows a script: a list of turns, or an object with rules.
    pub(super) async fn new(script: &Value) -> Result<Self> {
        Self::configured(script, "").await
    }

    /// The same with more lines of configuration.
    pub(super) async fn configured(script: &Value, config: &str) -> Result<Self> {
        let model = ScriptedModel::start(script_of(script)?).await?;
        let config = format!("{config}\n{}", model_config(&model, ""));
        Ok(Self { server: TestServer::configured(&config).await?, model })
    }

    /// A new conversation of the operator.
    pub(super) async fn talk(&self, body: &Value) -> Result<Talk> {
        Talk::new(&self.server.api(), body).await
    }

    /// Waits until an answer of the model waits at `{{hold}}`.
    pub(super) async fn held(&self) -> Result<()> {
        eventually("an answer waits", async || self.model.waiting() > 0).await
    }

    /// The last request that the model got.
    pub(super) fn last_request(&self) -> Result<Recorded> {
        self.model.requests().pop().context("the model was not called")
    }
}

/// Reads a script.
pub(super) fn script_of(script: &Value) -> Result<Script> {
    script.to_string().parse().map_err(anyhow::Error::msg)
}

/// The configuration of the model `scripted`, with more lines of its table.
pub(super) fn model_config(model: &ScriptedModel, more: &str) -> String {
    let url = model.base_url();
    format!(
        "[models.scripted]\napi = \"openai-chat\"\nbase_url = \"{url}\"\nmodel = \"scripted\"\ndefault = true\n{more}\n"
    )
}

/// A turn of a script that calls a tool.
pub(super) fn calls(tool: &str, arguments: &Value) -> Value {
    json!({"tool_calls": [{"name": tool, "arguments": arguments}]})
}

/// A turn that runs a shell line to its end.
pub(super) fn runs(code: &str) -> Value {
    calls("code_execution", &json!({"runtime": "terminal", "code": code}))
}

/// A shell line that waits for [`Talk::signal`].
pub(super) fn until(path: &str) -> String {
    format!("until [ -e {path} ]; do sleep 0.05; done")
}

/// Turns that follow a message with this text.
pub(super) fn on(text: &str, turns: &[Value]) -> Value {
    json!({"when": {"last_user_contains": text}, "turns": turns})
}

/// A conversation, as one user reaches it.
#[derive(Debug, Clone)]
pub(super) struct Talk {
    pub(super) api: Api,
    pub(super) id: String,
}

impl Talk {
    /// A new conversation of this user.
    pub(super) async fn new(api: &Api, body: &Value) -> Result<Self> {
        let made = json_of(&api.post("/v1/conversations", body).await?, 201)?;
        Ok(Self { api: api.clone(), id: text(&made["id"]) })
    }

    /// The same conversation, reached by somebody else.
    pub(super) fn by(&self, api: &Api) -> Self {
        Self { api: api.clone(), id: self.id.clone() }
    }

    /// A path of it: `/log`, for example.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/v1/conversations/{}{rest}", self.id)
    }

    pub(super) async fn get(&self, rest: &str) -> Result<Response> {
        self.api.get(&self.path(rest)).await
    }

    pub(super) async fn post(&self, rest: &str, body: &Value) -> Result<Response> {
        self.api.post(&self.path(rest), body).await
    }

    pub(super) async fn post_ok(&self, rest: &str, body: &Value) -> Result<Value> {
        self.api.post_ok(&self.path(rest), body).await
    }

    pub(super) async fn patch(&self, body: &Value) -> Result<Value> {
        json_of(&self.api.patch(&self.path(""), body).await?, 200)
    }

    /// Sends a message; what the server says about it.
    pub(super) async fn say(&self, text: &str) -> Result<Value> {
        json_of(&self.post("/messages", &json!({"text": text})).await?, 202)
    }

    /// The conversation with its messages.
    pub(super) async fn now(&self) -> Result<Value> {
        json_of(&self.get("").await?, 200)
    }

    /// Waits until the conversation is like this.
    pub(super) async fn becomes(&self, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut now = Value::Null;
        eventually(what, async || {
            // A server that is being restarted answers later.
            let Ok(Ok(found)) = self.get("").await.map(|answer| json_of(&answer, 200)) else { return false };
            now = found;
            is(&now)
        })
        .await
        .with_context(|| format!("{now:#}"))?;
        Ok(now)
    }

    /// Waits until no turn runs.
    pub(super) async fn rests(&self) -> Result<Value> {
        self.becomes("no turn runs", |now| !now["turn"]["outcome"].is_null()).await
    }

    /// Sends a message, and waits until it is answered.
    pub(super) async fn ask(&self, text: &str) -> Result<Value> {
        self.say(text).await?;
        self.rests().await
    }

    /// Waits until a tool call has an execution; its id.
    pub(super) async fn execution(&self) -> Result<String> {
        let now = self.becomes("a program runs", |now| {
            tool_calls(now).iter().any(|call| !call["execution_ids"][0].is_null())
        });
        let calls = tool_calls(&now.await?);
        let id = calls.iter().rev().find_map(|call| call["execution_ids"][0].as_str().map(str::to_owned));
        id.context("no execution")
    }

    /// Waits until a person is asked for consent; the question.
    pub(super) async fn approval(&self) -> Result<Value> {
        let asked = |now: &Value| {
            tool_calls(now).into_iter().find(|call| {
                call["state"] == "waiting"
                    && !call["approval"].is_null()
                    && call["approval"]["decision"].is_null()
            })
        };
        let now = self.becomes("a question", |now| asked(now).is_some()).await?;
        Ok(asked(&now).context("a question")?["approval"].clone())
    }

    /// Answers a question.
    pub(super) async fn decide(&self, approval: &Value, body: &Value) -> Result<Response> {
        self.post(&format!("/approvals/{}", text(&approval["approval_id"])), body).await
    }

    /// The session.
    pub(super) async fn session(&self) -> Result<String> {
        self.now().await?["session_id"].as_str().map(str::to_owned).context("no session")
    }

    /// Writes an empty file into the workspace, for which a program waits.
    pub(super) async fn signal(&self, path: &str) -> Result<()> {
        let path = format!("/v1/sessions/{}/files/content?path={path}", self.session().await?);
        json_of(&self.api.request("PUT", &path, &[], b"").await?, 201).map(drop)
    }

    /// The whole log.
    pub(super) async fn log(&self) -> Result<Vec<LogEntry>> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = json_of(&self.get(&format!("/log?after={after}")).await?, 200)?;
            let items: Vec<LogEntry> = serde_json::from_value(page["items"].clone())?;
            all.extend(items);
            match page["next_after"].as_u64() {
                Some(next) => after = next,
                None => return Ok(all),
            }
        }
    }

    /// What the whole log says.
    pub(super) async fn folded(&self) -> Result<Conversation> {
        Ok(Conversation::of(&self.log().await?))
    }
}

/// All parts of all messages.
pub(super) fn parts(now: &Value) -> Vec<Value> {
    let messages = now["messages"].as_array().into_iter().flatten();
    messages.flat_map(|message| message["parts"].as_array().cloned().unwrap_or_default()).collect()
}

/// All tool calls.
pub(super) fn tool_calls(now: &Value) -> Vec<Value> {
    parts(now).into_iter().filter(|part| part["type"] == "tool_call").collect()
}

/// All notices.
pub(super) fn notices(now: &Value) -> Vec<String> {
    let parts = parts(now).into_iter().filter(|part| part["type"] == "notice");
    parts.map(|part| text(&part["text"])).collect()
}

/// The texts of a message.
pub(super) fn text_of(message: &Value) -> String {
    let parts = message["parts"].as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["type"] == "text").map(|part| text(&part["text"]));
    texts.collect::<Vec<_>>().join("|")
}

/// The texts of the last message.
pub(super) fn last_text(now: &Value) -> String {
    now["messages"].as_array().and_then(|all| all.last()).map(text_of).unwrap_or_default()
}
