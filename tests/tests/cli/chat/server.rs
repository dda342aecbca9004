//! The same conversations on a server.

use anyhow::{Context, Result};
use headwater_scripted_model::ScriptedModel;
use headwater_tests::TestServer;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{command, configured, script};
use crate::command::{lines_of_json, run, start};

async fn server(turns: Value) -> Result<(TestServer, ScriptedModel)> {
    let model = ScriptedModel::start(script(&turns)?).await?;
    Ok((TestServer::configured(&configured(&model)).await?, model))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_on_a_server_is_answered_resumed_listed_and_exported() -> Result<()> {
    let (server, model) = server(json!([command("echo out"), {"text": "one"}, {"text": "two"}])).await?;
    let done = run(&server, &["chat", "first"])?;
    assert_eq!((done.text().as_str(), done.code), ("one\n", Some(0)), "{}", done.errors());
    assert!(done.errors().contains("│ out") && done.errors().contains("✓ $ echo out"), "{}", done.errors());
    let listed = lines_of_json(&run(&server, &["chat", "--list", "--json"])?.stdout)?;
    let id = listed[0]["id"].as_str().context("no id")?;
    let done = run(&server, &["chat", "--resume", id, "--json", "second"])?;
    let events = lines_of_json(&done.stdout)?;
    assert_eq!((events[0]["id"].as_str(), done.code), (Some(id), Some(0)), "{}", done.errors());
    assert!(events.iter().any(|event| event["text"] == "two"), "{events:?}");
    assert!(events.iter().all(|event| event["text"] != "one"), "only what is new");
    let file = server.scratch().join("c.md");
    let done = run(&server, &["chat", "--export", file.to_str().context("no path")?])?;
    assert_eq!(done.code, Some(0), "{}", done.errors());
    assert!(std::fs::read_to_string(file)?.contains("second"));
    let refused = run(&server, &["chat", "--sandbox", "read-only", "go"])?;
    assert_eq!((refused.code, refused.errors().contains("this machine")), (Some(2), true));
    assert_eq!(model.requests().len(), 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_goes_on_over_a_killed_server_and_ctrl_c_stops_it() -> Result<()> {
    let wait = "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended";
    let (mut server, model) = server(json!([command(wait), {"text": "never"}])).await?;
    let mut running = start(&server, &["chat", "go"])?;
    running.stderr.until_printed("│ begun")?;
    server.kill_gateway().await?;
    running.signal(Signal::INT)?;
    let done = running.finish()?;
    assert_eq!(done.code, Some(130), "{}", done.errors());
    assert!(done.errors().contains("interrupted"), "{}", done.errors());
    assert_eq!(model.requests().len(), 1);
    Ok(())
}
