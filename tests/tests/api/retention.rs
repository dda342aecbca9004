//! Logs count towards the quota, are removed by rules and by `prune`, and say so afterwards.

use std::process::Output;

use anyhow::{Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

use crate::ask::{Asker, bad, good, text};

const MIB: u64 = 1 << 20;

async fn server(config: &str) -> Result<TestServer> {
    let config = Some(format!("pool = 1\n{config}"));
    TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await
}

/// Runs a one-shot that prints so many bytes; its id.
async fn print(asker: &Asker, bytes: u64) -> Result<String> {
    let body = json!({"shell": format!("head -c {bytes} /dev/zero")});
    let id = text(&good(&asker.post("/v1/executions", &body).await?, 201)?["id"]);
    asker.ended(&id).await?;
    Ok(id)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn logs_of_one_shots_count_for_their_owner_and_the_quota_refuses_more_until_some_are_removed()
-> Result<()> {
    let server = server("[quotas]\ndisk = \"10Mi\"\n").await?;
    let (ann, bob) = (Asker::user(&server, "ann", "member")?, Asker::user(&server, "bob", "member")?);
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
    let refused = ann.post("/v1/executions", &json!({"shell": "true"})).await?;
    assert_eq!(bad(&refused, 429)?, "quota_exceeded");
    assert!(refused.text().contains("logs"), "{}", refused.text());
    assert_eq!(bad(&ann.post("/v1/sessions", &json!({})).await?, 429)?, "quota_exceeded");
    assert_eq!(bob.json("/v1/usage").await?["disk"]["logs_bytes"], 0);
    print(&bob, 1).await?;
    good(&ann.delete(&format!("/v1/executions/{first}")).await?, 204)?;
    print(&ann, 1).await?;
    Ok(())
}

#[tokio::test]
async fn a_removed_log_says_so_and_is_never_an_empty_answer() -> Result<()> {
    let config = "[retention]\nsession_logs = 2\nkeep_at_least = \"0s\"\n[watchdog]\ninterval = \"100ms\"\n";
    let server = server(config).await?;
    let ann = Asker::user(&server, "ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "echo on; exec sleep 1000"})).await?;
    ann.printed(&running, "on").await?;
    let mut ids = Vec::new();
    for n in 0..5 {
        let id = ann.start(&session, &json!({"shell": format!("echo {n}; exit {n}")})).await?;
        ann.ended(&id).await?;
        ids.push(id);
    }
    let is_removed = async |id: &str| {
        ann.json(&format!("/v1/executions/{id}")).await.is_ok_and(|told| !told["log_removed"].is_null())
    };
    for id in &ids[..3] {
        eventually("the log is removed", async || is_removed(id).await).await?;
    }
    for (n, id) in ids.iter().enumerate() {
        let told = ann.json(&format!("/v1/executions/{id}")).await?;
        assert_eq!((&told["state"], &told["exit"]["code"]), (&json!("closed"), &json!(n)), "{told}");
        let paths = ["output", "events", "output?follow=true", "recording"]
            .map(|path| format!("/v1/executions/{id}/{path}"));
        if n < 3 {
            assert_eq!(told["log_removed"]["reason"], "number", "{told}");
            assert!(text(&told["log_removed"]["at"]).starts_with("20"), "{told}");
            for path in &paths {
                let answer = ann.get(path).await?;
                assert_eq!(bad(&answer, 410)?, "log_removed", "{path}");
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
                assert_eq!(bad(&ann.post(&at(verb), &body).await?, 409)?, "conflict", "{verb}");
            }
        } else {
            assert!(told["log_removed"].is_null(), "{told}");
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
    let told = ann.json(&format!("/v1/executions/{running}")).await?;
    assert_eq!((&told["state"], told["log_removed"].is_null()), (&json!("running"), true));
    let bob = Asker::user(&server, "bob", "member")?;
    assert_eq!(bad(&bob.get(&format!("/v1/executions/{}/output", ids[0])).await?, 404)?, "not_found");
    // `logs` of the command line says it, too.
    let logs = server.command().args(["logs", &ids[0]]).output()?;
    assert!(!logs.status.success() && said(&logs).contains("was removed"), "{}", said(&logs));
    let metrics = Asker::admin(&server).get("/metrics").await?.text();
    let line =
        |name: &str| metrics.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("headwater_logs_removed{reason=\"number\"}").ends_with(" 3"), "{metrics}");
    for name in [
        "headwater_disk_bytes{kind=\"logs\"}",
        "headwater_disk_bytes{kind=\"store\"}",
        "headwater_disk_free_bytes",
    ] {
        assert!(!line(name).is_empty() && !line(name).ends_with(" 0"), "{name}: {metrics}");
    }
    Ok(())
}

#[tokio::test]
async fn a_log_that_is_too_old_is_removed_and_one_that_is_still_written_is_not() -> Result<()> {
    let rules = |age: &str| {
        format!("[retention]\nage = \"{age}\"\nkeep_at_least = \"0s\"\n[watchdog]\ninterval = \"100ms\"\n")
    };
    let server = self::server(&rules("1s")).await?;
    let ann = Asker::user(&server, "ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "echo on; exec sleep 1000"})).await?;
    ann.printed(&running, "on").await?;
    let old = print(&ann, 10).await?;
    eventually("the log is removed", async || {
        let told = ann.json(&format!("/v1/executions/{old}")).await.unwrap_or_default();
        told["log_removed"]["reason"] == "age"
    })
    .await?;
    assert_eq!(bad(&ann.get(&format!("/v1/executions/{old}/output")).await?, 410)?, "log_removed");
    let told = ann.json(&format!("/v1/executions/{running}")).await?;
    assert_eq!((&told["state"], &told["log_removed"]), (&json!("running"), &Value::Null));
    assert_eq!(ann.get(&format!("/v1/executions/{running}/output")).await?.text(), "on\n");
    // The control: with a longer age a log of the same age stays, while sweeps go on.
    let server =
        self::server(&format!("{}\n", rules("1h").replace("age =", "session_logs = 1\nage ="))).await?;
    let bob = Asker::user(&server, "bob", "member")?;
    let session = bob.session(&json!({})).await?;
    let kept = print(&bob, 10).await?;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = bob.start(&session, &json!({"shell": "true"})).await?;
        bob.ended(&id).await?;
        ids.push(id);
    }
    eventually("a sweep by number", async || {
        bob.get(&format!("/v1/executions/{}/output", ids[0])).await.is_ok_and(|answer| answer.status == 410)
    })
    .await?;
    assert_eq!(bob.get(&format!("/v1/executions/{kept}/output")).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_key_of_a_removed_execution_does_not_run_it_again() -> Result<()> {
    let server = server("[retention]\nall_logs = 1\nkeep_at_least = \"0s\"\n").await?;
    let ann = Asker::user(&server, "ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}/executions");
    let body = json!({"shell": "echo x >> ran"});
    let key = [("Idempotency-Key", "once")];
    let id = text(&good(&ann.send("POST", &path, &key, &body).await?, 201)?["id"]);
    ann.ended(&id).await?;
    let other = ann.start(&session, &json!({"shell": "true"})).await?;
    ann.ended(&other).await?;
    eventually("the log is removed", async || {
        ann.get(&format!("/v1/executions/{id}/output")).await.is_ok_and(|answer| answer.status == 410)
    })
    .await?;
    let again = good(&ann.send("POST", &path, &key, &body).await?, 201)?;
    assert_eq!(text(&again["id"]), id);
    let ran = ann.start(&session, &json!({"shell": "cat ran"})).await?;
    let mut told = Value::Null;
    eventually("it has ended", async || {
        told = ann.json(&format!("/v1/executions/{ran}")).await.unwrap_or_default();
        told["state"] == "closed"
    })
    .await?;
    assert_eq!(told["stdout_bytes"], 2, "it ran once: {told}");
    Ok(())
}

#[tokio::test]
async fn a_prune_reports_first_and_then_removes_what_its_caller_owns() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (Asker::user(&server, "ann", "member")?, Asker::user(&server, "bob", "member")?);
    let session = ann.session(&json!({})).await?;
    let running = ann.start(&session, &json!({"shell": "sleep 1000"})).await?;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = ann.start(&session, &json!({"shell": "echo hello"})).await?;
        ann.ended(&id).await?;
        ids.push(id);
    }
    let theirs = print(&bob, 1).await?;
    // By the rules of the configuration there is nothing to remove.
    let pruned = good(&ann.post("/v1/prune", &json!({})).await?, 200)?;
    assert_eq!((&pruned["logs"], &pruned["dry_run"]), (&json!(0), &json!(false)));
    let dry = good(&ann.post("/v1/prune", &json!({"keep": 1, "dry_run": true})).await?, 200)?;
    assert_eq!(dry["executions"], json!(ids[..3]));
    assert!(dry["bytes"].as_u64() > Some(0), "{dry}");
    assert_eq!(ann.get(&format!("/v1/executions/{}/output", ids[0])).await?.status, 200);
    let old = good(&ann.post("/v1/prune", &json!({"older_than": "1h"})).await?, 200)?;
    assert_eq!(old["logs"], 0);
    let pruned = good(&ann.post("/v1/prune", &json!({"keep": 1})).await?, 200)?;
    assert_eq!((&pruned["logs"], &pruned["bytes"]), (&dry["logs"], &dry["bytes"]));
    for id in &ids[..3] {
        let told = ann.json(&format!("/v1/executions/{id}")).await?;
        assert_eq!(told["log_removed"]["reason"], "prune", "{told}");
    }
    assert_eq!(ann.get(&format!("/v1/executions/{}/output", ids[3])).await?.text(), "hello\n");
    // Others' logs are not a member's to remove.
    assert_eq!(bad(&ann.post("/v1/prune", &json!({"owner": "bob", "all": true})).await?, 403)?, "forbidden");
    assert_eq!(
        bad(&bob.post("/v1/prune", &json!({"session_id": session, "all": true})).await?, 404)?,
        "not_found"
    );
    good(&ann.post("/v1/prune", &json!({"all": true})).await?, 200)?;
    assert_eq!(bob.get(&format!("/v1/executions/{theirs}/output")).await?.status, 200);
    assert_eq!(bad(&ann.post("/v1/prune", &json!({"older_than": "old"})).await?, 400)?, "invalid_request");
    let admin = Asker::admin(&server);
    let all = good(&admin.post("/v1/prune", &json!({"all": true})).await?, 200)?;
    assert_eq!(all["executions"], json!([theirs]));
    assert_eq!(ann.json(&format!("/v1/executions/{running}")).await?["state"], "running");
    let rows = admin.json("/v1/audit?action=prune").await?;
    ensure!(rows["items"].as_array().is_some_and(|rows| !rows.is_empty()), "{rows}");
    Ok(())
}

#[tokio::test]
async fn the_prune_command_reports_asks_and_removes_here_and_at_a_server() -> Result<()> {
    let server = server("").await?;
    let admin = Asker::admin(&server);
    // A log that somebody reads is kept, and the server itself reads on for a moment after the end.
    let can_be_removed = async |id: &str| {
        eventually("the log can be removed", async || {
            let dry = server.command().args(["prune", "--all-logs", "--dry-run"]).output();
            dry.is_ok_and(|dry| said(&dry).contains("would delete 1 log") && said(&dry).contains(id))
        })
        .await
    };
    let first = print(&admin, 1).await?;
    can_be_removed(&first).await?;
    // Nobody sits at a terminal: it removes nothing that it was not told to.
    let asked = server.command().args(["prune", "--all-logs"]).output()?;
    assert!(!asked.status.success() && said(&asked).contains("--yes"), "{}", said(&asked));
    assert_eq!(admin.get(&format!("/v1/executions/{first}/output")).await?.status, 200);
    let local = server.command().args(["prune", "--all-logs", "--yes"]).output()?;
    assert!(local.status.success() && said(&local).contains("deleted 1 log"), "{}", said(&local));
    assert_eq!(admin.get(&format!("/v1/executions/{first}/output")).await?.status, 410);
    can_be_removed(&print(&admin, 1).await?).await?;
    let there = ["--server", &server.url(), "--token", server.token()];
    let remote = server.command().args(there).args(["prune", "--keep", "0", "--yes", "--json"]).output()?;
    let told: Value = serde_json::from_slice(&remote.stdout)?;
    assert_eq!((&told["logs"], &told["dry_run"]), (&json!(1), &json!(false)), "{}", said(&remote));
    Ok(())
}

#[tokio::test]
async fn the_log_of_a_background_worker_is_rotated_and_bounded() -> Result<()> {
    let server = server("[retention]\nworker_log = \"4Ki\"\nworker_log_files = 3\n").await?;
    let admin = Asker::admin(&server);
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
