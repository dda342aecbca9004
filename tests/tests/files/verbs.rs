//! Each verb does what it says, and programs and the API see the same files.

use anyhow::{Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::http::{error_code, json_of, texts};
use serde_json::json;

use crate::calls::Files;

#[tokio::test]
async fn written_files_are_read_by_the_api_and_by_programs_whatever_the_bytes() -> Result<()> {
    let fixture = Fixture::new().await?;
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let made = json_of(&fixture.write("src/all%20bytes", &bytes).await?, 201)?;
    ensure!(made["path"] == "src/all bytes" && made["size"] == 100_000 && made["type"] == "file", "{made}");
    let got = fixture.read("/workspace/src/all%20bytes").await?;
    ensure!(got.status == 200 && got.body == bytes, "{}", got.head);
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "attachment; filename*=UTF-8''all%20bytes"),
        ("content-length", "100000"),
    ] {
        ensure!(got.header(name) == Some(value), "{name}: {}", got.head);
    }
    let printed = fixture
        .run("wc -c < 'src/all bytes'; echo from a program > mine; stat -c '%U %a' mine src/*")
        .await?;
    ensure!(printed.starts_with("100000"), "{printed}");
    ensure!(fixture.read("mine").await?.body == b"from a program\n");
    json_of(&fixture.write("src/all%20bytes", b"").await?, 200)?;
    let empty = fixture.read("src/all%20bytes").await?;
    ensure!(empty.status == 200 && empty.body.is_empty() && empty.header("content-length") == Some("0"));
    ensure!(
        fixture.run("rm 'src/all bytes' && echo gone").await? == "gone\n",
        "the file is the session's own"
    );
    ensure!(error_code(&fixture.read("src/all%20bytes").await?, 404)? == "not_found");
    Ok(())
}

#[tokio::test]
async fn bytes_are_added_at_the_end_and_put_at_an_offset() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("log&mode=append", b"one\n").await?, 201)?;
    let added = json_of(&fixture.write("log&mode=append", b"two\n").await?, 200)?;
    ensure!(added["size"] == 8, "{added}");
    json_of(&fixture.write("log&offset=4", b"2").await?, 200)?;
    json_of(&fixture.write("log&offset=10", b"far").await?, 200)?;
    ensure!(fixture.read("log").await?.body == b"one\n2wo\n\0\0far");
    json_of(&fixture.write("new&offset=2&permissions=600", b"x").await?, 201)?;
    ensure!(fixture.read("new").await?.body == b"\0\0x");
    ensure!(json_of(&fixture.stat("new").await?, 200)?["mode"] == "600");
    error_code(&fixture.write("log&offset=1&mode=append", b"x").await?, 400)?;
    error_code(&fixture.write("log&offset=9223372036854775807", b"x").await?, 413)?;
    error_code(&fixture.write("log&mode=sideways", b"x").await?, 400)?;
    // Many at once: each is written whole.
    let lines = (0..20).map(|n| {
        let fixture = &fixture;
        async move { fixture.write("many&mode=append", format!("{n:0>4000}\n").as_bytes()).await }
    });
    for answer in futures_util::future::join_all(lines).await {
        ensure!(answer?.status < 300);
    }
    let text = fixture.read("many").await?.text();
    let mut numbers: Vec<usize> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    numbers.sort_unstable();
    ensure!(numbers == (0..20).collect::<Vec<_>>() && text.len() == 20 * 4001);
    Ok(())
}

