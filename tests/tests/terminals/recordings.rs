//! Recordings: what is parsed back from an asciicast is what is in the log.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::viewer::{RESIZE, Viewer};

async fn recording(api: &Api, id: &str) -> Result<(Value, Vec<(f64, String, String)>)> {
    let answer = api.get(&format!("/v1/executions/{id}/recording")).await?;
    ensure!(answer.status == 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/x-asciicast"));
    let text = answer.text();
    let mut lines = text.lines();
    let header = serde_json::from_str(lines.next().context("no header")?)?;
    let events = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok((header, events))
}

fn data(events: &[(f64, String, String)], code: &str) -> Vec<String> {
    events.iter().filter(|event| event.1 == code).map(|event| event.2.clone()).collect()
}

#[tokio::test]
async fn a_recording_of_a_terminal_is_its_log_with_its_sizes_and_its_end() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "frames=binary&rows=30&cols=100").await?;
    let id = viewer.hears("attached").await?["execution_id"].as_str().context("no id")?.to_owned();
    viewer.keys("printf 'a€😀\\033[1mb\\033[0m\\n'\r".as_bytes()).await?;
    viewer.shows("\u{1b}[1mb").await?;
    viewer.socket.send(RESIZE, &[40, 0, 120, 0]).await?;
    viewer.hears("resized").await?;
    viewer.keys(b"stty size; exit 3\r").await?;
    viewer.hears("exited").await?;
    let (header, events) = recording(&api, &id).await?;
    assert_eq!(
        (&header["version"], &header["term"]["rows"], &header["term"]["cols"]),
        (&json!(3), &json!(30), &json!(100))
    );
    let log = api.get(&format!("/v1/executions/{id}/output?stream=output")).await?;
    assert_eq!(data(&events, "o").concat(), log.text());
    assert_eq!(data(&events, "r"), ["120x40"]);
    assert_eq!(data(&events, "x"), ["3"]);
    assert!(events.iter().all(|event| event.0 >= 0.0));
    Ok(())
}

#[tokio::test]
async fn a_recording_of_any_execution_is_what_it_printed() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let pipes = json!({ "shell": "echo out; echo err >&2; kill -9 $$" });
    let id = api.start(&session, &pipes).await?;
    api.closed(&id).await?;
    let (header, events) = recording(&api, &id).await?;
    assert_eq!(header["term"]["rows"], 24);
    let mut printed = data(&events, "o");
    printed.sort();
    assert_eq!(printed.concat(), "err\r\nout\r\n");
    assert_eq!(data(&events, "x"), ["137"]);
    let running = json!({ "shell": "echo so far; sleep 1000", "tty": { "rows": 5, "cols": 9 } });
    let id = api.start(&session, &running).await?;
    eventually("the output so far is recorded", async || {
        recording(&api, &id).await.is_ok_and(|(_, events)| data(&events, "o").concat() == "so far\r\n")
    })
    .await?;
    let (header, events) = recording(&api, &id).await?;
    assert_eq!(header["term"]["cols"], 9);
    assert!(data(&events, "x").is_empty());
    Ok(())
}
