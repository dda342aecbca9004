//! What goes wrong with a server says so, and what to do.

use std::process::Command;

use anyhow::Result;
use headwater_tests::{TestServer, binary};

use crate::command::{Done, Running, headwater, run};
use crate::worker;

fn finish(mut command: Command, words: &[&str]) -> Result<Done> {
    command.args(words);
    Running::start(command)?.finish()
}

fn fails(done: &Done, code: i32, says: &str) {
    assert_eq!(done.code, Some(code), "{}", done.errors());
    assert!(done.errors().contains(says) && done.errors().contains("hint:"), "{}", done.errors());
}

#[tokio::test]
async fn the_token_comes_from_the_data_folder_or_the_caller_and_a_wrong_one_is_refused() -> Result<()> {
    let server = worker().await?;
    assert_eq!(run(&server, &["ps"])?.code, Some(0));
    fails(&run(&server, &["--token", "hw_wrong", "ps"])?, 4, "token");
    let folder = tempfile::tempdir()?;
    let elsewhere = || {
        let mut command = Command::new(binary());
        command.env("HEADWATER_DATA", folder.path()).env("HEADWATER_URL", server.url());
        command
    };
    fails(&finish(elsewhere(), &["ps"])?, 4, "HEADWATER_TOKEN");
    let mut with_token = elsewhere();
    with_token.env("HEADWATER_TOKEN", server.token());
    assert_eq!(finish(with_token, &["run", "--", "echo", "hi"])?.text(), "hi\n");
    // The address that is printed for browsers is enough.
    let url = format!("{}/login?token={}", server.url(), server.token());
    assert_eq!(finish(elsewhere(), &["--server", &url, "ps"])?.code, Some(0));
    Ok(())
}

#[tokio::test]
async fn an_unreachable_server_is_reported_at_once() -> Result<()> {
    let mut server = worker().await?;
    server.kill();
    fails(&run(&server, &["ps"])?, 5, "no server answers");
    let id = "exe_00000000000000000000000000000000";
    for words in [&["kill", id][..], &["forget", id], &["logs", id], &["sessions", "create"]] {
        fails(&run(&server, words)?, 5, "no server answers");
    }
    for words in [&["attach", id][..], &["run", "--", "true"], &["run", "--detach", "--", "true"]] {
        fails(&run(&server, words)?, 125, "no server answers");
    }
    fails(&run(&server, &["--server", "ftp://x", "ps"])?, 2, "http://");
    Ok(())
}

#[tokio::test]
async fn errors_have_the_same_exit_codes_as_without_a_server() -> Result<()> {
    let server = worker().await?;
    let nothing = "exe_00000000000000000000000000000000";
    for words in
        [&["logs", nothing][..], &["kill", nothing], &["forget", nothing], &["sessions", "show", "nobody"]]
    {
        fails(&run(&server, words)?, 3, "there is no");
    }
    fails(&run(&server, &["attach", nothing])?, 125, "there is no");
    fails(&run(&server, &["run", "--session", "nobody", "--", "true"])?, 125, "there is no session");
    fails(&run(&server, &["run", "--sandbox", "none", "--", "true"])?, 125, "sandbox");
    Ok(())
}

#[tokio::test]
async fn a_reader_may_read_and_not_change_anything() -> Result<()> {
    let server = worker().await?;
    let token = server.make_token(&["--role", "reader"])?;
    let with = |server: &TestServer, words: &[&str]| {
        let mut command = headwater(server, words);
        command.env("HEADWATER_TOKEN", &token);
        Running::start(command)?.finish()
    };
    assert_eq!(with(&server, &["ps"])?.code, Some(0));
    fails(&with(&server, &["run", "--", "true"])?, 125, "may");
    Ok(())
}
