//! The secret of a shell's marks stays in the worker, and the prompt reaches everybody who attaches.

use anyhow::{Context, Result};
use headwater_tests::TestServer;
use serde_json::json;

use crate::viewer::Viewer;

#[tokio::test]
async fn no_reader_of_a_terminal_is_sent_the_secret_of_its_marks() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "frames=binary").await?;
    let id = viewer.hears("attached").await?["execution_id"].as_str().context("no id")?.to_owned();
    let mut json = Viewer::open(&api, &session, "").await?;
    // Its characters with spaces between them, which hides nothing.
    viewer.keys(b"echo \"[$(echo $__hw_secret | sed 's/./& /g')]\"; echo $__hw_secret; echo en''d\r").await?;
    viewer.shows(" ]\r\n").await?;
    viewer.shows("end").await?;
    viewer.hears("command_ended").await?;
    viewer.hears("prompt").await?;
    json.shows("end").await?;
    let text = viewer.text();
    let spaced =
        text.rsplit_once(" ]\r\n").and_then(|(before, _)| before.rsplit_once('[')).context("not printed")?;
    let secret = spaced.1.replace(' ', "");
    assert_eq!(secret.len(), 32, "{secret:?}");
    let mut late = Viewer::open(&api, &session, "frames=events&after=0").await?;
    late.shows("en''d").await?;
    late.shows("end").await?;
    let mut all = vec![text, json.text(), late.text()];
    for path in ["output", "output?stream=output", "recording"] {
        all.push(api.get(&format!("/v1/executions/{id}/{path}")).await?.text());
    }
    all.push(api.get(&format!("/v1/sessions/{session}/terminals/main/snapshot")).await?.text());
    viewer.keys(b"exit\r").await?;
    viewer.hears("exited").await?;
    all.push(api.get(&format!("/v1/executions/{id}/events")).await?.text());
    for (at, text) in all.iter().enumerate() {
        assert!(!text.contains(&secret), "reader {at}: {text}");
    }
    assert!(all[0].contains(&format!(";hw={}", "0".repeat(32))), "the marks are there: {}", all[0]);
    // Positions are those of the log.
    let path = format!("/v1/executions/{id}/output?stream=output");
    let part = api.request("GET", &path, &[("Range", "bytes=0-99")], b"").await?;
    assert_eq!(part.body, all[3].as_bytes()[..100]);
    Ok(())
}

#[tokio::test]
async fn a_viewer_that_attaches_at_a_waiting_prompt_is_sent_it() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut first = Viewer::open(&api, &session, "frames=events").await?;
    first.hears("prompt").await?;
    for query in ["", "frames=binary", &format!("after={}", first.seq)] {
        Viewer::open(&api, &session, query).await?.hears("prompt").await?;
    }
    server.kill_worker().await?;
    Viewer::open(&api, &session, "").await?.hears("prompt").await?;
    // While a command runs there is none.
    first.keys_as_text("sleep 1000\r").await?;
    first.hears("command_started").await?;
    let mut second = Viewer::open(&api, &session, "").await?;
    second.say(&json!({"type": "odd"})).await?;
    second.hears("error").await?;
    assert!(!second.info.iter().any(|info| info["type"] == "prompt"), "{:?}", second.info);
    second.say(&json!({"type": "interrupt"})).await?;
    second.hears("prompt").await?;
    Ok(())
}
