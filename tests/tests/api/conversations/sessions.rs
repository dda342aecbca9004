//! The session of a conversation: shared by two, hibernated, ended.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, on, runs, tool_calls};

fn printed(now: &Value, at: usize) -> String {
    text(&tool_calls(now)[at]["output"]["structured"]["stdout"])
}

#[tokio::test]
async fn two_conversations_share_a_session_and_a_hibernated_one_is_resumed_by_a_tool_call() -> Result<()> {
    let script = json!({"rules": [
        on("write", &[runs("echo shared > file; pwd"), json!({"text": "Written."})]),
        on("read", &[runs("cat file"), json!({"text": "Read."})]),
    ]});
    let chat = Chat::new(&script).await?;
    let api = chat.server.api();
    let one = chat.talk(&json!({})).await?;
    ensure!(printed(&one.ask("write").await?, 0) == "/workspace\n");
    let session = one.session().await?;
    let kept = api.json(&format!("/v1/sessions/{session}")).await?;
    ensure!(kept["name"] == format!("conversation:{}", one.id), "{kept}");
    let two = chat.talk(&json!({"session_id": session})).await?;
    ensure!(printed(&two.ask("read").await?, 0) == "shared\n");
    json_of(&api.post(&format!("/v1/sessions/{session}/hibernate"), &Value::Null).await?, 200)?;
    ensure!(printed(&one.ask("read").await?, 1) == "shared\n");
    ensure!(two.session().await? == session && one.session().await? == session);
    // One of them is deleted: the other one works on in the session.
    ensure!(one.api.delete(&one.path("")).await?.status == 204);
    ensure!(printed(&two.ask("read").await?, 1) == "shared\n");
    Ok(())
}

#[tokio::test]
async fn a_conversation_whose_session_has_ended_gets_another_one() -> Result<()> {
    let chat =
        Chat::new(&json!({"rules": [on("look", &[runs("ls; pwd"), json!({"text": "Looked."})])]})).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.ask("look").await?;
    let session = talk.session().await?;
    ensure!(talk.api.delete(&format!("/v1/sessions/{session}")).await?.status == 204);
    ensure!(printed(&talk.ask("look").await?, 1) == "/workspace\n");
    ensure!(talk.session().await? != session);
    Ok(())
}

#[tokio::test]
async fn a_session_of_somebody_else_cannot_be_named() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "Hello."}])).await?;
    let (ann, bob) = (chat.server.user("ann", "member")?, chat.server.user("bob", "member")?);
    let session = bob.session(&json!({"name": "bobs"})).await?;
    let talk = super::chat::Talk::new(&ann, &json!({})).await?;
    for name in [session.as_str(), "bobs", "nobody"] {
        let body = json!({"session_id": name});
        ensure!(error_code(&ann.post("/v1/conversations", &body).await?, 404)? == "not_found", "{name}");
        ensure!(error_code(&ann.patch(&talk.path(""), &body).await?, 404)? == "not_found", "{name}");
    }
    ensure!(talk.now().await?["session_id"].is_null());
    Ok(())
}
