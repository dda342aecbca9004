//! Quotas, the queue, the watchdog and the audit log.

use anyhow::{Context, Result};
use futures_util::future::join_all;
use headwater_tests::host::eventually;
use headwater_tests::http::{Response, error_code, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

fn refused(answer: &Response, status: u16, code: &str) -> Result<()> {
    assert_eq!(error_code(answer, status)?, code);
    Ok(())
}

#[tokio::test]
async fn an_owner_has_no_more_sessions_than_its_quota_and_others_are_not_touched() -> Result<()> {
    let server =
        TestServer::configured("[quotas]\nsessions = 2\n[quotas.owners.bob]\nsessions = 3\n").await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let first = ann.session(&json!({})).await?;
    ann.session(&json!({})).await?;
    refused(&ann.post("/v1/sessions", &json!({})).await?, 429, "quota_exceeded")?;
    for _ in 0..3 {
        bob.session(&json!({})).await?;
    }
    refused(&bob.post("/v1/sessions", &json!({})).await?, 429, "quota_exceeded")?;
    // A copy is a session, too.
    refused(&ann.post(&format!("/v1/sessions/{first}/fork"), &json!({})).await?, 429, "quota_exceeded")?;
    let usage = ann.json("/v1/usage").await?;
    assert_eq!((&usage["quota"]["sessions"], &usage["used"]["sessions"]), (&json!(2), &json!(2)));
    json_of(&ann.delete(&format!("/v1/sessions/{first}")).await?, 204)?;
    ann.session(&json!({})).await?;
    Ok(())
}

#[tokio::test]
async fn a_start_over_the_quota_waits_at_a_visible_position_until_one_ends() -> Result<()> {
    let server =
        TestServer::configured("[quotas]\nexecutions = 1\nqueue_length = 2\nqueue_wait = \"10m\"\n").await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let mut waiting = tokio::task::JoinSet::new();
    for n in 1..=2 {
        let (ann, session) = (ann.clone(), session.clone());
        waiting.spawn(async move { ann.start(&session, &json!({"shell": "echo on"})).await });
        let asker = server.user("ann", "reader")?;
        eventually("a place in the queue", async || {
            asker
                .json("/v1/usage")
                .await
                .is_ok_and(|usage| usage["waiting"].as_array().is_some_and(|all| all.len() == n))
        })
        .await?;
    }
    let usage = ann.json("/v1/usage").await?;
    assert_eq!(usage["used"]["executions"], 1);
    assert_eq!((&usage["waiting"][0]["place"], &usage["waiting"][1]["place"]), (&json!(1), &json!(2)));
    assert_eq!(text(&usage["waiting"][0]["session_id"]), session);
    let path = format!("/v1/sessions/{session}/executions");
    refused(&ann.post(&path, &json!({"shell": "true"})).await?, 429, "quota_exceeded")?;
    // Another's starts do not wait for ann's.
    let bob = server.user("bob", "member")?;
    let theirs = bob.session(&json!({})).await?;
    bob.start(&theirs, &json!({"shell": "true"})).await?;
    ann.cancel(&running).await?;
    while let Some(started) = waiting.join_next().await {
        let info = ann.closed(&started??).await?;
        assert_eq!(info["exit"]["code"], 0);
    }
    eventually("nothing running", async || {
        ann.json("/v1/usage").await.is_ok_and(|usage| usage["used"]["executions"] == 0)
    })
    .await
}

#[tokio::test]
async fn a_start_that_waits_for_too_long_is_refused_with_its_queue_position() -> Result<()> {
    let server = TestServer::configured("[quotas]\nexecutions = 1\nqueue_wait = \"200ms\"\n").await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    ann.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let answer =
        ann.post(&format!("/v1/sessions/{session}/executions"), &json!({"shell": "touch made"})).await?;
    refused(&answer, 429, "quota_exceeded")?;
    assert!(
        answer.header("retry-after").is_some() && answer.text().contains("position 1"),
        "{}",
        answer.text()
    );
    let listed = ann.json("/v1/executions").await?;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[tokio::test]
async fn a_restarted_gateway_still_counts_what_runs() -> Result<()> {
    let mut server = TestServer::configured("[quotas]\nexecutions = 1\nqueue_wait = \"100ms\"\n").await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "sleep 1000"})).await?;
    server.kill();
    server.start_again().await?;
    let path = format!("/v1/sessions/{session}/executions");
    eventually("it is counted", async || {
        ann.json("/v1/usage").await.is_ok_and(|usage| usage["used"]["executions"] == 1)
    })
    .await?;
    refused(&ann.post(&path, &json!({"shell": "true"})).await?, 429, "quota_exceeded")?;
    ann.cancel(&running).await?;
    eventually("a free place", async || {
        ann.post(&path, &json!({"shell": "true"})).await.is_ok_and(|answer| answer.status == 201)
    })
    .await
}

