//! Executions: starting, waiting, listing, removing.

use std::time::{Duration, Instant};

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text, texts};
use serde_json::{Value, json};

#[tokio::test]
async fn an_execution_is_started_waited_for_and_removed() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}/executions");
    let asked = json!({"shell": "cat; echo out; echo err >&2; exit 3", "stdin": {"text": "in\n"}, "metadata": {"a": "b"}});
    let answer = me.post(&path, &asked).await?;
    let info = json_of(&answer, 201)?;
    let id = text(&info["id"]);
    assert_eq!(answer.header("location"), Some(format!("/v1/executions/{id}").as_str()));
    assert_eq!((&info["session_id"], &info["metadata"]), (&json!(session), &json!({"a": "b"})));
    let ended = me.closed(&id).await?;
    assert_eq!(ended["exit"], json!({"reason": "exited", "code": 3}));
    assert_eq!((&ended["stdout_bytes"], &ended["stderr_bytes"]), (&json!(7), &json!(4)));
    assert!(
        ended["duration_ms"].is_u64() && ended["exited_at"].is_string() && ended["usage"]["cpu_ms"].is_u64()
    );
    assert!(ended["last_seq"].as_u64() > Some(2), "{ended}");
    assert_eq!(me.stdout(&id).await?, "in\nout\n");

    json_of(&me.delete(&format!("/v1/executions/{id}")).await?, 204)?;
    error_code(&me.delete(&format!("/v1/executions/{id}")).await?, 404)?;
    error_code(&me.get(&format!("/v1/executions/{id}")).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn a_one_shot_ends_its_session() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let asked = json!({"language": "python", "code": "import os, sys\nprint(sys.argv[1:], os.environ['A'])", "args": ["x"],
        "env": {"A": "1"}, "limits": {"pids": 77}});
    let info = json_of(&me.post("/v1/executions", &asked).await?, 201)?;
    let (id, session) = (text(&info["id"]), text(&info["session_id"]));
    assert_eq!(me.stdout(&id).await?, "['x'] 1\n");
    let path = format!("/v1/sessions/{session}");
    eventually("its session ends", async || me.json(&path).await.is_ok_and(|info| info["state"] == "ended"))
        .await?;
    let info = me.json(&path).await?;
    assert_eq!(
        (&info["one_shot"], &info["metadata"], &info["limits"]["pids"]),
        (&json!(true), &json!({}), &json!(77))
    );
    assert_eq!(texts(&me.json("/v1/sessions?state=ended").await?, "id"), [session]);
    // Its log outlives it.
    assert_eq!(me.stdout(&id).await?, "['x'] 1\n");
    Ok(())
}

#[tokio::test]
async fn a_start_that_is_refused_leaves_nothing_behind() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let nonsense = json!({"language": "klingon", "code": "x"});
    for path in ["/v1/executions".to_owned(), format!("/v1/sessions/{session}/executions")] {
        let answer = me.send("POST", &path, &[("Idempotency-Key", "k1")], &nonsense).await?;
        assert_eq!(error_code(&answer, 400)?, "invalid_request");
        assert!(
            answer.json()?["error"]["hint"].as_str().is_some_and(|hint| hint.contains("python")),
            "{}",
            answer.text()
        );
    }
    assert!(texts(&me.json("/v1/executions").await?, "id").is_empty());
    assert_eq!(texts(&me.json("/v1/sessions").await?, "id"), [session]);
    // The key is free again, for what makes sense.
    let answer =
        me.send("POST", "/v1/executions", &[("Idempotency-Key", "k1")], &json!({"shell": "echo ok"})).await?;
    assert_eq!(me.stdout(&text(&json_of(&answer, 201)?["id"])).await?, "ok\n");
    Ok(())
}

