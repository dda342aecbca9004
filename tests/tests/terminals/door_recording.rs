//! Recordings: what is parsed back from an asciicast is what is in the log.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use serde_json::{Value, json};

use crate::door_scene::{RESIZE, Viewer, ask, session};

async fn recording(server: &TestServer, id: &str) -> Result<(Value, Vec<(f64, String, String)>)> {
    let answer = ask(server, "GET", &format!("/v1/executions/{id}/recording"), "").await?;
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
    let session = session(&server).await?;
    let mut viewer = Viewer::open(&server, &session, "frames=binary&rows=30&cols=100").await?;
    let id = viewer.hears("attached").await?["execution_id"].as_str().context("no id")?.to_owned();
    viewer.keys("printf 'a€😀\\033[1mb\\033[0m\\n'\r".as_bytes()).await?;
    viewer.shows("\u{1b}[1mb").await?;
    viewer.socket.send(RESIZE, &[40, 0, 120, 0]).await?;
    viewer.hears("resized").await?;
    viewer.keys(b"stty size; exit 3\r").await?;
    viewer.hears("exited").await?;
    let (header, events) = recording(&server, &id).await?;
    assert_eq!(
        (&header["version"], &header["term"]["rows"], &header["term"]["cols"]),
        (&json!(3), &json!(30), &json!(100))
    );
    let log = ask(&server, "GET", &format!("/v1/executions/{id}/output?stream=output"), "").await?;
    assert_eq!(data(&events, "o").concat(), log.text());
    assert_eq!(data(&events, "r"), ["120x40"]);
    assert_eq!(data(&events, "x"), ["3"]);
    assert!(events.iter().all(|event| event.0 >= 0.0));
    Ok(())
}

#[tokio::test]
async fn a_recording_of_any_execution_is_what_it_printed() -> Result<()> {
    let server = TestServer::start().await?;
    let session = session(&server).await?;
    let start = |body: Value| {
        let (server, path) = (&server, format!("/v1/sessions/{session}/executions"));
        async move { ask(server, "POST", &path, &body.to_string()).await?.json() }
    };
    let pipes = start(json!({ "shell": "echo out; echo err >&2; kill -9 $$" })).await?;
    let id = pipes["id"].as_str().context("no id")?;
    ask(&server, "GET", &format!("/v1/executions/{id}?wait=60s"), "").await?;
    let (header, events) = recording(&server, id).await?;
    assert_eq!(header["term"]["rows"], 24);
    let mut printed = data(&events, "o");
    printed.sort();
    assert_eq!(printed.concat(), "err\r\nout\r\n");
    assert_eq!(data(&events, "x"), ["137"]);
    let running =
        start(json!({ "shell": "echo so far; sleep 1000", "tty": { "rows": 5, "cols": 9 } })).await?;
    let id = running["id"].as_str().context("no id")?;
    loop {
        let (header, events) = recording(&server, id).await?;
        assert_eq!(header["term"]["cols"], 9);
        if data(&events, "o").concat() == "so far\r\n" {
            assert!(data(&events, "x").is_empty());
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
