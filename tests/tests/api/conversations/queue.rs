//! Messages for a turn that runs, and its stop.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, Talk, last_text, on, runs, text_of, tool_calls, until};

async fn send(talk: &Talk, id: &str, delivery: &str) -> Result<Value> {
    let body = json!({"id": id, "text": id, "delivery": delivery});
    json_of(&talk.post("/messages", &body).await?, 202)
}

fn said(now: &Value) -> Vec<String> {
    now["messages"].as_array().into_iter().flatten().map(text_of).collect()
}

#[tokio::test]
async fn a_message_for_a_running_turn_steers_it_or_waits_and_can_be_withdrawn() -> Result<()> {
    let script = json!({"rules": [
        on("begin", &[runs(&until("go"))]),
        on("steering", &[json!({"text": "Steered."})]),
        on("waiting", &[json!({"text": "Waited."})]),
    ]});
    let chat = Chat::new(&script).await?;
    let talk = chat.talk(&json!({})).await?;
    let turn = talk.say("begin").await?;
    talk.execution().await?;
    for (id, delivery) in [("waiting", "queue"), ("withdrawn", "steer"), ("steering", "steer")] {
        let accepted = send(&talk, id, delivery).await?;
        ensure!(accepted["is_queued"] == true && accepted["turn_id"] == turn["turn_id"], "{accepted}");
    }
    // Sent again, also with what was its parent then, it waits once.
    let first = talk.now().await?["messages"][0]["id"].clone();
    let again = json!({"id": "waiting", "text": "waiting", "delivery": "queue", "parent_id": first});
    ensure!(json_of(&talk.post("/messages", &again).await?, 202)?["is_queued"] == true);
    let queue = talk.now().await?["queue"].clone();
    let waiting: Vec<_> =
        queue.as_array().into_iter().flatten().map(|one| text(&one["message_id"])).collect();
    ensure!(waiting == ["waiting", "withdrawn", "steering"], "{queue}");
    let withdrawn = talk.api.delete(&talk.path("/queue/withdrawn")).await?;
    ensure!(withdrawn.status == 204);
    let again = talk.api.delete(&talk.path("/queue/withdrawn")).await?;
    ensure!(error_code(&again, 409)? == "conflict");
    talk.signal("go").await?;
    let now = talk.becomes("all is answered", |now| last_text(now) == "Waited.").await?;
    ensure!(said(&now) == ["begin", "", "steering", "Steered.", "waiting", "Waited."], "{:?}", said(&now));
    let now = talk.rests().await?;
    ensure!(now["queue"] == json!([]) && now["turn"]["outcome"] == "completed");
    let late = talk.api.delete(&talk.path("/queue/steering")).await?;
    ensure!(error_code(&late, 409)? == "conflict");
    Ok(())
}

#[tokio::test]
async fn a_stop_keeps_the_text_and_what_the_program_has_printed() -> Result<()> {
    let script = json!({"rules": [
        on("write", &[json!({"text": "The first half {{hold}}and the second."})]),
        on("run", &[json!({
            "text": "I run it.",
            "tool_calls": [{"name": "code_execution", "arguments": {"runtime": "terminal",
                "code": "echo printed; echo more >&2; sleep 1000"}}],
        })]),
        on("go on", &[json!({"text": "I go on."})]),
        on("later", &[json!({"text": "At last."})]),
    ]});
    let chat = Chat::new(&script).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.say("write").await?;
    talk.becomes("the first half", |now| last_text(now) == "The first half ").await?;
    ensure!(talk.post_ok("/stop", &Value::Null).await?["was_running"] == true);
    let now = talk.now().await?;
    ensure!(now["turn"]["outcome"] == "stopped" && last_text(&now) == "The first half ", "{now}");
    ensure!(talk.post_ok("/stop", &Value::Null).await?["was_running"] == false);
    talk.say("run").await?;
    let execution = talk.execution().await?;
    talk.api.until_printed(&execution, "printed").await?;
    // A message that waits is not answered by itself after a stop.
    send(&talk, "later", "queue").await?;
    talk.post_ok("/stop", &Value::Null).await?;
    let now = talk.now().await?;
    let call = &tool_calls(&now)[0];
    ensure!(call["state"] == "stopped" && text(&call["output"]["text"]).contains("printed"), "{call}");
    ensure!(last_text(&now) == "I run it." && now["queue"][0]["message_id"] == "later", "{now}");
    ensure!(talk.api.execution(&execution).await?["exit"]["code"] != 0);
    // The model learns what happened.
    talk.say("go on").await?;
    let now = talk.becomes("all is answered", |now| last_text(now) == "At last.").await?;
    ensure!(said(&now).ends_with(&["go on", "I go on.", "later", "At last."].map(str::to_owned)), "{now}");
    let asked = chat.last_request()?.body.to_string();
    ensure!(asked.contains("printed") && asked.contains("The first half"), "{asked}");
    Ok(())
}
