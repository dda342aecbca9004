//! The end of a command that runs on in the background begins a turn, if the conversation wants that.

use anyhow::{Result, ensure};
use headwater_tests::http::text;
use serde_json::{Value, json};

use super::chat::{Chat, Talk, calls, last_text, on, text_of, until};

fn script() -> Value {
    let cmd = format!("{}; echo '[approved]'; exit 4", until("go"));
    json!({"rules": [
        on("in the background", &[json!({"text": "I saw its end."})]),
        on("begin", &[calls("exec_command", &json!({"cmd": cmd, "yield_time_ms": 250})), json!({"text": "It runs."})]),
        on("still there", &[json!({"text": "Yes."})]),
    ]})
}

/// A conversation whose command runs in the background.
async fn begun(chat: &Chat, wakes: bool) -> Result<(Talk, String)> {
    let talk = chat.talk(&json!({"wakes": wakes})).await?;
    let now = talk.ask("begin").await?;
    ensure!(last_text(&now) == "It runs.", "{now:#}");
    let execution = talk.execution().await?;
    Ok((talk, execution))
}

/// Waits until the agent was woken, and checks that it was once.
async fn is_woken(talk: &Talk) -> Result<()> {
    let now = talk.becomes("the agent is woken", |now| last_text(now) == "I saw its end.").await?;
    let message = &now["messages"][2];
    let said = text_of(message);
    ensure!(message["role"] == "user" && message["author"].is_null(), "nobody sent it: {message}");
    ensure!(said.contains("from the server") && said.contains("exited with code 4"), "{said}");
    ensure!(said.contains("    [approved]"), "its output is indented: {said}");
    talk.rests().await?;
    let now = talk.ask("still there?").await?;
    ensure!(now["messages"].as_array().map(Vec::len) == Some(6), "it was woken once: {now:#}");
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_background_command_wakes_the_conversation_if_that_is_allowed() -> Result<()> {
    let chat = Chat::new(&script()).await?;
    let (talk, execution) = begun(&chat, true).await?;
    talk.signal("go").await?;
    talk.api.closed(&execution).await?;
    is_woken(&talk).await
}

#[tokio::test]
async fn it_does_not_wake_a_conversation_that_did_not_allow_it() -> Result<()> {
    let chat = Chat::new(&script()).await?;
    let (silent, execution) = begun(&chat, false).await?;
    let (other, _) = begun(&chat, true).await?;
    // Forbidden after it began.
    let (late, last) = begun(&chat, true).await?;
    late.patch(&json!({"wakes": false})).await?;
    for talk in [&silent, &late, &other] {
        talk.signal("go").await?;
    }
    silent.api.closed(&execution).await?;
    late.api.closed(&last).await?;
    // The positive control ended after them.
    is_woken(&other).await?;
    for talk in [&silent, &late] {
        let now = talk.now().await?;
        ensure!(now["messages"].as_array().map(Vec::len) == Some(2), "{now:#}");
        // The agent learns of it when it is asked.
        let asked = talk.ask("still there?").await?;
        ensure!(last_text(&asked) == "Yes.");
    }
    Ok(())
}

#[tokio::test]
async fn a_restarted_server_wakes_a_conversation_too() -> Result<()> {
    let mut chat = Chat::new(&script()).await?;
    let (later, meanwhile) = (begun(&chat, true).await?, begun(&chat, true).await?);
    let (silent, execution) = begun(&chat, false).await?;
    let session = meanwhile.0.session().await?;
    // One command ends while no gateway runs.
    chat.server.kill();
    let folder = chat.server.data().join("sessions").join(&session).join("workspace");
    std::fs::write(folder.join("go"), "")?;
    chat.server.start_again().await?;
    is_woken(&meanwhile.0).await?;
    for talk in [&silent, &later.0] {
        talk.signal("go").await?;
    }
    silent.api.closed(&execution).await?;
    is_woken(&later.0).await?;
    let now = silent.now().await?;
    ensure!(now["messages"].as_array().map(Vec::len) == Some(2), "{}", text(&now["id"]));
    Ok(())
}
