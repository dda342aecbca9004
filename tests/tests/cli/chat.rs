//! `headwater chat`: one answer, a conversation at a terminal, and what survives a kill. The model follows a script.

mod interrupts;
mod notebook;
mod once;
mod resume;
mod server;
mod terminal;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use headwater_scripted_model::{Script, ScriptedModel};
use headwater_tests::host::eventually;
use headwater_tests::{Options, TestWorker};
use serde_json::{Value, json};

use crate::command::{Done, Running, headwater};

/// A worker, a model, and a project in which the agent works.
struct Desk {
    worker: TestWorker,
    model: ScriptedModel,
    folder: PathBuf,
}

/// The section of the configuration for this model.
fn configured(model: &ScriptedModel) -> String {
    format!("[models.m]\napi = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"scripted\"\n", model.base_url())
}

fn script(turns: &Value) -> Result<Script> {
    turns.to_string().parse().map_err(anyhow::Error::msg)
}

/// An answer that calls `exec_command`.
fn command(cmd: &str) -> Value {
    json!({"tool_calls": [{"name": "exec_command", "arguments": {"cmd": cmd, "yield_time_ms": 30000}}]})
}

impl Desk {
    async fn new(turns: Value) -> Result<Self> {
        let model = ScriptedModel::start(script(&turns)?).await?;
        let options = Options { pool: Some(1), config: Some(configured(&model)), ..Options::default() };
        let worker = TestWorker::with(options).await?;
        let folder = fs::canonicalize(worker.scratch())?.join("project");
        fs::create_dir(&folder)?;
        fs::write(folder.join("a.txt"), "hello\n")?;
        Ok(Self { worker, model, folder })
    }

    /// `headwater chat` with these words, in the project.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = headwater(&self.worker, &[&["chat"], words].concat());
        command.current_dir(&self.folder);
        command
    }

    fn start(&self, words: &[&str]) -> Result<Running> {
        Running::start(self.command(words))
    }

    /// Runs it to its end, without input.
    fn chat(&self, words: &[&str]) -> Result<Done> {
        self.start(words)?.finish()
    }

    /// The last request that the model got.
    fn last_request(&self) -> Result<String> {
        Ok(self.model.requests().last().context("no request")?.body.to_string())
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// Waits until so many turns have ended. What is on the screen of a turn comes before its end.
    async fn until_ended(&self, turns: usize) -> Result<()> {
        let ended = || -> Result<usize> {
            let mut count = 0;
            for file in fs::read_dir(self.worker.data().join("chats"))? {
                let path = file?.path();
                if path.extension().is_some_and(|ending| ending == "log") {
                    count += fs::read_to_string(path)?.matches("\"turn_ended\"").count();
                }
            }
            Ok(count)
        };
        eventually("the turns end", async || ended().is_ok_and(|count| count >= turns)).await
    }

    /// The ids of all conversations.
    fn conversations(&self) -> Result<Vec<Value>> {
        crate::command::lines_of_json(&self.chat(&["--list", "--json"])?.stdout)
    }
}
