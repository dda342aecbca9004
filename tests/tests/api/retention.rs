//! Logs count towards the quota, are removed by rules and by `prune`, and say so afterwards.

use std::process::Output;

use anyhow::{Context, Result};
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;

/// Runs a one-shot that prints this many bytes; its id.
async fn print(asker: &Api, bytes: u64) -> Result<String> {
    let body = json!({"shell": format!("head -c {bytes} /dev/zero")});
    let id = text(&json_of(&asker.post("/v1/executions", &body).await?, 201)?["id"]);
    asker.closed(&id).await?;
    Ok(id)
}

/// Waits until all of these logs can be removed: one that is being read is kept. The server reads on for a moment after
/// the end of a program, and the worker learns a moment later that a client has read the last byte.
async fn can_be_removed(owner: &Api, ids: &[String]) -> Result<()> {
    let dry_run = json!({"all": true, "dry_run": true});
    eventually("the logs can be removed", async || {
        let dry = owner.post("/v1/prune", &dry_run).await.and_then(|dry| dry.json()).unwrap_or_default();
        let found = dry["executions"].as_array();
        found.is_some_and(|found| ids.iter().all(|id| found.contains(&json!(id))))
    })
    .await
}

/// Waits until the log is removed. It asks for the execution and not for its output: a log that is read is kept.
async fn until_removed(owner: &Api, id: &str) -> Result<()> {
    eventually("the log is removed", async || {
        owner.execution(id).await.is_ok_and(|info| !info["log_removed"].is_null())
    })
    .await
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn logs_of_one_shots_count_for_their_owner_and_the_quota_refuses_more_until_some_are_removed()
-> Result<()> {
    let server = TestServer::configured("[quotas]\ndisk = \"10Mi\"\n").await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let before = ann.json("/v1/usage").await?;
    assert_eq!((&before["disk"]["logs_bytes"], &before["disk"]["logs"]), (&json!(0), &json!(0)));
    let first = print(&ann, 4 * MIB).await?;
    eventually("the log is counted", async || {
        let Ok(usage) = ann.json("/v1/usage").await else { return false };
        let logs = usage["disk"]["logs_bytes"].as_u64().unwrap_or(0);
        (4 * MIB..5 * MIB).contains(&logs)
            && usage["disk"]["logs"] == 1
            && usage["used"]["disk_bytes"] == usage["disk"]["total_bytes"]
            && usage["disk"]["total_bytes"].as_u64() >= Some(logs)
    })
    .await?;
    print(&ann, 4 * MIB).await?;
    print(&ann, 4 * MIB).await?;
    eventually("all three logs are counted", async || {
        ann.json("/v1/usage").await.is_ok_and(|usage| usage["disk"]["logs_bytes"].as_u64() >= Some(12 * MIB))
    })
    .await?;
    let refused = ann.post("/v1/executions", &json!({"shell": "true"})).await?;
    assert_eq!(error_code(&refused, 429)?, "quota_exceeded");
    assert!(refused.text().contains("logs"), "{}", refused.text());
    assert_eq!(error_code(&ann.post("/v1/sessions", &json!({})).await?, 429)?, "quota_exceeded");
    assert_eq!(bob.json("/v1/usage").await?["disk"]["logs_bytes"], 0);
    print(&bob, 1).await?;
    json_of(&ann.delete(&format!("/v1/executions/{first}")).await?, 204)?;
    eventually("the removed log is not counted", async || {
        ann.json("/v1/usage").await.is_ok_and(|usage| usage["disk"]["total_bytes"].as_u64() < Some(10 * MIB))
    })
    .await?;
    print(&ann, 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_removed_log_says_so_and_is_never_an_empty_answer() -> Result<()> {
    let config = "[retention]\nsession_logs = 2\nkeep_at_least = \"0s\"\n[watchdog]\ninterval = \"100ms\"\n";
    let server = TestServer::configured(config).await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "echo on; exec sleep 1000"})).await?;
    ann.until_printed(&running, "on").await?;
    let mut ids = Vec::new();
    for n in 0..5 {
        let id = ann.start(&session, &json!({"shell": format!("echo {n}; exit {n}")})).await?;
        ann.closed(&id).await?;
        // While a log is read, a newer one would be removed in its place.
        can_be_removed(&ann, std::slice::from_ref(&id)).await?;
        ids.push(id);
    }
    let is_removed =
        async |id: &str| ann.execution(id).await.is_ok_and(|info| !info["log_removed"].is_null());
    for id in &ids[..3] {
        eventually("the log is removed", async || is_removed(id).await).await?;
    }
    for (n, id) in ids.iter().enumerate() {
        let info = ann.execution(id).await?;
        assert_eq!((&info["state"], &info["exit"]["code"]), (&json!("closed"), &json!(n)), "{info}");
        let paths = ["output", "events", "output?follow=true", "recording"]
            .map(|path| format!("/v1/executions/{id}/{path}"));
        if n < 3 {
            assert_eq!(info["log_removed"]["reason"], "number", "{info}");
            assert!(text(&info["log_removed"]["at"]).starts_with("20"), "{info}");
            for path in &paths {
                let answer = ann.get(path).await?;
                assert_eq!(error_code(&answer, 410)?, "log_removed", "{path}");
                assert!(answer.text().contains("was removed at"), "{}", answer.text());
            }
            // Whatever needs no log goes on as with any execution that has ended.
            let at = |verb: &str| format!("/v1/executions/{id}/{verb}");
            assert_eq!(ann.json(&at("processes")).await?, json!({"processes": []}));
            assert_eq!(ann.post(&at("cancel"), &json!({})).await?.status, 204);
            for (verb, body) in [
                ("signal", json!({"signal": "TERM"})),
                ("resize", json!({"rows": 9, "cols": 9})),
                ("stdin", json!("x")),
            ] {
                assert_eq!(error_code(&ann.post(&at(verb), &body).await?, 409)?, "conflict", "{verb}");
            }
        } else {
            assert!(info["log_removed"].is_null(), "{info}");
            assert_eq!(ann.get(&paths[0]).await?.text(), format!("{n}\n"));
            assert_eq!(ann.get(&paths[1]).await?.status, 200);
        }
    }
    // The list says the same, what runs is untouched, and others do not learn of it.
    let listed = ann.json(&format!("/v1/executions?session_id={session}")).await?;
    let removed = listed["items"]
        .as_array()
        .map_or(0, |all| all.iter().filter(|one| !one["log_removed"].is_null()).count());
    assert_eq!(removed, 3, "{listed}");
    let info = ann.execution(&running).await?;
    assert_eq!((&info["state"], info["log_removed"].is_null()), (&json!("running"), true));
    let bob = server.user("bob", "member")?;
    assert_eq!(error_code(&bob.get(&format!("/v1/executions/{}/output", ids[0])).await?, 404)?, "not_found");
    // `logs` of the command line says it, too.
    let logs = server.command().args(["logs", &ids[0]]).output()?;
    assert!(!logs.status.success() && said(&logs).contains("was removed"), "{}", said(&logs));
    let (admin, mut metrics) = (server.api(), String::new());
    let measured = eventually("removed logs and the disk are in the metrics", async || {
        metrics = admin.get("/metrics").await.map(|answer| answer.text()).unwrap_or_default();
        let line = |name: &str| metrics.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let disk = [
            "headwater_disk_bytes{kind=\"logs\"}",
            "headwater_disk_bytes{kind=\"store\"}",
            "headwater_disk_free_bytes",
        ];
        line("headwater_logs_removed{reason=\"number\"}").ends_with(" 3")
            && disk.iter().all(|name| !line(name).is_empty() && !line(name).ends_with(" 0"))
    });
    measured.await.with_context(|| metrics.clone())?;
    Ok(())
}

