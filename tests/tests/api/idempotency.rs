//! A request that is sent twice is done once: at the same time, and over a kill of the server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use headwater_tests::host::{PATIENCE, eventually};
use headwater_tests::http::{error_code, json_of, text, texts};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;

#[tokio::test]
async fn fifty_requests_with_one_key_start_one_execution() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    for path in [format!("/v1/sessions/{session}/executions"), "/v1/executions".to_owned()] {
        let asked = json!({"shell": "echo once; sleep 1000"});
        let requests: Vec<_> = (0..50)
            .map(|n| {
                let (me, path, asked) = (me.clone(), path.clone(), asked.clone());
                let accept = if n % 5 == 0 { "text/event-stream" } else { "application/json" };
                let headers = [("Idempotency-Key", "the-key"), ("Accept", accept)];
                tokio::spawn(async move {
                    if n % 5 > 0 {
                        let answer = me.send("POST", &path, &headers, &asked).await?;
                        return anyhow::Ok(text(&json_of(&answer, 201)?["id"]));
                    }
                    let answer = me.head("POST", &path, &headers, &asked).await?;
                    assert_eq!(answer.status, 200, "{}", answer.head);
                    let place = answer.header("location").unwrap_or_default();
                    Ok(place.rsplit('/').next().unwrap_or_default().to_owned())
                })
            })
            .collect();
        let mut ids = BTreeSet::new();
        for request in requests {
            ids.insert(request.await??);
        }
        assert_eq!(ids.len(), 1, "{ids:?}");
        let id = ids.pop_first().unwrap_or_default();
        me.until_printed(&id, "once\n").await?;
        me.cancel(&id).await?;
        assert_eq!(me.stdout(&id).await?, "once\n");
        json_of(&me.delete(&format!("/v1/executions/{id}")).await?, 204)?;
        assert!(texts(&me.json("/v1/executions").await?, "id").is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn fifty_requests_with_one_key_create_one_session() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let requests: Vec<_> = (0..50)
        .map(|_| {
            let me = me.clone();
            tokio::spawn(async move {
                let answer = me
                    .send("POST", "/v1/sessions", &[("Idempotency-Key", "k")], &json!({"name": "x"}))
                    .await?;
                json_of(&answer, 201)
            })
        })
        .collect();
    let mut answers = Vec::new();
    for request in requests {
        answers.push(request.await??);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(texts(&me.json("/v1/sessions").await?, "id"), [text(&answers[0]["id"])]);
    Ok(())
}

#[tokio::test]
async fn a_key_with_another_request_is_refused_and_keys_are_their_owners() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let key = [("Idempotency-Key", "k")];
    let asked = json!({"shell": "echo one"});
    let first = json_of(&ann.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    let other = ann.send("POST", "/v1/executions", &key, &json!({"shell": "echo two"})).await?;
    assert_eq!(error_code(&other, 422)?, "key_reused");
    let session = ann.send("POST", "/v1/sessions", &key, &json!({})).await?;
    assert_eq!(error_code(&session, 422)?, "key_reused");
    let his = json_of(&bob.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    assert_ne!(first["id"], his["id"]);
    // An ended execution is returned, not started again.
    let id = text(&first["id"]);
    let ended = ann.closed(&id).await?;
    let again = json_of(&ann.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    assert_eq!((&again["id"], &again["exit"]), (&first["id"], &ended["exit"]));
    // A removed execution is forgotten, and its key with it.
    json_of(&ann.delete(&format!("/v1/executions/{id}")).await?, 204)?;
    let anew = json_of(&ann.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    assert_ne!(anew["id"], first["id"]);
    Ok(())
}

#[tokio::test]
async fn a_key_means_the_same_execution_after_kills_of_gateway_and_worker() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let key = [("Idempotency-Key", "over-the-kill")];
    let asked = json!({"shell": "echo once; sleep 1000"});
    let first = json_of(&me.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    server.kill();
    server.start_again().await?;
    let second = json_of(&me.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    assert_eq!(first["id"], second["id"]);
    server.kill_worker().await?;
    let third = json_of(&me.send("POST", "/v1/executions", &key, &asked).await?, 201)?;
    assert_eq!(first["id"], third["id"]);
    let id = text(&first["id"]);
    me.until_printed(&id, "once\n").await?;
    me.cancel(&id).await?;
    assert_eq!(me.stdout(&id).await?, "once\n");
    Ok(())
}

#[tokio::test]
async fn each_request_that_a_kill_interrupts_starts_one_execution() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}/executions");
    let (answered, broken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let repeat = |n: usize| {
        let (me, path) = (me.clone(), path.clone());
        let (answered, broken) = (Arc::clone(&answered), Arc::clone(&broken));
        tokio::spawn(async move {
            let (key, asked) = (format!("key-{n}"), json!({"shell": format!("echo {n} >> starts")}));
            let deadline = Instant::now() + PATIENCE;
            let info = loop {
                match me.send("POST", &path, &[("Idempotency-Key", &key)], &asked).await {
                    Ok(answer) if answer.status == 201 => break answer.json()?,
                    other => ensure!(Instant::now() < deadline, "no answer to {n}: {other:?}"),
                }
                broken.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            };
            answered.fetch_add(1, Ordering::Relaxed);
            anyhow::Ok(text(&info["id"]))
        })
    };
    // Twenty at once, and a kill in the middle of them: when some are answered and others are not. If all were answered
    // before it came, twenty more.
    let (mut ids, mut asked) = (BTreeSet::new(), 0);
    while broken.load(Ordering::Relaxed) == 0 {
        ensure!(asked < 400, "no kill broke a request off: this test shows nothing");
        let requests: Vec<_> = (asked..asked + 20).map(repeat).collect();
        eventually("one is answered", async || answered.load(Ordering::Relaxed) > asked).await?;
        server.kill();
        server.start_again().await?;
        asked += 20;
        for request in requests {
            let id = request.await??;
            me.closed(&id).await?;
            ids.insert(id);
        }
    }
    assert_eq!(ids.len(), asked);
    let count = me
        .start(&session, &json!({"shell": "sort -n starts | uniq -c | sort -rn | head -1; wc -l < starts"}))
        .await?;
    let starts = me.stdout(&count).await?;
    let numbers: Vec<_> = starts.split_whitespace().collect();
    assert_eq!(
        (numbers.first(), numbers.last()),
        (Some(&"1"), Some(&asked.to_string().as_str())),
        "{starts}"
    );
    assert_eq!(texts(&me.json("/v1/executions?limit=500").await?, "id").len(), asked + 1);
    Ok(())
}

#[tokio::test]
async fn a_start_refused_for_capacity_can_be_repeated_with_its_key() -> Result<()> {
    let config = Some("pool = 1\nmax_running = 1\n".into());
    let server = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let first = me.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let path = format!("/v1/sessions/{session}/executions");
    let key = [("Idempotency-Key", "k")];
    let asked = json!({"shell": "echo late"});
    for path in [path.as_str(), "/v1/executions"] {
        let answer = me.send("POST", path, &key, &asked).await?;
        assert_eq!(error_code(&answer, 429)?, "exhausted");
        assert!(answer.header("retry-after").is_some());
    }
    assert_eq!(texts(&me.json("/v1/executions").await?, "id"), [first.as_str()]);
    me.cancel(&first).await?;
    me.closed(&first).await?;
    // The permit is free a moment after the end is reported.
    let mut info = json!(null);
    eventually("there is room", async || {
        let answer = me.send("POST", &path, &key, &asked).await;
        info = answer
            .ok()
            .filter(|answer| answer.status == 201)
            .and_then(|answer| answer.json().ok())
            .unwrap_or_default();
        info["id"].is_string()
    })
    .await?;
    assert_eq!(me.stdout(&text(&info["id"])).await?, "late\n");
    Ok(())
}

#[tokio::test]
async fn a_repeated_request_that_is_refused_leaves_what_the_first_one_made() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    for path in [format!("/v1/sessions/{session}/executions"), "/v1/executions".to_owned()] {
        let key = format!("key of {path}").replace(' ', "-");
        let key = [("Idempotency-Key", key.as_str()), ("Accept", "text/event-stream")];
        let asked = json!({"shell": "echo once; exec sleep 1000"});
        let first = json_of(&me.send("POST", &path, &key[..1], &asked).await?, 201)?;
        let id = text(&first["id"]);
        me.until_printed(&id, "once\n").await?;
        // Refused by the worker, because there is no such event: while it runs, and when it has ended.
        let past_the_end = format!("{path}?after=1000");
        let refused = me.send("POST", &past_the_end, &key, &asked).await?;
        assert_eq!(error_code(&refused, 400)?, "after_past_end");
        assert_eq!(me.execution(&id).await?["state"], "running");
        let again = json_of(&me.send("POST", &path, &key[..1], &asked).await?, 201)?;
        assert_eq!(again["id"], first["id"], "the control: the key leads to it");
        me.cancel(&id).await?;
        me.closed(&id).await?;
        let refused = me.send("POST", &past_the_end, &key, &asked).await?;
        assert_eq!(error_code(&refused, 400)?, "after_past_end");
        assert_eq!(me.stdout(&id).await?, "once\n");
    }
    Ok(())
}

#[tokio::test]
async fn a_first_request_that_is_refused_leaves_nothing_and_its_key_is_free() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    for path in [format!("/v1/sessions/{session}/executions"), "/v1/executions".to_owned()] {
        let key = [("Idempotency-Key", "k"), ("Accept", "text/event-stream")];
        let asked = json!({"shell": "echo once; exec sleep 1000"});
        let refused = me.send("POST", &format!("{path}?after=1000"), &key, &asked).await?;
        assert_eq!(error_code(&refused, 400)?, "after_past_end");
        assert!(texts(&me.json("/v1/executions").await?, "id").is_empty());
        assert_eq!(me.json(&format!("/v1/sessions/{session}")).await?["running"], 0);
        let info = json_of(&me.send("POST", &path, &key[..1], &asked).await?, 201)?;
        let id = text(&info["id"]);
        me.until_printed(&id, "once\n").await?;
        me.cancel(&id).await?;
        me.closed(&id).await?;
        json_of(&me.delete(&format!("/v1/executions/{id}")).await?, 204)?;
    }
    Ok(())
}