#[tokio::test]
async fn processor_time_of_a_day_and_disk_are_counted_and_limited() -> Result<()> {
    let config = "[quotas]\ncpu_per_day = \"1s\"\n[quotas.owners.bob]\ncpu_per_day = \"1h\"\ndisk = \"1Mi\"\n\
                  [watchdog]\ninterval = \"200ms\"\n";
    let server = TestServer::configured(config).await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    // Seen while it runs, and counted when it has ended.
    let path = format!("/v1/sessions/{session}/executions");
    let busy = ann.start(&session, &json!({"shell": "while :; do :; done"})).await?;
    // Nothing else is started meanwhile: what ends between two looks counts twice until the second, and the sum would fall
    // below the quota again. A little more than the quota, because processes are measured in hundredths of a second.
    eventually("the processor time", async || {
        ann.json("/v1/usage").await.is_ok_and(|usage| usage["used"]["cpu_ms"].as_u64() >= Some(1_200))
    })
    .await?;
    refused(&ann.post(&path, &json!({"shell": "true"})).await?, 429, "quota_exceeded")?;
    ann.cancel(&busy).await?;
    ann.closed(&busy).await?;
    let answer = ann.post(&path, &json!({"shell": "true"})).await?;
    refused(&answer, 429, "quota_exceeded")?;
    assert!(answer.header("retry-after").is_some());
    let bob = server.user("bob", "member")?;
    let session = bob.session(&json!({})).await?;
    // It runs on: a workspace is measured every few seconds while something runs in it, and seldom when nothing does.
    bob.start(&session, &json!({"shell": "head -c 2M /dev/zero > big; exec sleep 1000"})).await?;
    eventually("the disk to be measured", async || {
        bob.json("/v1/usage").await.is_ok_and(|usage| usage["used"]["disk_bytes"].as_u64() >= Some(2 << 20))
    })
    .await?;
    let path = format!("/v1/sessions/{session}/executions");
    refused(&bob.post(&path, &json!({"shell": "true"})).await?, 429, "quota_exceeded")
}

/// The audit rows that the operator finds, once there are any.
async fn rows(admin: &Api, query: &str) -> Result<Vec<Value>> {
    let path = format!("/v1/audit?{query}");
    eventually("an audit row", async || {
        admin
            .json(&path)
            .await
            .is_ok_and(|page| page["items"].as_array().is_some_and(|rows| !rows.is_empty()))
    })
    .await?;
    Ok(admin.json(&path).await?["items"].as_array().context("no rows")?.clone())
}

