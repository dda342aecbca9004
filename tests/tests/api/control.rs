//! What acts on a running execution: input, signals, cancelling, its terminal, its processes.

use anyhow::Result;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;

#[tokio::test]
async fn input_is_written_until_its_end_and_what_is_repeated_counts_once() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "cat", "stdin": "open"})).await?;
    let path = format!("/v1/executions/{id}/stdin");
    json_of(&me.request("POST", &path, &[], b"one ").await?, 204)?;
    json_of(&me.request("POST", &path, &[("Content-Type", "text/plain")], b"\xff\x00two ").await?, 204)?;
    json_of(&me.request("POST", &format!("{path}?offset=4"), &[], b"\xff\x00two three").await?, 204)?;
    json_of(&me.request("POST", &format!("{path}?offset=4"), &[], b"\xff\x00two three").await?, 204)?;
    error_code(&me.request("POST", &format!("{path}?offset=100"), &[], b"hole").await?, 400)?;
    json_of(&me.request("POST", &format!("{path}?eof=true"), &[], b"!").await?, 204)?;
    me.closed(&id).await?;
    let output = me.get(&format!("/v1/executions/{id}/output?stream=stdout")).await?;
    assert_eq!(output.body, b"one \xff\x00two three!");
    assert_eq!(error_code(&me.request("POST", &path, &[], b"late").await?, 409)?, "conflict");

    let deaf = me.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let answer = me.request("POST", &format!("/v1/executions/{deaf}/stdin"), &[], b"x").await?;
    assert_eq!(error_code(&answer, 409)?, "conflict");
    Ok(())
}

#[tokio::test]
async fn a_megabyte_of_input_arrives_whole() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "wc -c; ", "stdin": "open"})).await?;
    let body = vec![b'x'; 1 << 20];
    me.end_input(&id, &body).await?;
    assert_eq!(me.stdout(&id).await?.trim(), "1048576");
    Ok(())
}

#[tokio::test]
async fn more_input_than_one_request_may_write_is_refused_before_any_is_written() -> Result<()> {
    let config = Some("pool = 1\n[server]\nmax_stdin = \"10\"\n".into());
    let server = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "cat", "stdin": "open"})).await?;
    let path = format!("/v1/executions/{id}/stdin?eof=true");
    assert_eq!(error_code(&me.request("POST", &path, &[], b"01234567890").await?, 413)?, "body_too_large");
    json_of(&me.request("POST", &path, &[], b"0123456789").await?, 204)?;
    assert_eq!(me.stdout(&id).await?, "0123456789");
    Ok(())
}

#[tokio::test]
async fn signals_are_sent_by_name_and_number_and_cancelling_twice_succeeds() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let ready = json!({"shell": "trap 'echo got; exit 4' USR1; echo ready; while :; do sleep 0.05; done"});
    let id = me.start(&session, &ready).await?;
    me.until_printed(&id, "ready").await?;
    json_of(&me.post(&format!("/v1/executions/{id}/signal"), &json!({"signal": "usr1"})).await?, 204)?;
    assert_eq!(me.closed(&id).await?["exit"]["code"], 4);
    let late = me.post(&format!("/v1/executions/{id}/signal"), &json!({"signal": 10})).await?;
    assert_eq!(error_code(&late, 409)?, "conflict");

    let id = me.start(&session, &ready).await?;
    me.until_printed(&id, "ready").await?;
    json_of(
        &me.post(&format!("/v1/executions/{id}/signal"), &json!({"signal": 9, "tree": true})).await?,
        204,
    )?;
    let ended = me.closed(&id).await?;
    assert_eq!((&ended["exit"]["reason"], &ended["exit"]["signal"]), (&json!("signalled"), &json!(9)));

    let id = me.start(&session, &json!({"argv": ["sleep", "1000"]})).await?;
    // Without a body, as curl sends it.
    json_of(&me.request("POST", &format!("/v1/executions/{id}/cancel"), &[], b"").await?, 204)?;
    assert_eq!(me.closed(&id).await?["exit"]["reason"], "cancelled");
    json_of(&me.post(&format!("/v1/executions/{id}/cancel"), &json!({})).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn a_terminal_is_resized_and_what_has_none_is_not() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id =
        me.start(&session, &json!({"shell": "read x; stty size", "tty": {"rows": 24, "cols": 80}})).await?;
    let path = format!("/v1/executions/{id}/resize");
    json_of(&me.post(&path, &json!({"rows": 40, "cols": 132})).await?, 204)?;
    error_code(&me.post(&path, &json!({"rows": 0, "cols": 1})).await?, 400)?;
    me.write_input(&id, b"\n").await?;
    me.closed(&id).await?;
    let output = me.get(&format!("/v1/executions/{id}/output")).await?.text();
    assert!(output.contains("40 132"), "{output}");
    let plain = me.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let answer = me.post(&format!("/v1/executions/{plain}/resize"), &json!({"rows": 1, "cols": 1})).await?;
    assert_eq!(error_code(&answer, 409)?, "conflict");
    Ok(())
}

