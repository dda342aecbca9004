//! Sessions: making, listing, changing, removing.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text, texts};
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_is_created_read_changed_and_removed() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let asked =
        json!({"name": "mine", "env": {"A": "1"}, "limits": {"pids": 100}, "metadata": {"a": "b", "c": "d"}});
    let answer = me.post("/v1/sessions", &asked).await?;
    let made = json_of(&answer, 201)?;
    let id = text(&made["id"]);
    let path = format!("/v1/sessions/{id}");
    assert_eq!(answer.header("location"), Some(path.as_str()));
    assert_eq!(
        (&made["state"], &made["one_shot"], &made["running"]),
        (&json!("ready"), &json!(false), &json!(0))
    );
    assert_eq!((&made["name"], &made["env"]), (&json!("mine"), &json!({"A": "1"})));
    assert_eq!(made["metadata"], json!({"a": "b", "c": "d"}), "the owner is kept and not shown");
    assert_eq!(made["limits"]["pids"], 100);
    assert!(made["limits"]["memory_bytes"].is_u64(), "defaults are filled in: {made}");
    assert_eq!(me.json(&path).await?, made);

    let change = json!({"name": "ours", "metadata": {"a": "x", "c": ""}, "limits": {"pids": 50}});
    let changed = json_of(&me.send("PATCH", &path, &[], &change).await?, 200)?;
    assert_eq!((&changed["name"], &changed["metadata"]), (&json!("ours"), &json!({"a": "x"})));
    assert_eq!((&changed["limits"]["pids"], &changed["env"]), (&json!(50), &json!({"A": "1"})));
    assert_eq!(me.json(&path).await?, changed);
    assert_eq!(texts(&me.json("/v1/sessions?name=ours").await?, "id"), [id.as_str()]);
    assert!(texts(&me.json("/v1/sessions?name=mine").await?, "id").is_empty());

    let execution = me.start(&id, &json!({"shell": "sleep 1000"})).await?;
    assert_eq!(me.json(&path).await?["running"], 1);
    json_of(&me.delete(&path).await?, 204)?;
    assert_eq!(error_code(&me.delete(&path).await?, 404)?, "not_found");
    error_code(&me.get(&path).await?, 404)?;
    error_code(&me.get(&format!("/v1/executions/{execution}")).await?, 404)?;
    assert!(texts(&me.json("/v1/sessions").await?, "id").is_empty());
    assert!(!server.data().join("sessions").join(&id).exists());
    Ok(())
}

#[tokio::test]
async fn pages_of_sessions_show_each_once_the_newest_first() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(me.session(&json!({"name": format!("s{n}")})).await?);
    }
    let (mut found, mut path, mut pages) = (Vec::new(), "/v1/sessions?limit=2".to_owned(), 0);
    loop {
        let page = me.json(&path).await?;
        found.extend(texts(&page, "id"));
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/sessions?limit=2&cursor={next}");
    }
    made.reverse();
    assert_eq!((found, pages), (made, 3));
    Ok(())
}

