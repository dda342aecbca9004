//! MCP servers that a person adds to a conversation.

use anyhow::{Context, Result};
use headwater_tests::http::{error_code, json_of};
use serde_json::{Value, json};

use super::Chat;
use crate::mcp::SERVER;

const SECRET: &str = "sesame-open-0123";

fn mine() -> Value {
    // What it returns has the value's length only: what a tool says on purpose nobody can hide.
    let code = SERVER.replace("{os.environ['KEY']}", "{len(os.environ['KEY'])} characters");
    json!({"command": ["python3", "-c", code], "env": {"KEY": SECRET}})
}

#[tokio::test]
async fn a_person_adds_an_mcp_server_whose_program_runs_in_the_session_and_whose_secrets_stay() -> Result<()>
{
    let call = json!({"name": "mcp__mine__echo", "arguments": {"text": "hello"}});
    let chat = Chat::new(&json!([{"tool_calls": [call]}, {"text": "Done."}])).await?;
    let path = chat.conversation(&json!({"mcp_servers": {"mine": mine()}})).await?;
    let now = chat.ask(&path, "go").await?;
    let call = now["messages"][1]["parts"]
        .as_array()
        .and_then(|parts| parts.iter().find(|part| part["type"] == "tool_call").cloned());
    let text = call.context("no call")?["output"]["text"].clone();
    assert_eq!(text, format!("hello from /workspace with {} characters", SECRET.len()));
    assert_eq!(now["mcp_servers"]["mine"]["env"], json!(["KEY"]));

    // The value is in no response, export, log or prompt.
    let session = now["session_id"].as_str().context("no session")?;
    let mut seen = vec![chat.server.log(), format!("{:?}", chat.model.requests())];
    for path in [
        path.clone(),
        "/v1/conversations".to_owned(),
        format!("{path}/log"),
        format!("{path}/export?format=json"),
        format!("{path}/export?format=markdown"),
        format!("/v1/sessions/{session}"),
        format!("/v1/sessions/{session}/tool-calls"),
        "/v1/executions".to_owned(),
    ] {
        seen.push(chat.api.get(&path).await?.text());
    }
    let executions = chat.api.json("/v1/executions").await?;
    let executions = executions["items"].as_array().context("no executions")?;
    let server = executions.iter().find(|one| one["metadata"]["agent"] == "mcp").context("no server ran")?;
    seen.push(
        chat.api.get(&format!("/v1/executions/{}", server["id"].as_str().context("no id")?)).await?.text(),
    );
    seen.push(chat.server.api().get("/v1/audit").await?.text());
    for text in seen {
        assert!(!text.contains(SECRET), "{text}");
    }

    // A name is removed, and others stay.
    let change = json!({"mcp_servers": {"mine": null, "other": {"command": ["other"]}}});
    let now = json_of(&chat.api.patch(&path, &change).await?, 200)?;
    assert_eq!(now["mcp_servers"], json!({"other": {"command": ["other"]}}));
    Ok(())
}

#[tokio::test]
async fn only_operators_add_servers_with_a_url_and_only_the_owner_changes_servers() -> Result<()> {
    let config = "[mcp_servers.taken]\ncommand = [\"true\"]\n";
    let chat = Chat::with("openai-chat", &json!([]), config).await?;
    let far =
        json!({"mcp_servers": {"far": {"url": "http://127.0.0.1:9/mcp", "headers": {"x-key": SECRET}}}});
    let refused = chat.api.post("/v1/conversations", &far).await?;
    assert_eq!(error_code(&refused, 403)?, "forbidden");
    assert!(
        refused.text().contains("mcp_servers.far.url") && refused.text().contains("command"),
        "{}",
        refused.text()
    );
    let path = chat.conversation(&json!({})).await?;
    assert_eq!(error_code(&chat.api.patch(&path, &far).await?, 403)?, "forbidden");
    let made = json_of(&chat.server.api().post("/v1/conversations", &far).await?, 201)?;
    assert_eq!(made["mcp_servers"]["far"], json!({"url": "http://127.0.0.1:9/mcp", "headers": ["x-key"]}));
    let taken = json!({"mcp_servers": {"taken": {"command": ["x"]}}});
    let refused = chat.api.patch(&path, &taken).await?;
    assert_eq!(error_code(&refused, 400)?, "invalid_request");
    // An editor writes to the agent, and does not choose the programs that start without a question.
    let bob = chat.server.user("bob", "member")?;
    json_of(&chat.api.put(&format!("{path}/members/bob"), &json!({"role": "editor"})).await?, 200)?;
    let change = json!({"mcp_servers": {"mine": mine()}});
    assert_eq!(error_code(&bob.patch(&path, &change).await?, 403)?, "forbidden");
    json_of(&chat.api.patch(&path, &change).await?, 200)?;
    assert!(!bob.get(&path).await?.text().contains(SECRET));
    Ok(())
}
