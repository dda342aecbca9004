//! More rights for one command: the walls enforce what a person allowed, for that command and no other.

use std::fs;
use std::net::TcpListener;

use anyhow::{Context, Result};
use headwater_tests::{Options, TestWorker};
use serde_json::{Value, json};

use crate::client::{ERAS, Era, McpClient, project};
use crate::person::{Decided, Say, client};

/// A command that asks for more.
fn more(cmd: &str, permissions: &Value) -> Value {
    json!({"cmd": cmd, "sandbox_permissions": "with_additional_permissions", "yield_time_ms": 30_000,
        "additional_permissions": permissions})
}

/// The exit code of a command with the rights of its session.
fn plain(client: &mut McpClient, cmd: &str) -> Result<Value> {
    let run = client.run(&json!({"cmd": cmd, "yield_time_ms": 30_000}), Say::Refuse)?;
    assert!(run.questions.is_empty(), "{run:?}");
    Ok(exit_code(&run))
}

fn exit_code(run: &Decided) -> Value {
    run.result["structuredContent"]["exit_code"].clone()
}

#[tokio::test]
async fn a_path_that_was_allowed_is_writable_for_that_command_only() -> Result<()> {
    let worker = TestWorker::small().await?;
    let outside = worker.scratch().canonicalize()?.join("outside");
    fs::create_dir_all(&outside)?;
    let path = outside.to_str().context("a path")?;
    for era in ERAS {
        let mut client = client(&worker, era, &[])?;
        let write = format!("echo granted > {path}/file");
        assert_ne!(plain(&mut client, &write)?, 0);
        let asked = more(&write, &json!({"file_system": {"write": [path]}}));
        let refused = client.run(&asked, Say::Refuse)?;
        assert!(refused.refusal()?.contains("refused") && !outside.join("file").exists(), "{refused:?}");
        let allowed = client.run(&asked, Say::Once)?;
        assert_eq!(exit_code(&allowed), 0, "{era:?} {allowed:?}");
        assert!(
            allowed.question()?.contains(&format!("It would get: write access to {path}")),
            "{allowed:?}"
        );
        assert_eq!(fs::read_to_string(outside.join("file"))?, "granted\n");
        fs::remove_file(outside.join("file"))?;
        // The next one, and one that asks for another right, cannot.
        assert_ne!(plain(&mut client, &write)?, 0);
        let network = client.run(&more(&write, &json!({"network": true})), Say::Once)?;
        assert_ne!(exit_code(&network), 0, "{network:?}");
        assert!(!outside.join("file").exists());
        // The command of a grant works in the same folder, and its output can be read as any other.
        let here = client.run(&more("echo here > made; pwd", &json!({"network": true})), Say::Once)?;
        assert!(here.text()?.contains(&project(&worker)?.display().to_string()), "{here:?}");
        assert_eq!(fs::read_to_string(project(&worker)?.join("made"))?, "here\n");
        // What must stay hidden is not given, even if a person allows it.
        let data = worker.data().canonicalize()?;
        let hidden = more("true", &json!({"file_system": {"write": [data]}}));
        let never = client.run(&hidden, Say::Once)?;
        assert!(!never.refusal()?.is_empty(), "{never:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_network_and_a_longer_limit_are_given_for_one_command() -> Result<()> {
    let config = "[limits]\nwall = \"2s\"\n".to_owned();
    let worker = TestWorker::with(Options { config: Some(config), ..Options::default() }).await?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let connect = format!(
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {}), 1)\"",
        listener.local_addr()?.port()
    );
    for era in [Era::Handshake("2025-06-18"), Era::Stateless] {
        let mut client = client(&worker, era, &[])?;
        assert_ne!(plain(&mut client, &connect)?, 0);
        let reached = client.run(&more(&connect, &json!({"network": true})), Say::Once)?;
        assert_eq!(exit_code(&reached), 0, "{era:?} {reached:?}");
        assert_ne!(plain(&mut client, &connect)?, 0);

        let slow = "sleep 3; echo late";
        assert_ne!(plain(&mut client, slow)?, 0);
        let longer = client.run(&more(slow, &json!({"limits": {"wall_ms": 60_000}})), Say::Once)?;
        assert!(exit_code(&longer) == 0 && longer.text()?.contains("late\n"), "{era:?} {longer:?}");
        assert!(longer.question()?.contains("It would get: up to 60000 ms of time"), "{longer:?}");
        assert_ne!(plain(&mut client, slow)?, 0);
    }
    Ok(())
}

#[tokio::test]
async fn without_walls_runs_one_command_and_only_after_it_was_allowed() -> Result<()> {
    let worker = TestWorker::small().await?;
    let secret = worker.scratch().canonicalize()?.join("not-in-the-folder");
    fs::write(&secret, "outside\n")?;
    let cmd = format!("cat {}", secret.display());
    let escalated = json!({"cmd": cmd, "sandbox_permissions": "require_escalated", "yield_time_ms": 30_000});
    for era in [Era::Handshake("2025-11-25"), Era::Stateless] {
        // With on-failure it must have failed before.
        let mut client = client(&worker, era, &["--approvals", "on-failure"])?;
        let early = client.run(&escalated, Say::Once)?;
        assert!(early.questions.is_empty() && early.refusal()?.contains("before it has failed"), "{early:?}");
        assert_ne!(plain(&mut client, &cmd)?, 0);
        let allowed = client.run(&escalated, Say::Once)?;
        assert!(
            allowed.question()?.contains("no isolation: everything that your account can do"),
            "{allowed:?}"
        );
        assert!(allowed.text()?.contains("outside\n"), "{era:?} {allowed:?}");
        assert_ne!(plain(&mut client, &cmd)?, 0);
        // A policy that asks nobody gives nothing.
        let mut never = crate::person::client(&worker, era, &["--approvals", "never"])?;
        let refused = never.run(&escalated, Say::Once)?;
        assert!(
            refused.questions.is_empty() && refused.refusal()?.contains("nobody is asked"),
            "{refused:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_rule_gives_what_it_names_in_a_new_process() -> Result<()> {
    let worker = TestWorker::small().await?;
    let outside = worker.scratch().canonicalize()?.join("outside");
    fs::create_dir_all(&outside)?;
    let path = outside.to_str().context("a path")?;
    let mut asked = more(&format!("touch {path}/a"), &json!({"file_system": {"write": [path]}}));
    asked["prefix_rule"] = json!(["touch"]);
    let mut first = client(&worker, Era::Stateless, &[])?;
    let always = first.run(&asked, Say::Always)?;
    assert_eq!(exit_code(&always), 0, "{always:?}");
    let mut second = client(&worker, Era::Stateless, &[])?;
    let same = second
        .run(&more(&format!("touch {path}/b"), &json!({"file_system": {"write": [path]}})), Say::Refuse)?;
    assert!(same.questions.is_empty() && outside.join("b").exists(), "{same:?}");
    // Without asking for it, it is not given; more than that is asked for.
    assert_ne!(plain(&mut second, &format!("touch {path}/c"))?, 0);
    let wider = json!({"network": true, "file_system": {"write": [path]}});
    assert_eq!(second.run(&more(&format!("touch {path}/d"), &wider), Say::Refuse)?.questions.len(), 1);
    assert!(!outside.join("c").exists() && !outside.join("d").exists());
    Ok(())
}