#[tokio::test]
async fn a_log_that_is_too_old_is_removed_and_one_that_is_still_written_is_not() -> Result<()> {
    let rules = |age: &str| {
        format!("[retention]\nage = \"{age}\"\nkeep_at_least = \"0s\"\n[watchdog]\ninterval = \"100ms\"\n")
    };
    let server = TestServer::configured(&rules("1s")).await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "echo on; exec sleep 1000"})).await?;
    ann.until_printed(&running, "on").await?;
    let old = print(&ann, 10).await?;
    eventually("the log is removed", async || {
        let info = ann.execution(&old).await.unwrap_or_default();
        info["log_removed"]["reason"] == "age"
    })
    .await?;
    assert_eq!(error_code(&ann.get(&format!("/v1/executions/{old}/output")).await?, 410)?, "log_removed");
    let info = ann.execution(&running).await?;
    assert_eq!((&info["state"], &info["log_removed"]), (&json!("running"), &Value::Null));
    assert_eq!(ann.get(&format!("/v1/executions/{running}/output")).await?.text(), "on\n");
    // The control: with a longer age a log of the same age stays, while sweeps go on.
    let server =
        TestServer::configured(&format!("{}\n", rules("1h").replace("age =", "session_logs = 1\nage =")))
            .await?;
    let bob = server.user("bob", "member")?;
    let session = bob.session(&json!({})).await?;
    let kept = print(&bob, 10).await?;
    let first = bob.start(&session, &json!({"shell": "true"})).await?;
    bob.closed(&first).await?;
    can_be_removed(&bob, std::slice::from_ref(&first)).await?;
    let second = bob.start(&session, &json!({"shell": "true"})).await?;
    bob.closed(&second).await?;
    until_removed(&bob, &first).await?;
    assert_eq!(bob.get(&format!("/v1/executions/{kept}/output")).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_key_of_a_removed_execution_does_not_run_it_again() -> Result<()> {
    let server = TestServer::configured("[retention]\nall_logs = 1\nkeep_at_least = \"0s\"\n").await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}/executions");
    let body = json!({"shell": "echo x >> ran"});
    let key = [("Idempotency-Key", "once")];
    let id = text(&json_of(&ann.send("POST", &path, &key, &body).await?, 201)?["id"]);
    ann.closed(&id).await?;
    can_be_removed(&ann, std::slice::from_ref(&id)).await?;
    let other = ann.start(&session, &json!({"shell": "true"})).await?;
    ann.closed(&other).await?;
    until_removed(&ann, &id).await?;
    let again = json_of(&ann.send("POST", &path, &key, &body).await?, 201)?;
    assert_eq!(text(&again["id"]), id);
    let ran = ann.start(&session, &json!({"shell": "cat ran"})).await?;
    let mut info = Value::Null;
    eventually("it has ended", async || {
        info = ann.execution(&ran).await.unwrap_or_default();
        info["state"] == "closed"
    })
    .await?;
    assert_eq!(info["stdout_bytes"], 2, "it ran once: {info}");
    Ok(())
}

