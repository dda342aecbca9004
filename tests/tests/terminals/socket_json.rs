//! The JSON messages of a terminal: lines, interrupts, sizes, ends; and invalid messages.

use anyhow::Result;
use headwater_tests::TestServer;
use serde_json::json;

use crate::viewer::{READS_KEYS, Viewer, terminals};

/// Says whether it is in front of the terminal or in the background, each time that changes. In one process: a shell that is
/// stopped between its fork and the exec after it is not seen to be.
const WHERE: &str = r"import os, time\nwas = None\nwhile True:\n now = os.tcgetpgrp(1) == os.getpgrp()\n if now != was: print('is-in-' + ('front' if now else 'back'), flush=True)\n was = now\n time.sleep(0.05)";

#[tokio::test]
async fn a_line_is_run_and_what_it_prints_comes_back() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "").await?;
    viewer.command("echo one > a-file; ls -la").await?;
    viewer.shows("total ").await?;
    viewer.shows("a-file").await?;
    viewer.say(&json!({ "type": "command", "data": "echo $((40 + 2))x" })).await?;
    viewer.shows("42x").await?;
    viewer.command("exit 7").await?;
    assert_eq!(viewer.hears("exit").await?, json!({ "type": "exit", "code": 7 }));
    assert_eq!(viewer.hears("close").await?["code"], 1000);
    Ok(())
}

#[tokio::test]
async fn the_shell_is_one_and_its_environment_jobs_and_pipes_are_as_in_any_terminal() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "rows=30&cols=100").await?;
    viewer.command("export COLOUR=green; cd /tmp").await?;
    viewer.command("echo [$COLOUR] [$PWD]").await?;
    viewer.shows("[green] [/tmp]").await?;
    viewer.command("echo a b c | tr ' ' '\\n' | wc -l; stty size").await?;
    viewer.shows("3\r\n30 100").await?;
    viewer.command("tty; echo from-$((2 + 1))-tty > /dev/tty").await?;
    viewer.shows("/dev/pts/").await?;
    viewer.shows("from-3-tty").await?;
    // Job control: stopped by ^Z, gone on with in the background and in front, ended by ^C.
    // It says when it is in front: a key that comes earlier is the shell's.
    viewer.command(&format!("python3 -c $'{}'", WHERE.replace('\'', "\\'"))).await?;
    viewer.shows("is-in-front").await?;
    viewer.say(&json!({ "type": "input", "data": "\u{1a}" })).await?;
    viewer.shows("Stopped").await?;
    viewer.command("bg").await?;
    viewer.shows("is-in-back").await?;
    viewer.command("jobs").await?;
    viewer.shows("Running").await?;
    viewer.command("fg").await?;
    viewer.shows("is-in-front").await?;
    viewer.say(&json!({ "type": "interrupt" })).await?;
    viewer.shows("^C").await?;
    viewer.command("echo ended by $?").await?;
    viewer.shows("ended by 130").await?;
    // ^D on an empty line ends the shell, once it reads keys.
    viewer.shows(READS_KEYS).await?;
    viewer.say(&json!({ "type": "input", "data": "\u{4}" })).await?;
    viewer.hears("exit").await?;
    Ok(())
}

#[tokio::test]
async fn an_invalid_message_is_answered_with_an_error_and_the_socket_stays_open() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "").await?;
    for text in
        ["ls", "{}", r#"{"type":"odd"}"#, r#"{"type":"command"}"#, r#"{"type":"resize","rows":0,"cols":1}"#]
    {
        viewer.socket.say(text).await?;
        let error = viewer.hears("error").await?;
        assert!(error["message"].is_string(), "{text}: {error}");
    }
    viewer.command("echo still-$((1 + 1))").await?;
    viewer.shows("still-2").await?;
    let mut binary = Viewer::open(&api, &session, "frames=binary").await?;
    for frame in [&b"\x99x"[..], b"\x12\x01", b"\x13\xff", b"\x14", b"\x12\0\0\0\0"] {
        binary.socket.send(frame[0], &frame[1..]).await?;
        assert_eq!(binary.hears("error").await?["code"], "invalid_request", "{frame:?}");
    }
    binary.keys(b"echo and-$((1 + 2))\r").await?;
    binary.shows("and-3").await?;
    viewer.shows("and-3").await?;
    assert_eq!(terminals(&api, &session).await?.len(), 1);
    Ok(())
}
