//! What only a server has: tokens and users over the API, contexts, links, quotas, the audit log.

use std::process::Command;

use anyhow::{Context, Result};
use headwater_tests::TestServer;

use crate::command::{Done, Running, answer, headwater, objects, run};
use crate::worker;

/// A command that knows neither the server's data folder nor its address.
fn elsewhere(folder: &std::path::Path, words: &[&str]) -> Command {
    let mut command = Command::new(headwater_tests::binary());
    command.args(words).env("HOME", folder).env("XDG_DATA_HOME", folder.join("data"));
    command.env("HEADWATER_CONTEXTS", folder.join("contexts.json"));
    for name in ["HEADWATER_DATA", "HEADWATER_URL", "HEADWATER_TOKEN", "HEADWATER_CONTEXT", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

fn typed(mut command: Command, input: &str) -> Result<Done> {
    command.env_remove("NO_COLOR");
    let mut running = Running::start(command)?;
    running.write(input.as_bytes())?;
    running.finish()
}

#[tokio::test]
async fn tokens_are_created_listed_and_revoked_over_the_api() -> Result<()> {
    let server = worker().await?;
    let folder = tempfile::tempdir()?;
    let there = ["--server", &server.url(), "--token", server.token()];
    let remote = |words: &[&str]| -> Result<Done> {
        Running::start(elsewhere(folder.path(), &[&there[..], words].concat()))?.finish()
    };
    let made = remote(&["token", "create", "--user", "ann", "--name", "ci", "--json"])?;
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).context(made.errors())?;
    assert_eq!(
        (&made["user"], &made["role"], &made["state"]),
        (&"ann".into(), &"member".into(), &"good".into())
    );
    let (id, secret) = (made["id"].as_str().context("no id")?, made["token"].as_str().context("no token")?);
    // The list is the same as that of the store.
    let over_api = remote(&["token", "list", "--json"])?.text();
    let of_store = server.command().args(["token", "list", "--json"]).output()?;
    let ids = |text: &str| -> Result<Vec<serde_json::Value>> {
        let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
        Ok(lines.collect::<Result<Vec<_>, _>>()?.into_iter().map(|one| one["id"].clone()).collect())
    };
    assert_eq!(ids(&over_api)?, ids(&String::from_utf8(of_store.stdout)?)?);
    assert!(remote(&["token", "list"])?.text().starts_with("TOKEN "));
    // A member creates tokens for itself, and not for others.
    let ann = ["--server", &server.url(), "--token", secret];
    let own =
        Running::start(elsewhere(folder.path(), &[&ann[..], &["token", "create"]].concat()))?.finish()?;
    assert_eq!(own.code, Some(0), "{}", own.errors());
    let other = [&ann[..], &["token", "create", "--user", "bob"]].concat();
    assert_eq!(Running::start(elsewhere(folder.path(), &other))?.finish()?.code, Some(4));
    assert_eq!(remote(&["token", "revoke", id])?.code, Some(0));
    assert_eq!(remote(&["token", "revoke", "tok_0"])?.code, Some(3));
    let refused = Running::start(elsewhere(folder.path(), &[&ann[..], &["ps"]].concat()))?.finish()?;
    assert_eq!(refused.code, Some(4), "{}", refused.errors());
    assert!(!folder.path().join("data").exists(), "nothing was created here");
    Ok(())
}

#[tokio::test]
async fn users_are_managed_over_the_api() -> Result<()> {
    let server = worker().await?;
    let added =
        typed(headwater(&server, &["user", "add", "ann", "--role", "member"]), "a password of ann\n")?;
    assert!(added.text().starts_with("usr_"), "{}", added.errors());
    assert_eq!(run(&server, &["user", "add", "ann", "--no-password"])?.code, Some(4));
    assert_eq!(run(&server, &["user", "disable", "nobody"])?.code, Some(3));
    answer(&server, &["user", "disable", "ann"])?;
    let state = || Ok::<_, anyhow::Error>(objects(&server, &["user", "list", "--json"])?[0]["state"].clone());
    assert_eq!(state()?, "disabled");
    answer(&server, &["user", "enable", "ann"])?;
    assert_eq!(state()?, "good");
    let changed = typed(headwater(&server, &["user", "password", "ann"]), "another password\n")?;
    assert_eq!(changed.code, Some(0), "{}", changed.errors());
    assert!(answer(&server, &["user", "list"])?.starts_with("USER "));
    Ok(())
}

#[tokio::test]
async fn a_server_is_stored_by_login_used_without_flags_and_forgotten_by_logout() -> Result<()> {
    let server = worker().await?;
    let folder = tempfile::tempdir()?;
    let here = |words: &[&str]| -> Result<Done> { Running::start(elsewhere(folder.path(), words))?.finish() };
    typed(headwater(&server, &["user", "add", "ann"]), "a password of ann\n")?;
    let wrong =
        typed(elsewhere(folder.path(), &["login", &server.url(), "--user", "ann"]), "wrong password\n")?;
    assert_eq!(wrong.code, Some(4), "{}", wrong.errors());
    let login = ["login", &server.url(), "--user", "ann", "--name", "test"];
    let signed_in = typed(elsewhere(folder.path(), &login), "a password of ann\n")?;
    assert_eq!(signed_in.code, Some(0), "{}", signed_in.errors());
    assert!(signed_in.errors().contains("as ann"), "{}", signed_in.errors());
    let created = here(&["sessions", "create", "--name", "dev"])?;
    assert_eq!(created.code, Some(0), "{}", created.errors());
    assert_eq!(here(&["exec", "dev", "--", "echo", "there"])?.text(), "there\n");
    assert_eq!(objects(&server, &["sessions", "--json"])?.len(), 1, "the session is on the server");
    assert!(here(&["context"])?.text().contains("test"));
    // A token of the operator, as the sign-in URL that `serve` prints.
    let url = format!("{}/login?token={}", server.url(), server.token());
    assert_eq!(here(&["login", &url, "--name", "root"])?.code, Some(0));
    assert_eq!(here(&["user", "list"])?.code, Some(0));
    assert_eq!(here(&["--context", "test", "user", "list"])?.code, Some(4), "ann is not an operator");
    assert_eq!(here(&["--context", "test", "stop"])?.code, Some(2));
    assert_eq!(here(&["context", "use", "test"])?.code, Some(0));
    let tokens = || objects(&server, &["token", "list", "--json"]);
    assert!(tokens()?.iter().any(|one| one["name"] == "headwater login" && one["state"] == "good"));
    assert_eq!(here(&["logout"])?.code, Some(0));
    assert!(tokens()?.iter().any(|one| one["name"] == "headwater login" && one["state"] == "revoked"));
    assert!(!std::fs::read_to_string(folder.path().join("contexts.json"))?.contains("\"test\""));
    Ok(())
}

#[tokio::test]
async fn links_quotas_and_the_audit_log_are_shown() -> Result<()> {
    let server = worker().await?;
    answer(&server, &["sessions", "create", "--name", "dev"])?;
    let link = answer(&server, &["share", "create", "dev", "--access", "read", "--expires", "1h"])?;
    let guest = server.api_with(&link);
    assert_eq!(guest.get("/v1/sessions/dev").await?.status, 404, "names are those of the owner");
    let listed = objects(&server, &["share", "list", "dev", "--json"])?;
    let id = listed[0]["id"].as_str().context("no id")?;
    let session = listed[0]["session_id"].as_str().context("no session")?;
    assert_eq!(guest.get(&format!("/v1/sessions/{session}")).await?.status, 200);
    answer(&server, &["share", "revoke", "dev", id])?;
    assert!(answer(&server, &["share", "list", "dev"])?.contains("revoked"));
    let usage = answer(&server, &["usage"])?;
    assert!(usage.starts_with("RESOURCE ") && usage.contains("sessions"), "{usage}");
    let audit = objects(&server, &["audit", "--action", "session.create", "--json"])?;
    assert_eq!(audit.len(), 1, "{audit:?}");
    assert!(answer(&server, &["audit", "-n", "1"])?.starts_with("TIME "));
    let url = answer(&server, &["open", "--print"])?;
    assert_eq!(url, format!("{}/login?token={}", server.url(), server.token()));
    own_server_is_found(&server)
}

/// Without `--server` the commands that need one use the server of the data folder.
fn own_server_is_found(server: &TestServer) -> Result<()> {
    let mut command = server.command();
    command.arg("usage").env_remove("HEADWATER_URL");
    assert_eq!(Running::start(command)?.finish()?.code, Some(0));
    Ok(())
}