#[tokio::test]
async fn a_prune_reports_first_and_then_removes_what_its_caller_owns() -> Result<()> {
    let server = TestServer::configured("").await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = ann.start(&session, &json!({"shell": "echo hello"})).await?;
        ann.closed(&id).await?;
        ids.push(id);
    }
    let theirs = print(&bob, 1).await?;
    // By the rules of the configuration there is nothing to remove.
    let pruned = json_of(&ann.post("/v1/prune", &json!({})).await?, 200)?;
    assert_eq!((&pruned["logs"], &pruned["dry_run"]), (&json!(0), &json!(false)));
    can_be_removed(&ann, &ids).await?;
    let dry = json_of(&ann.post("/v1/prune", &json!({"keep": 1, "dry_run": true})).await?, 200)?;
    assert_eq!(dry["executions"], json!(ids[..3]));
    assert!(dry["bytes"].as_u64() > Some(0), "{dry}");
    assert_eq!(ann.get(&format!("/v1/executions/{}/output", ids[0])).await?.status, 200);
    let old = json_of(&ann.post("/v1/prune", &json!({"older_than": "1h"})).await?, 200)?;
    assert_eq!(old["logs"], 0);
    can_be_removed(&ann, &ids).await?;
    let pruned = json_of(&ann.post("/v1/prune", &json!({"keep": 1})).await?, 200)?;
    assert_eq!((&pruned["logs"], &pruned["bytes"]), (&dry["logs"], &dry["bytes"]));
    for id in &ids[..3] {
        let info = ann.execution(id).await?;
        assert_eq!(info["log_removed"]["reason"], "prune", "{info}");
    }
    assert_eq!(ann.get(&format!("/v1/executions/{}/output", ids[3])).await?.text(), "hello\n");
    // Others' logs are not a member's to remove.
    assert_eq!(
        error_code(&ann.post("/v1/prune", &json!({"owner": "bob", "all": true})).await?, 403)?,
        "forbidden"
    );
    assert_eq!(
        error_code(&bob.post("/v1/prune", &json!({"session_id": session, "all": true})).await?, 404)?,
        "not_found"
    );
    can_be_removed(&ann, &ids[3..]).await?;
    json_of(&ann.post("/v1/prune", &json!({"all": true})).await?, 200)?;
    assert_eq!(bob.get(&format!("/v1/executions/{theirs}/output")).await?.status, 200);
    assert_eq!(
        error_code(&ann.post("/v1/prune", &json!({"older_than": "old"})).await?, 400)?,
        "invalid_request"
    );
    let admin = server.api();
    can_be_removed(&bob, std::slice::from_ref(&theirs)).await?;
    let all = json_of(&admin.post("/v1/prune", &json!({"all": true})).await?, 200)?;
    assert_eq!(all["executions"], json!([theirs]));
    assert_eq!(ann.execution(&running).await?["state"], "running");
    eventually("the prune is in the audit log", async || {
        let rows = admin.json("/v1/audit?action=prune").await.unwrap_or_default();
        rows["items"].as_array().is_some_and(|rows| !rows.is_empty())
    })
    .await
}

