//! Several viewers of one terminal: who may type, whose size it has, and answers of their emulators.

use anyhow::{Context, Result};
use headwater_tests::TestServer;
use serde_json::json;

use crate::viewer::{RESIZE, Viewer};

fn size(rows: u16, cols: u16) -> Vec<u8> {
    [rows.to_le_bytes(), cols.to_le_bytes()].concat()
}

#[tokio::test]
async fn the_last_viewer_that_typed_owns_the_size_and_all_viewers_are_notified() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut first = Viewer::open(&api, &session, "frames=binary&rows=30&cols=100").await?;
    let attached = first.hears("attached").await?;
    assert_eq!(
        (&attached["name"], &attached["rows"], &attached["cols"]),
        (&json!("main"), &json!(30), &json!(100))
    );
    first.keys(b"stty size\r").await?;
    first.shows("30 100").await?;
    let mut second = Viewer::open(&api, &session, "frames=binary&rows=40&cols=120").await?;
    let mut looks = Viewer::open(&api, &session, "read_only=true&rows=10&cols=20").await?;
    looks.say(&json!({ "type": "resize", "rows": 11, "cols": 21 })).await?;
    assert_eq!(
        second.hears("attached").await?["rows"],
        30,
        "a viewer that has not typed does not set the size"
    );
    // It has seen the screen, so it is a viewer before the size changes.
    looks.shows("30 100").await?;
    second.keys(b"stty size\r").await?;
    second.shows("40 120").await?;
    for viewer in [&mut first, &mut second, &mut looks] {
        let info = viewer.hears("resized").await?;
        assert_eq!((&info["rows"], &info["cols"]), (&json!(40), &json!(120)));
    }
    // The other's window changes, which counts when it types.
    first.socket.send(RESIZE, &size(50, 130)).await?;
    second.keys(b"stty size; echo se''cond\r").await?;
    second.shows("40 120\r\nsecond").await?;
    first.keys(b"stty size; echo fi''rst\r").await?;
    first.shows("50 130\r\nfirst").await?;
    let info = looks.hears("resized").await?;
    assert_eq!((&info["rows"], &info["cols"]), (&json!(50), &json!(130)));
    Ok(())
}

#[tokio::test]
async fn a_read_only_viewer_sees_all_and_cannot_type() -> Result<()> {
    let server = TestServer::start().await?;
    let (ann, anns_reader) = (server.user("ann", "member")?, server.user("ann", "reader")?);
    let bob = server.user("bob", "member")?;
    let session = &ann.session(&json!({"name": "anns"})).await?;
    let refused = Viewer::open(&anns_reader, session, "").await.err().context("may not make one")?;
    assert!(refused.to_string().starts_with("403"), "{refused}");
    // By its name too.
    let mut writes = Viewer::open(&ann, "anns", "").await?;
    for (user, query) in [(&anns_reader, ""), (&ann, "read_only=true")] {
        let mut looks = Viewer::open(user, session, query).await?;
        looks.command("echo never").await?;
        let error = looks.hears("error").await?;
        assert_eq!(error["code"], "forbidden", "{error}");
        looks.say(&json!({ "type": "interrupt" })).await?;
        looks.hears("error").await?;
        writes.command(&format!("echo seen-{}-$((1 + 1))", query.len())).await?;
        looks.shows(&format!("seen-{}-2", query.len())).await?;
        assert!(!looks.text().contains("never"));
    }
    for (name, bob) in [(session.as_str(), &bob), ("anns", &bob)] {
        let refused = Viewer::open(bob, name, "").await.err().context("bob may not")?;
        assert!(refused.to_string().starts_with("404"), "{refused}");
    }
    Ok(())
}

/// Asks where the cursor is in the middle of a line that it reads: an answer that a viewer sends would be read as typed.
#[tokio::test]
async fn answers_of_viewers_emulators_never_reach_the_program() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewers = Vec::new();
    for _ in 0..3 {
        viewers.push(Viewer::open(&api, &session, "frames=binary").await?);
    }
    viewers[0].keys(b"stty -echo; echo reads-$((1 + 1)); cat -v\r").await?;
    viewers[0].shows("reads-2").await?;
    for viewer in &mut viewers {
        viewer.keys(b"\x1b[5;7R").await?;
        viewer.keys(b"\x1b[?1;2c").await?;
        viewer.keys(b"\x1b]11;rgb:0000/0000/0000\x07").await?;
        viewer.keys(b"\x1bP>|xterm.js\x1b\\").await?;
        viewer.keys(b"key\x1b[A.\r").await?;
    }
    for _ in 0..3 {
        viewers[0].shows("key^[[A.").await?;
    }
    let text = viewers[0].text();
    assert!(
        !text.contains("^[[5;7R")
            && !text.contains("^[[?1")
            && !text.contains("rgb")
            && !text.contains("xterm.js")
    );
    Ok(())
}

#[tokio::test]
async fn tab_completes_and_the_shell_reports_its_prompts() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "frames=binary").await?;
    viewer.hears("prompt").await?;
    viewer.keys(b"touch a-very-long-name; mkdir in''side\r").await?;
    viewer.hears("prompt").await?;
    viewer.keys(b"ls a-ve\t").await?;
    viewer.shows("a-very-long-name ").await?;
    viewer.keys(b"\r").await?;
    viewer.hears("prompt").await?;
    viewer.info.clear();
    viewer.keys(b"cd inside; (exit 5)\r").await?;
    assert_eq!(viewer.hears("command_ended").await?["exit_code"], 5);
    let folder = viewer.hears("directory").await?;
    assert!(folder["path"].as_str().is_some_and(|path| path.ends_with("/inside")), "{folder}");
    let mut json = Viewer::open(&api, &session, "").await?;
    json.command("echo done").await?;
    assert_eq!(json.hears("prompt").await?, json!({ "type": "prompt" }));
    json.command("exit 3").await?;
    assert_eq!(json.hears("exit").await?["code"], 3);
    assert_eq!(viewer.hears("exited").await?["code"], 3);
    Ok(())
}