#[tokio::test]
async fn a_wait_ends_with_the_program_or_when_its_time_is_over() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me
        .start(&session, &json!({"shell": "read line; echo $line; (sleep 1000) & exit 0", "stdin": "open"}))
        .await?;
    let begun = Instant::now();
    let info = me.json(&format!("/v1/executions/{id}?wait=300ms")).await?;
    assert_eq!((&info["state"], &info["exit"]), (&json!("running"), &Value::Null));
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());

    let waiting = {
        let (me, path) = (me.clone(), format!("/v1/executions/{id}?wait=60s"));
        tokio::spawn(async move { me.json(&path).await })
    };
    me.write_input(&id, b"go\n").await?;
    // A child holds the output open: it has exited, and is not closed.
    let info = waiting.await??;
    assert_eq!((&info["state"], &info["exit"]["reason"]), (&json!("exited"), &json!("exited")));
    let info = me.json(&format!("/v1/executions/{id}?wait=100ms&until=closed")).await?;
    assert_eq!(info["state"], "exited");
    assert_eq!(error_code(&me.delete(&format!("/v1/executions/{id}")).await?, 409)?, "conflict");
    let page = me.json("/v1/executions?state=exited").await?;
    assert_eq!(texts(&page, "id"), [id.as_str()]);
    me.cancel(&id).await?;
    assert_eq!(me.closed(&id).await?["exit"], json!({"reason": "exited", "code": 0}));
    json_of(&me.delete(&format!("/v1/executions/{id}")).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn executions_are_listed_by_every_filter() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let (one, two) = (me.session(&json!({})).await?, me.session(&json!({})).await?);
    let early = me.start(&one, &json!({"shell": "true", "metadata": {"conversation_id": "talk"}})).await?;
    me.closed(&early).await?;
    let code = me.start(&one, &json!({"language": "bash", "code": "exit 1"})).await?;
    me.closed(&code).await?;
    let running = me.start(&two, &json!({"shell": "sleep 1000"})).await?;
    let when = text(&me.execution(&code).await?["started_at"]);

    let list =
        async |query: String| anyhow::Ok(texts(&me.json(&format!("/v1/executions{query}")).await?, "id"));
    assert_eq!(list(String::new()).await?, [running.as_str(), code.as_str(), early.as_str()]);
    assert_eq!(list(format!("?session_id={one}")).await?, [code.as_str(), early.as_str()]);
    assert_eq!(list("?state=running".into()).await?, [running.as_str()]);
    assert_eq!(list("?state=closed".into()).await?, [code.as_str(), early.as_str()]);
    assert!(list("?state=queued".into()).await?.is_empty());
    assert_eq!(list("?language=bash".into()).await?, [code.as_str()]);
    assert_eq!(list("?conversation_id=talk".into()).await?, [early.as_str()]);
    assert!(list("?started_after=2100-01-01T00:00:00Z".into()).await?.is_empty());
    assert!(list("?started_before=2000-01-01T00:00:00Z".into()).await?.is_empty());
    let later = list(format!("?started_after={when}")).await?;
    assert!(later.contains(&running), "{later:?}");
    assert_eq!(list(format!("?session_id={two}&language=bash")).await?, [] as [&str; 0]);

    let first = me.json("/v1/executions?limit=2").await?;
    assert_eq!(texts(&first, "id"), [running.as_str(), code.as_str()]);
    let cursor = text(&first["next_cursor"]);
    let second = me.json(&format!("/v1/executions?limit=2&cursor={cursor}")).await?;
    assert_eq!((texts(&second, "id"), &second["next_cursor"]), (vec![early], &Value::Null));
    let shown = &first["items"][0];
    assert_eq!((&shown["state"], &shown["session_id"]), (&json!("running"), &json!(two)));
    assert!(shown["pid"].is_i64() && first["items"][1]["exit"]["code"] == 1, "{first}");
    Ok(())
}

#[tokio::test]
async fn a_start_is_answered_with_its_events_where_they_are_asked_for() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let asked = json!({"shell": "echo hello; exit 5"});
    let answer =
        me.send("POST", "/v1/executions?until=exited", &[("Accept", "text/event-stream")], &asked).await?;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let body = answer.text();
    let kinds: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"started"), Some(&"exited")), "{body}");
    assert!(body.contains("hello"), "{body}");
    let place = answer.header("location").unwrap_or_default().to_owned();
    // The store knew of the end before the client did.
    let info = me.json(&place).await?;
    assert_eq!(info["exit"], json!({"reason": "exited", "code": 5}));
    // A bad query starts nothing.
    error_code(
        &me.send("POST", "/v1/executions?until=never", &[("Accept", "text/event-stream")], &asked).await?,
        400,
    )?;
    assert_eq!(texts(&me.json("/v1/executions").await?, "id").len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_execution_that_nobody_watches_is_noted_when_it_ends() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let id = text(&json_of(&me.post("/v1/executions", &json!({"shell": "exit 9"})).await?, 201)?["id"]);
    eventually("the end is in the log", async || {
        let log = server.log();
        log.lines()
            .any(|line| line.contains("execution ended") && line.contains(&id) && line.contains("code=9"))
    })
    .await?;
    let starts = server.log().lines().filter(|line| line.contains("execution started")).count();
    assert_eq!(starts, 1);
    Ok(())
}
