//! The store is rebuilt after a kill and after its loss, and follows changes made without the gateway.

use std::fs;

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text, texts};
use serde_json::json;

/// Runs a line on the local engine, behind the gateway's back; gives its one new execution's id.
fn run_locally(server: &TestServer, line: &str) -> Result<()> {
    let run = server.command().env_remove("HEADWATER_URL").args(["run", "--shell", line]).output()?;
    ensure!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Ok(())
}

pub(crate) fn remove_store(server: &TestServer) -> Result<()> {
    for entry in fs::read_dir(server.data())? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("store.db") {
            fs::remove_file(entry.path())?;
        }
    }
    // Without its row the token is worth nothing; the next server makes a new one.
    fs::remove_file(server.data().join("token"))?;
    Ok(())
}

#[tokio::test]
async fn a_lost_store_is_rebuilt_from_the_worker_with_everybodys_things() -> Result<()> {
    let mut server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({"name": "hers"})).await?;
    let ended = ann
        .start(&session, &json!({"shell": "echo kept; exit 2", "metadata": {"conversation_id": "talk"}}))
        .await?;
    ann.closed(&ended).await?;
    let running = ann.start(&session, &json!({"shell": "read x; echo $x", "stdin": "open"})).await?;
    let info = json_of(&ann.post("/v1/executions", &json!({"shell": "echo one-shot"})).await?, 201)?;
    let one_shot = text(&info["id"]);
    ann.closed(&one_shot).await?;
    server.kill();
    remove_store(&server)?;
    server.start_again().await?;

    let ann = server.user("ann", "member")?;
    eventually("all of it is found", async || {
        ann.json("/v1/executions").await.is_ok_and(|page| texts(&page, "id").len() == 3)
    })
    .await?;
    assert_eq!(texts(&ann.json("/v1/sessions?name=hers").await?, "id"), [session]);
    assert_eq!(ann.execution(&ended).await?["exit"]["code"], 2);
    assert_eq!(texts(&ann.json("/v1/executions?conversation_id=talk").await?, "id"), [ended.as_str()]);
    assert_eq!(ann.stdout(&ended).await?, "kept\n");
    assert_eq!(ann.stdout(&one_shot).await?, "one-shot\n");
    let path = format!("/v1/executions/{running}/stdin?eof=true");
    json_of(&ann.request("POST", &path, &[], b"still there\n").await?, 204)?;
    assert_eq!(ann.stdout(&running).await?, "still there\n");
    let bob = server.user("bob", "member")?;
    assert!(texts(&bob.json("/v1/executions").await?, "id").is_empty());
    Ok(())
}

#[tokio::test]
async fn an_end_that_no_gateway_saw_is_recorded_by_the_next() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let id = me.one_shot(&json!({"shell": "read x; exit 6", "stdin": "open"})).await?;
    server.kill();
    let worker = server.worker().await?;
    worker.stdin(id.parse()?).await?.end().await?;
    worker.wait(id.parse()?, headwater_tests::host::PATIENCE, true).await?;
    server.start_again().await?;
    let page = me.json("/v1/executions?state=closed").await?;
    assert_eq!(texts(&page, "id"), [id.as_str()], "{page}");
    assert_eq!(page["items"][0]["exit"], json!({"reason": "exited", "code": 6}));
    let line =
        server.log().lines().filter(|line| line.contains("execution ended") && line.contains(&id)).count();
    assert_eq!(line, 1);
    Ok(())
}

#[tokio::test]
async fn executions_of_the_local_command_line_are_visible_to_the_operator_only() -> Result<()> {
    let server = TestServer::small().await?;
    let (me, ann) = (server.api(), server.user("ann", "member")?);
    run_locally(&server, "echo local")?;
    let worker = server.worker().await?;
    let all_of_them = worker.executions(None, false).await?;
    let local = all_of_them.first().context("nothing ran")?;
    let path = format!("/v1/executions/{}", local.id);
    error_code(&ann.get(&path).await?, 404)?;
    assert_eq!(me.json(&path).await?["exit"]["code"], 0);
    assert_eq!(me.stdout(&local.id.to_string()).await?, "local\n");
    json_of(&me.get(&format!("/v1/sessions/{}", local.session_id)).await?, 200)?;
    assert_eq!(texts(&me.json("/v1/executions").await?, "id"), [local.id.to_string()]);
    error_code(&ann.get(&path).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn the_store_answers_for_executions_that_the_worker_has_forgotten() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({"name": "gone"})).await?;
    let ended = me.start(&session, &json!({"shell": "echo x; exit 8"})).await?;
    let before = me.closed(&ended).await?;
    let running = me.start(&session, &json!({"shell": "sleep 1000"})).await?;
    server.kill();
    let worker = server.worker().await?;
    worker.end_session(session.parse()?, true).await?;
    server.start_again().await?;
    let after = me.execution(&ended).await?;
    for field in ["exit", "state", "stdout_bytes", "last_seq", "duration_ms", "command"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let lost = me.execution(&running).await?;
    assert_eq!((&lost["state"], &lost["exit"]["reason"]), (&json!("closed"), &json!("lost")), "{lost}");
    let info = me.json(&format!("/v1/sessions/{session}")).await?;
    assert_eq!((&info["state"], &info["name"]), (&json!("ended"), &json!("gone")));
    json_of(&me.delete(&format!("/v1/sessions/{session}")).await?, 204)?;
    error_code(&me.get(&format!("/v1/executions/{ended}")).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn an_execution_removed_without_the_gateway_is_reported_as_lost() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let worker = server.worker().await?;
    worker.end_session(session.parse()?, true).await?;
    let path = format!("/v1/executions/{id}");
    eventually("it counts as lost", async || {
        me.json(&path).await.is_ok_and(|info| info["state"] == "closed" && info["exit"]["reason"] == "lost")
    })
    .await?;
    assert_eq!(me.json(&format!("/v1/sessions/{session}")).await?["state"], "ended");
    Ok(())
}

#[tokio::test]
async fn each_execution_is_counted_and_logged_once_however_many_watch_it() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "read x; exit 3", "stdin": "open"})).await?;
    let watchers: Vec<_> = (0..20)
        .map(|n| {
            let (me, id) = (me.clone(), id.clone());
            let path = if n % 2 == 0 { "?wait=60s" } else { "/events" };
            tokio::spawn(async move { me.get(&format!("/v1/executions/{id}{path}")).await })
        })
        .collect();
    me.write_input(&id, b"go\n").await?;
    for watcher in watchers {
        assert_eq!(watcher.await??.status, 200);
    }
    let counted = async || anyhow::Ok(me.get("/metrics").await?.text());
    let text = counted().await?;
    assert!(text.contains("headwater_executions_started_total 1\n"), "{text}");
    assert!(text.contains("headwater_executions_ended_total{reason=\"exited\"} 1\n"), "{text}");
    assert!(text.contains("headwater_panics{process=\"server\"} 0\n"), "{text}");
    server.kill();
    server.start_again().await?;
    // An old log that is read again is not a new end.
    assert!(me.get(&format!("/v1/executions/{id}/events")).await?.text().contains("event: closed"));
    assert_eq!(me.closed(&id).await?["exit"]["code"], 3);
    let text = counted().await?;
    assert!(text.contains("headwater_executions_ended_total{reason=\"exited\"} 0\n"), "{text}");
    let log = server.log();
    for line in ["execution started", "execution ended"] {
        assert_eq!(log.lines().filter(|text| text.contains(line)).count(), 1, "{log}");
    }
    Ok(())
}
