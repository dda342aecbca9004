//! The chat: conversations of a server whose model follows a script.

pub mod idle;
mod model;
pub mod output;
pub mod token;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use self::model::ModelThread;
use super::bench_server::{BenchServer, EVENTS};
use super::http::Http;

/// How long a turn may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// A server, and the model that it asks.
#[derive(Debug)]
struct Chat {
    site: BenchServer,
    model: ModelThread,
}

impl Chat {
    /// Starts both. The model answers as the rules say.
    async fn start(rules: &Value) -> Result<Self> {
        let model = ModelThread::start(&json!({ "rules": rules }).to_string())?;
        let config = format!(
            "\n[models.scripted]\napi = \"openai-chat\"\nbase_url = \"http://{}/v1\"\nmodel = \"scripted\"\n\
             default = true\n",
            model.address()
        );
        Ok(Self { site: BenchServer::configured(1, &config).await?, model })
    }
}

/// A rule: what the model answers to a message with this text, one turn after the other.
fn on(text: &str, turns: &Value) -> Value {
    json!({ "when": { "last_user_contains": text }, "turns": turns })
}

/// Creates a conversation; returns its path.
async fn conversation(http: &mut Http) -> Result<String> {
    let made = http.call("POST", "/v1/conversations", "{}", 201).await?;
    Ok(format!("/v1/conversations/{}", made["id"].as_str().context("no id")?))
}

/// Sends a message.
async fn send(http: &mut Http, conversation: &str, text: &str) -> Result<()> {
    let body = json!({ "text": text }).to_string();
    http.call("POST", &format!("{conversation}/messages"), &body, 202).await.map(drop)
}

/// Sends a message and waits until the turn has ended well.
async fn say(http: &mut Http, conversation: &str, text: &str) -> Result<()> {
    send(http, conversation, text).await?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let turn = http.call("GET", conversation, "", 200).await?["turn"].take();
        match turn["outcome"].as_str() {
            Some("completed") => return Ok(()),
            Some(_) => anyhow::bail!("the turn did not end well: {turn}"),
            None => ensure!(Instant::now() < deadline, "the turn does not end: {turn}"),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Follows the log of a conversation from the beginning.
async fn follow(http: &mut Http, conversation: &str) -> Result<()> {
    http.stream("GET", &format!("{conversation}/log"), EVENTS, "").await
}