#[tokio::test]
async fn the_processes_of_an_execution_are_listed() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "sleep 1001 & sleep 1002; true"})).await?;
    let path = format!("/v1/executions/{id}/processes");
    eventually("both sleep", async || {
        let info = me.json(&path).await.unwrap_or_default();
        let names = info["processes"].as_array().into_iter().flatten();
        names.filter(|process| process["name"] == "sleep" && process["pid"].is_i64()).count() == 2
    })
    .await?;
    me.cancel(&id).await?;
    me.closed(&id).await?;
    // A dead process is listed until init has waited for it.
    eventually("an empty list", async || {
        me.json(&path).await.is_ok_and(|info| info == json!({"processes": []}))
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_restart_of_the_worker_is_only_a_pause() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id =
        me.start(&session, &json!({"shell": "read x; read y; exit $((x + y))", "stdin": "open"})).await?;
    let path = format!("/v1/executions/{id}/stdin");
    json_of(&me.request("POST", &path, &[], b"3\n").await?, 204)?;
    let waiting = {
        let (me, id) = (me.clone(), id.clone());
        tokio::spawn(async move { me.closed(&id).await })
    };
    server.kill_worker().await?;
    assert_eq!(me.execution(&id).await?["state"], "running");
    server.kill_worker().await?;
    json_of(&me.request("POST", &format!("{path}?offset=2&eof=true"), &[], b"4\n").await?, 204)?;
    assert_eq!(waiting.await??["exit"]["code"], 7);
    server.kill_worker().await?;
    let other = me.start(&session, &json!({"shell": "echo on"})).await?;
    assert_eq!(me.stdout(&other).await?, "on\n");
    server.kill_worker().await?;
    json_of(&me.delete(&format!("/v1/sessions/{session}")).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn a_stopping_server_does_not_wait_for_pending_requests() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let program = json!({"shell": "head -c 1 > /dev/null; echo got; sleep 1000", "stdin": "open"});
    let id = me.start(&session, &program).await?;
    let looking = {
        let (me, path) = (me.clone(), format!("/v1/executions/{id}?wait=60s"));
        tokio::spawn(async move { me.json(&path).await })
    };
    let writing = {
        let (me, path) = (me.clone(), format!("/v1/executions/{id}/stdin"));
        tokio::spawn(async move { me.request("POST", &path, &[], &vec![b'x'; 8 << 20]).await })
    };
    me.until_printed(&id, "got\n").await?;
    server.terminate()?;
    // An answer may be lost with the rest of a body on its way; that both are let go is what counts.
    if let Ok(info) = looking.await? {
        assert_eq!(info["state"], "running");
    }
    if let Ok(answer) = writing.await? {
        assert_eq!(error_code(&answer, 503)?, "unavailable");
    }
    let log = server.log();
    assert!(!log.contains("still in flight"), "{log}");
    server.start_again().await?;
    assert_eq!(me.execution(&id).await?["state"], "running");
    Ok(())
}