#[tokio::test]
async fn folders_are_made_listed_in_pages_and_in_depth() -> Result<()> {
    let fixture = Fixture::new().await?;
    let made = json_of(&fixture.change("folders", &json!({ "path": "/a/b/c" })).await?, 201)?;
    ensure!(made["type"] == "folder" && made["path"] == "a/b/c", "{made}");
    json_of(&fixture.change("folders", &json!({ "path": "a/b/c" })).await?, 200)?;
    for n in 0..7 {
        json_of(&fixture.write(&format!("a/f{n}"), b"x").await?, 201)?;
    }
    error_code(&fixture.change("folders", &json!({ "path": "a/f0" })).await?, 409)?;
    ensure!(texts(&fixture.list("").await?, "path") == ["a"]);
    let expected = ["a/b", "a/b/c", "a/f0", "a/f1", "a/f2", "a/f3", "a/f4", "a/f5", "a/f6"];
    ensure!(texts(&fixture.list("path=a&depth=5").await?, "path") == expected);
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = fixture.list(&format!("path=/a&depth=2&limit=2{cursor}")).await?;
        all.extend(texts(&page, "path"));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
        // What comes and goes between pages changes nothing of the rest.
        json_of(&fixture.write(&format!("a/.new{}", all.len()), b"").await?, 201)?;
    }
    ensure!(all == expected, "{all:?}");
    for query in
        ["depth=0", "depth=129", "limit=0", "limit=1001", "cursor=%21", "cursor=", "odd=1", "depth=x"]
    {
        error_code(&fixture.get(&fixture.route(&format!("?{query}"))).await?, 400)?;
    }
    error_code(&fixture.get(&fixture.route("?path=a/f0")).await?, 409)?;
    error_code(&fixture.get(&fixture.route("?path=none")).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn files_and_folders_are_moved_copied_and_removed() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("src/deep/file", b"content").await?, 201)?;
    json_of(&fixture.write("other", b"other").await?, 201)?;
    let moved = json_of(&fixture.change("move", &json!({ "from": "src", "to": "lib/src" })).await?, 200)?;
    ensure!(moved["path"] == "lib/src" && moved["type"] == "folder", "{moved}");
    let copied = json_of(&fixture.change("copy", &json!({ "from": "lib", "to": "copy" })).await?, 200)?;
    ensure!(copied["files"] == 4 && copied["bytes"] == 7 && copied["file"]["path"] == "copy", "{copied}");
    ensure!(fixture.read("copy/src/deep/file").await?.body == b"content");
    ensure!(
        fixture.run("echo more >> copy/src/deep/file && echo ok").await? == "ok\n",
        "the copy is the session's"
    );
    ensure!(fixture.read("lib/src/deep/file").await?.body == b"content", "and a copy");
    for (what, from, to, status) in [
        ("move", "other", "lib", 409),
        ("move", "none", "x", 404),
        ("move", "lib", "lib/in/it", 400),
        ("move", "", "x", 400),
        ("copy", "lib", "copy", 409),
        ("copy", "other", "copy/src/deep/file", 409),
        ("copy", "lib", "lib/in/it", 400),
        ("copy", "none", "x", 404),
    ] {
        error_code(&fixture.change(what, &json!({ "from": from, "to": to })).await?, status)?;
    }
    let over = json!({ "from": "other", "to": "copy/src/deep/file", "overwrite": true });
    json_of(&fixture.change("copy", &over).await?, 200)?;
    ensure!(fixture.read("copy/src/deep/file").await?.body == b"other");
    let over = json!({ "from": "other", "to": "lib/src/deep/file", "overwrite": true });
    json_of(&fixture.change("move", &over).await?, 200)?;
    error_code(&fixture.stat("other").await?, 404)?;
    error_code(&fixture.remove("lib").await?, 409)?;
    error_code(&fixture.remove("&recursive=true").await?, 400)?;
    json_of(&fixture.remove("lib&recursive=true").await?, 204)?;
    error_code(&fixture.remove("lib&recursive=true").await?, 404)?;
    json_of(&fixture.remove("copy/src/deep/file").await?, 204)?;
    json_of(&fixture.remove("copy/src/deep").await?, 204)?;
    ensure!(texts(&fixture.list("depth=9").await?, "path") == ["copy", "copy/src"]);
    Ok(())
}

#[tokio::test]
async fn rights_are_changed_and_kept_when_a_file_is_written_again() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("run.sh", b"#!/bin/sh\necho one\n").await?, 201)?;
    let changed = json_of(&fixture.change("chmod", &json!({ "path": "run.sh", "mode": "755" })).await?, 200)?;
    ensure!(changed["mode"] == "755", "{changed}");
    ensure!(fixture.run("./run.sh").await? == "one\n");
    json_of(&fixture.write("run.sh", b"#!/bin/sh\necho two\n").await?, 200)?;
    ensure!(fixture.run("./run.sh").await? == "two\n");
    for mode in ["4755", "888", "", "rwx"] {
        error_code(&fixture.change("chmod", &json!({ "path": "run.sh", "mode": mode })).await?, 400)?;
    }
    error_code(&fixture.change("chmod", &json!({ "path": "", "mode": "755" })).await?, 400)?;
    error_code(&fixture.change("chmod", &json!({ "path": "none", "mode": "755" })).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn a_session_that_sleeps_serves_its_files_and_sleeps_on() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("kept", b"before").await?, 201)?;
    let session = format!("/v1/sessions/{}", fixture.session);
    let asleep = fixture.request("POST", &format!("{session}/hibernate"), &[], b"").await?;
    ensure!(asleep.status == 200, "{}", asleep.text());
    ensure!(fixture.read("kept").await?.body == b"before");
    json_of(&fixture.write("kept", b"after").await?, 200)?;
    let info = json_of(&fixture.get(&session).await?, 200)?;
    ensure!(info["state"] == "hibernated", "{info}");
    ensure!(
        fixture.run("cat kept; echo x >> kept && echo ok").await? == "afterok\n",
        "it woke with what was written"
    );
    Ok(())
}

#[tokio::test]
async fn the_files_of_a_session_are_its_owners_and_end_with_it() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("secret", b"mine").await?, 201)?;
    let bob = fixture.server.user("bob", "member")?;
    let json = [("Content-Type", "application/json")];
    for (method, rest, body) in [
        ("GET", "/content?path=secret", ""),
        ("GET", "/stat?path=secret", ""),
        ("GET", "", ""),
        ("PUT", "/content?path=secret", "theirs"),
        ("DELETE", "?path=secret", ""),
        ("POST", "/folders", r#"{"path":"x"}"#),
        ("POST", "/move", r#"{"from":"secret","to":"x"}"#),
        ("POST", "/copy", r#"{"from":"secret","to":"x"}"#),
        ("POST", "/chmod", r#"{"path":"secret","mode":"777"}"#),
    ] {
        let answer = bob.request(method, &fixture.route(rest), &json, body.as_bytes()).await?;
        ensure!(error_code(&answer, 404)? == "not_found", "{method} {rest}");
        let none = format!("/v1/sessions/ses_{}/files{rest}", "0".repeat(32));
        error_code(&fixture.request(method, &none, &json, body.as_bytes()).await?, 404)?;
    }
    ensure!(fixture.read("secret").await?.body == b"mine");
    let gone = fixture.delete(&format!("/v1/sessions/{}", fixture.session)).await?;
    ensure!(gone.status == 204);
    error_code(&fixture.read("secret").await?, 404)?;
    Ok(())
}
