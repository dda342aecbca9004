//! What conversations cost the server in memory.

use anyhow::{Context, Result, ensure};
use headwater_tests::host;
use serde_json::json;

use super::chat::{Chat, last_text, runs, tool_calls};

/// A number of the metrics.
async fn metric(chat: &Chat, name: &str) -> Result<f64> {
    let text = chat.server.api().get("/metrics").await?.text();
    let line = text.lines().find(|line| line.starts_with(name)).with_context(|| format!("no {name}"))?;
    Ok(line.rsplit(' ').next().context("no number")?.parse()?)
}

#[tokio::test]
async fn a_conversation_with_much_output_does_not_hold_it_in_memory() -> Result<()> {
    let chat =
        Chat::new(&json!([runs("yes 0123456789abcdef | head -c 104857600"), {"text": "Done."}])).await?;
    // The first turn loads what every later one needs.
    let small = chat.talk(&json!({"title": "small"})).await?;
    small.ask("go").await?;
    let before = host::memory(chat.server.pid(), "VmHWM")?;
    let talk = chat.talk(&json!({})).await?;
    let now = talk.ask("go").await?;
    ensure!(last_text(&now) == "Done.", "{now:#}");
    let execution = talk.execution().await?;
    let path = format!("/v1/executions/{execution}/output?stream=stdout");
    let length = talk.api.request("HEAD", &path, &[], b"").await?;
    ensure!(length.header("content-length") == Some("104857600"), "{}", length.head);
    let after = host::memory(chat.server.pid(), "VmHWM")?;
    let grown = after.saturating_sub(before) >> 20;
    eprintln!("before {} MiB, grown by {grown} MiB", before >> 20);
    ensure!(grown < 32, "the peak has grown by {grown} MiB");
    // Neither the log nor a response has it.
    let log = talk.get("/log").await?.body.len();
    let detail = talk.get("").await?.body.len();
    ensure!(log < (1 << 20) && detail < (1 << 20), "{log} {detail}");
    ensure!(tool_calls(&now)[0]["output"]["structured"]["truncated"] == true);
    Ok(())
}

#[tokio::test]
async fn conversations_that_rest_take_a_bounded_number_of_places_in_memory() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "Hello."}])).await?;
    let mut talks = Vec::new();
    for _ in 0..300 {
        let talk = chat.talk(&json!({})).await?;
        talk.now().await?;
        talks.push(talk);
    }
    let held = metric(&chat, "headwater_conversations ").await?;
    ensure!((1.0..=256.0).contains(&held), "{held}");
    // Those that were dropped are read again.
    ensure!(talks[0].now().await?["id"] == talks[0].id);
    ensure!(last_text(&talks[1].ask("hi").await?) == "Hello.");
    Ok(())
}
