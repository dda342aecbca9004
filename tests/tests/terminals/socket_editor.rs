//! The output of executions that an editor starts reaches the viewers of the session's terminal.

use anyhow::{Context, Result};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::viewer::Viewer;

async fn execute(api: &Api, session: &str, code: &str) -> Result<String> {
    let request = json!({"session_id": session, "code": code});
    let started = api.post_ok("/v1/sessions/execute/python", &request).await?;
    Ok(started["execution_id"].as_str().context("no id")?.to_owned())
}

/// What the viewer is sent of an execution up to its end: the output by stream, and the end.
async fn whole(viewer: &mut Viewer, id: &str) -> Result<(String, String, Value)> {
    let (mut out, mut err, mut last) = (String::new(), String::new(), 0);
    loop {
        while let Some(at) = viewer.info.iter().position(|info| info["execution_id"] == id) {
            let message = viewer.info.remove(at);
            if message["type"] == "execution_ended" {
                return Ok((out, err, message));
            }
            let seq = message["execution_seq"].as_u64().context("no position")?;
            assert!(seq > last && message["seq"].is_u64(), "{message}");
            last = seq;
            let text = if message["stream"] == "stdout" { &mut out } else { &mut err };
            text.push_str(message["content"].as_str().context("no content")?);
        }
        assert!(viewer.take().await?, "closed before the end of {id}");
    }
}

fn of_executions(viewer: &Viewer) -> Vec<&Value> {
    viewer.info.iter().filter(|info| !info["execution_id"].is_null()).collect()
}

#[tokio::test]
async fn one_socket_shows_the_shell_and_every_execution_of_the_editor() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({"name": "demo"})).await?;
    let mut viewer = Viewer::open(&api, &session, "").await?;
    let mut without = Viewer::open(&api, &session, "executions=false").await?;
    let mut events = Viewer::open(&api, &session, "frames=events").await?;
    let attached = events.hears("attached").await?;
    let first =
        execute(&api, "demo", "import sys\nprint('one')\nprint('zwei ä')\nprint('err', file=sys.stderr)")
            .await?;
    let (out, err, end) = whole(&mut viewer, &first).await?;
    assert_eq!((out.as_str(), err.as_str()), ("one\r\nzwei ä\r\n", "err\r\n"));
    assert_eq!(end, json!({"type": "execution_ended", "execution_id": first, "code": 0}));
    // Others at once, each with its id; an execution of another route is not the editor's.
    let other = api.start(&session, &json!({"shell": "echo other"})).await?;
    let ids = [execute(&api, &session, "print(2)").await?, execute(&api, &session, "exit(3)").await?];
    let (out, _, _) = whole(&mut viewer, &ids[0]).await?;
    let (_, _, end) = whole(&mut viewer, &ids[1]).await?;
    assert_eq!((out.as_str(), &end["code"]), ("2\r\n", &json!(3)));
    let binary = json!({"session_id": session, "binary_path": "/workspace/missing"});
    let missing = api.post_ok("/v1/sessions/execute/binary", &binary).await?;
    let (_, _, end) = whole(&mut viewer, missing["execution_id"].as_str().context("no id")?).await?;
    assert!(end["code"] == -1 && end["message"].is_string(), "{end}");
    // The shell goes on, and nobody else was sent them.
    viewer.command("echo shell-$((1 + 1))").await?;
    for viewer in [&mut viewer, &mut without, &mut events] {
        viewer.shows("shell-2").await?;
        assert_eq!(of_executions(viewer), Vec::<&Value>::new());
    }
    assert_ne!(attached["execution_id"], json!(other));
    Ok(())
}

#[tokio::test]
async fn a_viewer_that_comes_while_an_execution_runs_is_shown_it_from_its_beginning() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    // One write: `print` writes the end of the line apart.
    let code = "import os, time\nos.write(1, b'begun\\n')\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('over')";
    let mut early = Viewer::open(&api, &session, "").await?;
    let id = execute(&api, &session, code).await?;
    assert_eq!(early.hears("output").await?["content"], "begun\r\n");
    let mut late = Viewer::open(&api, &session, "").await?;
    let begun = late.hears("output").await?;
    assert_eq!((&begun["content"], &begun["execution_id"]), (&json!("begun\r\n"), &json!(id)));
    early.command("touch go").await?;
    assert_eq!(whole(&mut late, &id).await?.0, "over\r\n");
    // One that has ended is not shown again: a later one is the first that comes.
    let mut later = Viewer::open(&api, &session, "").await?;
    let next = execute(&api, &session, "print('next')").await?;
    assert_eq!(later.hears("output").await?["execution_id"], json!(next));
    Ok(())
}

#[tokio::test]
async fn a_token_for_terminals_alone_is_not_sent_the_output_of_executions() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let scopes = json!({"scopes": ["terminals:write"]});
    let token = api.post_ok("/v1/tokens", &scopes).await?;
    let narrow = server.api_with(token["token"].as_str().context("no token")?);
    let mut all = Viewer::open(&api, &session, "").await?;
    let mut terminals = Viewer::open(&narrow, &session, "").await?;
    let id = execute(&api, &session, "print('x')").await?;
    whole(&mut all, &id).await?;
    terminals.command("echo after-$((1 + 1))").await?;
    terminals.shows("after-2").await?;
    assert_eq!(of_executions(&terminals), Vec::<&Value>::new());
    Ok(())
}

#[tokio::test]
async fn executions_within_the_credit_are_divided_and_complete() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    // A terminal that prints nothing, which would use the credit.
    let quiet = json!({"name": "quiet", "command": "sleep 1000"});
    api.post_ok(&format!("/v1/sessions/{session}/terminals"), &quiet).await?;
    let mut viewer = Viewer::open(&api, &session, "name=quiet&after=0").await?;
    viewer.say(&json!({"type": "credit", "bytes": 3})).await?;
    // An answer to a later message: the credit has arrived.
    viewer.say(&json!({"type": "odd"})).await?;
    viewer.hears("error").await?;
    execute(&api, &session, "print('abcdef')").await?;
    let mut text = String::new();
    for _ in 0..8 {
        let part = viewer.hears("output").await?;
        let content = part["content"].as_str().context("no content")?;
        assert!(content.len() <= 3, "{part}");
        text.push_str(content);
        if text.ends_with('\n') {
            break;
        }
        viewer.say(&json!({"type": "credit", "bytes": 2})).await?;
    }
    assert_eq!(text, "abcdef\r\n");
    Ok(())
}