#[tokio::test]
async fn a_session_that_ended_by_itself_is_listed_as_ended() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let kept = me.session(&json!({})).await?;
    let idle = me.session(&json!({"idle_timeout_ms": 1})).await?;
    let path = format!("/v1/sessions/{idle}");
    eventually("the idle session ends", async || {
        me.json(&path).await.is_ok_and(|info| info["state"] == "ended" && info["ended_at"].is_string())
    })
    .await?;
    assert_eq!(texts(&me.json("/v1/sessions?state=ended").await?, "id"), [idle.as_str()]);
    assert_eq!(texts(&me.json("/v1/sessions?state=ready").await?, "id"), [kept]);
    let start = me.post(&format!("{path}/executions"), &json!({"shell": "true"})).await?;
    assert_eq!(error_code(&start, 409)?, "conflict");
    let change = me.send("PATCH", &path, &[], &json!({"name": "late"})).await?;
    assert_eq!(error_code(&change, 409)?, "conflict");
    json_of(&me.delete(&path).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn everybody_sees_their_own_sessions_and_the_operator_all() -> Result<()> {
    let server = TestServer::small().await?;
    let (admin, ann) = (server.api(), server.user("ann", "member")?);
    let bob = server.user("bob", "member")?;
    let (hers, his) = (ann.session(&json!({})).await?, bob.session(&json!({})).await?);
    assert_eq!(texts(&ann.json("/v1/sessions").await?, "id"), [hers.as_str()]);
    assert_eq!(texts(&bob.json("/v1/sessions").await?, "id"), [his.as_str()]);
    assert_eq!(texts(&admin.json("/v1/sessions").await?, "id"), [his.as_str(), hers.as_str()]);
    error_code(&ann.get(&format!("/v1/sessions/{his}")).await?, 404)?;
    error_code(&ann.get(&format!("/v1/executions?session_id={his}")).await?, 404)?;
    // Ann sees what the operator starts in her session.
    let execution = admin.start(&hers, &json!({"shell": "echo hi"})).await?;
    assert_eq!(ann.stdout(&execution).await?, "hi\n");
    error_code(&bob.get(&format!("/v1/executions/{execution}")).await?, 404)?;
    assert_eq!(texts(&ann.json("/v1/executions").await?, "id"), [execution]);
    assert!(texts(&bob.json("/v1/executions").await?, "id").is_empty());
    Ok(())
}

#[tokio::test]
async fn a_session_deleted_with_keep_logs_loses_its_workspace_and_keeps_what_it_printed() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let id = me.session(&json!({})).await?;
    let path = format!("/v1/sessions/{id}");
    let execution = me.start(&id, &json!({"shell": "echo hello"})).await?;
    me.closed(&execution).await?;
    assert_eq!(error_code(&me.delete(&format!("{path}?keep=true")).await?, 400)?, "invalid_request");
    for _ in 0..2 {
        json_of(&me.delete(&format!("{path}?keep_logs=true")).await?, 204)?; // twice is the same
    }
    assert_eq!(me.json(&path).await?["state"], "ended");
    assert_eq!(me.stdout(&execution).await?, "hello\n");
    assert!(!server.data().join("sessions").join(&id).join("workspace").exists());
    json_of(&me.delete(&path).await?, 204)?;
    error_code(&me.get(&format!("/v1/executions/{execution}")).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn the_usage_of_a_session_is_reported_with_its_limits_and_a_hibernated_one_stays_hibernated()
-> Result<()> {
    const MIB: u64 = 1 << 20;
    let server = TestServer::small().await?;
    let me = server.api();
    let limits = json!({"memory_bytes": 256 * MIB, "pids": 50, "disk_bytes": 100 * MIB});
    let id = me.session(&json!({"limits": limits})).await?;
    let (path, session) = (format!("/v1/sessions/{id}/usage"), format!("/v1/sessions/{id}"));
    let idle = me.json(&path).await?;
    assert_eq!((&idle["state"], &idle["limits"]), (&json!("ready"), &limits));
    let used = |usage: &Value, what: &str| usage["used"][what].as_u64().unwrap_or_default();
    assert!(used(&idle, "memory_bytes") < 32 * MIB && used(&idle, "disk_bytes") < MIB, "{idle}");

    // The shell waits for a child that computes and ends, and then stays.
    let shell = "head -c 8388608 /dev/urandom > file
        python3 -c 'import time; list(iter(lambda: time.process_time() < 0.5, False))'
        python3 -c 'import time; x = b\"x\" * (64 << 20); time.sleep(1000)' & sleep 1000";
    let execution = me.start(&id, &json!({"shell": shell})).await?;
    let is_busy = |usage: &Value| {
        used(usage, "memory_bytes") >= 64 * MIB
            && used(usage, "cpu_ms") >= 450
            && used(usage, "pids") >= used(&idle, "pids") + 3
            && used(usage, "disk_bytes") >= 8 * MIB
    };
    let mut last = json!(null);
    let busy = eventually("the session uses all of it", async || {
        last = me.json(&path).await.unwrap_or_default();
        is_busy(&last)
    });
    busy.await.map_err(|error| error.context(last.to_string()))?;
    me.cancel(&execution).await?;
    me.closed(&execution).await?;
    // A program that is killed closes its output a moment before it is gone.
    let mut after = json!(null);
    let gone = eventually("its programs are gone", async || {
        after = me.json(&path).await.unwrap_or_default();
        after["used"]["pids"] == idle["used"]["pids"]
    });
    gone.await.map_err(|error| error.context(after.to_string()))?;
    assert!(used(&after, "cpu_ms") >= 450, "the time of ended programs counts: {after}");

    json_of(&me.post(&format!("{session}/hibernate"), &json!(null)).await?, 200)?;
    let asleep = me.json(&path).await?;
    assert_eq!((&asleep["state"], &asleep["limits"]), (&json!("hibernated"), &limits));
    let none = json!({"memory_bytes": 0, "cpu_ms": 0, "pids": 0, "disk_bytes": used(&asleep, "disk_bytes")});
    assert_eq!(asleep["used"], none);
    assert!(used(&asleep, "disk_bytes") >= 8 * MIB, "{asleep}");
    assert_eq!(me.json(&session).await?["state"], "hibernated");

    json_of(&me.delete(&format!("{session}?keep_logs=true")).await?, 204)?;
    assert_eq!(error_code(&me.get(&path).await?, 409)?, "conflict");
    Ok(())
}
