//! The agent loop of `examples/` in Python, with a scripted model and a real server. The one in TypeScript needs packages of
//! npm: tests/js tests it.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::text;
use serde_json::{Value, json};

use crate::model::{Model, calls};

/// The model writes a file, makes two mistakes, and reads what a command prints.
#[tokio::test]
async fn the_agent_loop_in_python_works() -> Result<()> {
    let server = TestServer::small().await?;
    let model = Model::start(vec![
        calls(&[("c1", "write_file", r#"{"file_path":"n.txt","content":"6 * 7\n"}"#)]),
        calls(&[("c2", "no_such_tool", "{}"), ("c3", "exec_command", "{not json")]),
        calls(&[("c4", "exec_command", r#"{"cmd":"echo $(( $(cat n.txt) ))"}"#)]),
        json!({"role": "assistant", "content": "It is 42."}),
    ])
    .await?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/agent.py");
    let output = tokio::process::Command::new("python3")
        .arg(example)
        .arg("What is in n.txt?")
        .env("MODEL_URL", model.url())
        .env("HEADWATER_URL", server.url())
        .env("HEADWATER_TOKEN", server.token())
        .env("CONVERSATION", "example")
        .kill_on_drop(true)
        .output()
        .await
        .context("python3 does not start")?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success() && stdout == "It is 42.\n", "{stdout}\n{stderr}");
    let requests = model.requests();
    let last = requests.last().context("no request")?;
    ensure!(requests.len() == 4 && last["tools"].as_array().map(Vec::len) == Some(17), "{last}");
    let results: Vec<&Value> = last["messages"].as_array().context("no messages")?.iter().collect();
    let result = |id: &str| {
        let found = results.iter().find(|message| message["tool_call_id"] == id);
        found.map(|message| text(&message["content"])).unwrap_or_default()
    };
    ensure!(result("c2").contains("there is no tool `no_such_tool`"), "{last}");
    ensure!(!result("c3").is_empty() && result("c4").contains("42"), "{last}");
    let listed = server.api().json("/v1/executions?conversation_id=example").await?;
    ensure!(listed["items"].as_array().map(Vec::len) == Some(1), "{listed}");
    Ok(())
}