#[tokio::test]
async fn the_prune_command_reports_asks_and_removes_here_and_at_a_server() -> Result<()> {
    let server = TestServer::configured("").await?;
    let admin = server.api();
    // A log that is being read is kept, and the server itself reads on for a moment after the end.
    let can_be_removed = async |id: &str| {
        eventually("the log can be removed", async || {
            let dry = server.command().args(["prune", "--all-logs", "--dry-run"]).output();
            dry.is_ok_and(|dry| said(&dry).contains("would delete 1 log") && said(&dry).contains(id))
        })
        .await
    };
    let first = print(&admin, 1).await?;
    can_be_removed(&first).await?;
    // Without a terminal it cannot ask, and removes nothing without `--yes`.
    let asked = server.command().args(["prune", "--all-logs"]).output()?;
    assert!(!asked.status.success() && said(&asked).contains("--yes"), "{}", said(&asked));
    assert_eq!(admin.get(&format!("/v1/executions/{first}/output")).await?.status, 200);
    can_be_removed(&first).await?;
    let local = server.command().args(["prune", "--all-logs", "--yes"]).output()?;
    assert!(local.status.success() && said(&local).contains("deleted 1 log"), "{}", said(&local));
    assert_eq!(admin.get(&format!("/v1/executions/{first}/output")).await?.status, 410);
    can_be_removed(&print(&admin, 1).await?).await?;
    let there = ["--server", &server.url(), "--token", server.token()];
    let remote = server.command().args(there).args(["prune", "--keep", "0", "--yes", "--json"]).output()?;
    let info: Value = serde_json::from_slice(&remote.stdout)?;
    assert_eq!((&info["logs"], &info["dry_run"]), (&json!(1), &json!(false)), "{}", said(&remote));
    Ok(())
}

#[tokio::test]
async fn the_log_of_a_background_worker_is_rotated_and_bounded() -> Result<()> {
    let server = TestServer::configured("[retention]\nworker_log = \"4Ki\"\nworker_log_files = 3\n").await?;
    let admin = server.api();
    let size = |name: &str| server.data().join(name).metadata().map_or(0, |meta| meta.len());
    eventually("three files", async || {
        let _ = admin.post("/v1/executions", &json!({"shell": "true"})).await;
        size("worker.log.2") > 0
    })
    .await?;
    for _ in 0..20 {
        print(&admin, 1).await?;
    }
    for name in ["worker.log", "worker.log.1", "worker.log.2"] {
        assert!(size(name) < 8 << 10, "{name} has {} bytes", size(name));
    }
    assert!(!server.data().join("worker.log.3").exists());
    assert!(size("worker.log") > 0 || size("worker.log.1") > 0);
    Ok(())
}
