//! `headwater stop` on a server with the sessions of several users: no user loses anything without a confirmation.

use anyhow::{Context, Result, ensure};
use headwater_protocol::SessionId;
use headwater_protocol::api::{SessionRequest, SessionStateName, StartRequest};
use headwater_tests::TestServer;
use headwater_tests::host::PATIENCE;

use crate::command::Running;
use crate::pty::Pty;
use crate::worker;

/// A user with a session that has a file.
async fn user(server: &TestServer, name: &str) -> Result<(headwater_client::Client, SessionId)> {
    let client = server.client_with(&server.make_token(&["--user", name, "--role", "member"])?)?;
    let session = client.create_session(&SessionRequest::default(), None).await?.id;
    let request = StartRequest { shell: Some(format!("echo {name} > file")), ..StartRequest::default() };
    let started = client.start(Some(session), &request, None).await?;
    client.wait(started.id, PATIENCE).await?;
    Ok((client, session))
}

fn file(server: &TestServer, session: SessionId) -> std::path::PathBuf {
    server.data().join("sessions").join(session.to_string()).join("workspace/file")
}

#[tokio::test]
async fn a_server_that_was_stopped_has_all_workspaces_when_it_serves_again() -> Result<()> {
    let mut server = worker().await?;
    let (ann, anns) = user(&server, "ann").await?;
    let (_, bobs) = user(&server, "bob").await?;
    let mut stop = server.command();
    stop.arg("stop");
    let done = Running::start(stop)?.finish()?;
    assert_eq!(done.text(), "stopped: 2 sessions hibernated, 0 executions ended\n", "{}", done.errors());
    assert!(file(&server, anns).exists() && file(&server, bobs).exists());
    server.start_again().await?;
    assert_eq!(ann.session(anns).await?.state, SessionStateName::Hibernated);
    let request = StartRequest { shell: Some("cat file".into()), ..StartRequest::default() };
    let started = ann.start(Some(anns), &request, None).await?;
    let ended = ann.wait(started.id, PATIENCE).await?;
    assert_eq!(ended.exit.context("no end")?.code, Some(0));
    assert_eq!(ann.session(anns).await?.state, SessionStateName::Ready);
    Ok(())
}

#[tokio::test]
async fn ending_all_sessions_names_how_many_and_whose_and_asks() -> Result<()> {
    let server = worker().await?;
    let (ann, anns) = user(&server, "ann").await?;
    let (_, bobs) = user(&server, "bob").await?;
    let all_are_there = || file(&server, anns).exists() && file(&server, bobs).exists();
    let mut stop = server.command();
    stop.args(["stop", "--end-sessions"]);
    // Without a terminal it cannot ask.
    let done = Running::start(stop)?.finish()?;
    assert_eq!(done.code, Some(2), "{}", done.errors());
    for word in ["2 sessions", "ann (1)", "bob (1)", "workspaces", "--yes"] {
        ensure!(done.errors().contains(word), "{word}: {}", done.errors());
    }
    assert!(all_are_there());
    assert_eq!(ann.session(anns).await?.state, SessionStateName::Ready, "the server serves on");
    // A person is asked, and says no; and then yes.
    let mut stop = server.command();
    stop.args(["stop", "--end-sessions"]);
    let mut person = Pty::with(&stop)?;
    person.screen.until_printed("ann (1), bob (1)")?;
    person.screen.until_printed("[y/N]")?;
    person.types(b"\n")?;
    let (code, screen) = person.finish()?;
    assert_eq!(code, Some(4), "{screen}");
    assert!(all_are_there());
    let mut person = Pty::with(&stop)?;
    person.screen.until_printed("[y/N]")?;
    person.types(b"y\n")?;
    let (code, screen) = person.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("stopped: 0 sessions hibernated, 2 sessions ended"), "{screen}");
    assert!(!file(&server, anns).exists() && !file(&server, bobs).exists());
    Ok(())
}

#[tokio::test]
async fn a_hostile_owner_is_escaped_in_lists_of_tokens_in_questions_and_in_the_log() -> Result<()> {
    let server = worker().await?;
    // No control character gets into a name, but one that turns the direction of a line does.
    let (_, session) = user(&server, "eve\u{202e}nimda").await?;
    let output = |words: &[&str]| -> Result<String> {
        let done = server.command().args(words).output()?;
        Ok(String::from_utf8([done.stdout, done.stderr].concat())?)
    };
    for words in [
        &["token", "list"][..],
        &["token", "list", "--json"],
        &["stop", "--end-sessions"],
        &["sessions", "show", &session.to_string()],
    ] {
        let text = output(words)?;
        ensure!(!text.contains('\u{202e}'), "{words:?}: {text}");
        let has_owner = text.contains("eve\\u{202e}nimda") || text.contains("eve\\u202enimda");
        ensure!(has_owner || words[0] == "sessions", "{words:?} shows nothing of it: {text}");
    }
    let log = server.log();
    ensure!(log.contains("eve\\u{202e}nimda") && !log.contains('\u{202e}'), "{log}");
    Ok(())
}