#[tokio::test]
async fn full_load_without_output_and_miners_are_flagged_and_stopped_if_configured() -> Result<()> {
    let config = "[watchdog]\ninterval = \"300ms\"\nafter = \"5s\"\ncpus = 0.01\naction = \"stop\"\nnames = [\"minertest\"]\n";
    let server = TestServer::configured(config).await?;
    let (admin, ann) = (server.api(), server.user("ann", "member")?);
    let busy = ann.session(&json!({})).await?;
    ann.start(&busy, &json!({"shell": "while :; do :; done"})).await?;
    let found = rows(&admin, "action=watchdog.flag&owner=ann").await?;
    assert_eq!((text(&found[0]["object"]), text(&found[0]["owner"])), (busy.clone(), "ann".to_owned()));
    assert!(text(&found[0]["detail"]).contains("full load"), "{found:?}");
    eventually("its sleep", async || {
        ann.json(&format!("/v1/sessions/{busy}")).await.is_ok_and(|info| info["state"] == "hibernated")
    })
    .await?;
    let bob = server.user("bob", "member")?;
    let mining = bob.session(&json!({})).await?;
    // What it does before is far below the load that counts, even if it takes as long on a busy machine.
    bob.start(&mining, &json!({"shell": "cp /bin/sleep minertest; ./minertest 1000"})).await?;
    let found = rows(&admin, "action=watchdog.stop&owner=bob").await?;
    assert_eq!(text(&found[0]["object"]), mining);
    let metrics = admin.get("/metrics").await?.text();
    for reason in ["silent_load", "miner"] {
        assert!(metrics.contains(&format!("watchdog_flags_total{{reason=\"{reason}\"}} 1")), "{metrics}");
    }
    Ok(())
}

#[tokio::test]
async fn every_start_change_and_denial_is_in_the_audit_log_and_only_the_operator_sees_all() -> Result<()> {
    let server = TestServer::configured("").await?;
    let (admin, ann) = (server.api(), server.user("ann", "member")?);
    let bob = server.user("bob", "reader")?;
    let session = ann.session(&json!({})).await?;
    let id = ann.start(&session, &json!({"shell": "true"})).await?;
    ann.closed(&id).await?;
    assert_eq!(bob.get(&format!("/v1/sessions/{session}")).await?.status, 404);
    assert_eq!(bob.post("/v1/sessions", &json!({})).await?.status, 403);
    assert_eq!(server.anonymous().get("/v1/info?token=secret").await?.status, 401);
    let started = rows(&admin, &format!("object={id}&action=execution.start")).await?;
    assert_eq!(
        (text(&started[0]["owner"]), text(&started[0]["result"])),
        ("ann".to_owned(), "ok".to_owned())
    );
    assert_eq!(text(&started[0]["address"]), "127.0.0.1");
    let denied = rows(&admin, "result=denied&owner=bob").await?;
    assert!(denied.iter().any(|row| text(&row["object"]).contains(&session)), "{denied:?}");
    eventually("the denial of nobody", async || {
        admin.get("/v1/audit?action=request.deny").await.is_ok_and(|all| all.text().contains("/v1/info"))
    })
    .await?;
    let export = admin.get("/v1/audit/export").await?;
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    assert!(!export.text().contains("token=secret"));
    let lines: Vec<Value> = export.text().lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert!(lines.iter().any(|row| row["action"] == "session.create" && text(&row["object"]) == session));
    // ann sees what is ann's.
    let own = ann.json("/v1/audit?limit=1000").await?;
    assert!(own["items"].as_array().context("no rows")?.iter().all(|row| row["owner"] == "ann"));
    refused(&ann.get("/v1/audit?owner=bob").await?, 403, "forbidden")?;
    refused(&ann.get("/v1/audit?limit=0").await?, 400, "invalid_request")
}

#[tokio::test]
async fn requests_are_limited_for_each_user_by_all_of_its_tokens_and_for_each_address() -> Result<()> {
    for setting in ["requests_per_second_of_user", "requests_per_second_of_address"] {
        let server =
            TestServer::configured(&format!("[server]\n{setting} = 4\nrequests_per_second = 0\n")).await?;
        let askers = [server.user("ann", "member")?, server.user("ann", "member")?];
        let mut refusals = 0;
        // At once: a slow machine must not stay below the limit.
        for answer in join_all((0..60).map(|n| askers[n % 2].get("/v1/info"))).await {
            let answer = answer?;
            if answer.status == 429 {
                refusals += 1;
                assert!(answer.header("retry-after").is_some());
            }
        }
        assert!(refusals > 0, "{setting}");
    }
    Ok(())
}
