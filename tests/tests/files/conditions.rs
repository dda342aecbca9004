//! Tags, conditions, ranges; limits; a worker that goes away in the middle.

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::host::eventually;
use headwater_tests::http::{self, error_code, json_of, texts};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::calls::Files;

#[tokio::test]
async fn a_file_is_replaced_only_in_the_state_that_was_expected() -> Result<()> {
    let fixture = Fixture::new().await?;
    let route = fixture.route("/content?path=file");
    let put = |name: &'static str, value: String, bytes: &'static [u8]| {
        let (fixture, route) = (&fixture, &route);
        async move { fixture.request("PUT", route, &[(name, value.as_str())], bytes).await }
    };
    let first = json_of(&put("If-None-Match", "*".into(), b"first").await?, 201)?;
    let first = first["etag"].as_str().context("no tag")?.to_owned();
    ensure!(error_code(&put("If-None-Match", "*".into(), b"x").await?, 409)? == "conflict");
    let second = json_of(&put("If-Match", format!("\"other\", {first}"), b"second").await?, 200)?;
    ensure!(second["etag"] != first);
    for stale in [first.as_str(), "\"x\"", "W/\"x\"", ""] {
        ensure!(error_code(&put("If-Match", stale.to_owned(), b"lost").await?, 412)? == "changed", "{stale}");
    }
    for mode in ["&mode=append", "&offset=0"] {
        let more = [("If-Match", first.as_str())];
        error_code(&fixture.request("PUT", &format!("{route}{mode}"), &more, b"lost").await?, 412)?;
    }
    ensure!(fixture.read("file").await?.body == b"second");
    // A program that writes changes the tag, even if it resets the time.
    let tag = fixture.read("file").await?.header("etag").context("no tag")?.to_owned();
    fixture.run("cp -p file old; printf SECOND > file; touch -r old file").await?;
    error_code(&put("If-Match", tag, b"lost").await?, 412)?;
    ensure!(fixture.read("file").await?.body == b"SECOND");
    json_of(&put("If-Match", "*".into(), b"any").await?, 200)?;
    let none = fixture.route("/content?path=none");
    error_code(&fixture.request("PUT", &none, &[("If-Match", "*")], b"x").await?, 412)?;
    ensure!(fixture.read("none").await?.status == 404);
    error_code(&put("If-None-Match", "\"x\"".into(), b"x").await?, 400)?;
    Ok(())
}

#[tokio::test]
async fn of_many_writers_that_expect_the_same_state_one_succeeds() -> Result<()> {
    let fixture = Fixture::new().await?;
    let first = json_of(&fixture.write("file", b"0").await?, 201)?;
    let tag = first["etag"].as_str().context("no tag")?;
    let (route, more) = (fixture.route("/content?path=file"), [("If-Match", tag)]);
    let all = (1..=10).map(|n: u8| {
        let (fixture, route) = (&fixture, &route);
        async move { fixture.request("PUT", route, &more, &[n]).await.map(|answer| (n, answer.status)) }
    });
    let answers: Vec<_> = futures_util::future::try_join_all(all).await?;
    let won: Vec<u8> = answers.iter().filter(|(_, status)| *status == 200).map(|(n, _)| *n).collect();
    ensure!(won.len() == 1 && answers.iter().all(|(_, status)| matches!(status, 200 | 412)), "{answers:?}");
    ensure!(fixture.read("file").await?.body == won);
    Ok(())
}

#[tokio::test]
async fn ranges_and_known_tags_are_answered_as_http_says() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("file", b"0123456789").await?, 201)?;
    let route = fixture.route("/content?path=file");
    let ask = |method: &'static str, more: Vec<(&'static str, String)>| {
        let (fixture, route) = (&fixture, &route);
        async move {
            let more: Vec<_> = more.iter().map(|(name, value)| (*name, value.as_str())).collect();
            fixture.request(method, route, &more, b"").await
        }
    };
    let whole = ask("GET", vec![]).await?;
    let tag = whole.header("etag").context("no tag")?.to_owned();
    for (range, status, body, info) in [
        ("bytes=2-4", 206, "234", Some("bytes 2-4/10")),
        ("bytes=-3", 206, "789", Some("bytes 7-9/10")),
        ("bytes=8-99", 206, "89", Some("bytes 8-9/10")),
        ("bytes=0-1,4-5", 200, "0123456789", None),
        ("lines=1-2", 200, "0123456789", None),
    ] {
        let got = ask("GET", vec![("Range", range.into())]).await?;
        ensure!(got.status == status && got.text() == body, "{range}: {}", got.head);
        ensure!(got.header("content-range") == info && got.header("etag") == Some(&tag), "{}", got.head);
    }
    let none = ask("GET", vec![("Range", "bytes=10-".into())]).await?;
    ensure!(none.status == 416 && none.header("content-range") == Some("bytes */10"), "{}", none.head);
    for (if_range, status) in [(tag.clone(), 206), ("\"other\"".into(), 200)] {
        let got = ask("GET", vec![("Range", "bytes=0-0".into()), ("If-Range", if_range)]).await?;
        ensure!(got.status == status, "{}", got.head);
    }
    ensure!(ask("GET", vec![("If-None-Match", tag.clone())]).await?.status == 304);
    ensure!(ask("GET", vec![("If-None-Match", "\"x\"".into())]).await?.status == 200);
    let head = ask("HEAD", vec![]).await?;
    ensure!(head.status == 200 && head.header("content-length") == Some("10"), "{}", head.head);
    ensure!(head.header("etag") == Some(&tag) && head.body.is_empty());
    ensure!(ask("HEAD", vec![("If-None-Match", tag)]).await?.status == 304);
    Ok(())
}

#[tokio::test]
async fn no_more_is_written_than_the_disk_limit_and_the_error_names_it() -> Result<()> {
    let limits = json!({ "limits": { "disk_bytes": 1 << 20, "inodes": 20 } });
    let fixture = Fixture::with("", &limits).await?;
    json_of(&fixture.write("half", &vec![1; 512 << 10]).await?, 201)?;
    for path in ["more", "half&mode=append"] {
        let full = fixture.write(path, &vec![1; 700 << 10]).await?;
        ensure!(error_code(&full, 413)? == "disk_full");
        ensure!(full.text().contains("1048576 bytes"), "the limit is named: {}", full.text());
    }
    error_code(&fixture.change("copy", &json!({ "from": "half", "to": "a" })).await?, 200).ok();
    error_code(&fixture.change("copy", &json!({ "from": "half", "to": "b" })).await?, 413)?;
    ensure!(fixture.read("b").await?.status == 404 && fixture.read("more").await?.status == 404);
    // A replaced file frees its space.
    json_of(&fixture.remove("a").await?, 204)?;
    json_of(&fixture.write("half", &vec![2; 900 << 10]).await?, 200)?;
    json_of(&fixture.remove("half").await?, 204)?;
    let mut last = 0;
    for n in 0..30 {
        last = fixture.write(&format!("f{n}"), b"").await?.status;
    }
    ensure!(last == 413, "{last}");
    ensure!(texts(&fixture.list("").await?, "path").len() <= 20);
    Ok(())
}

#[tokio::test]
async fn a_body_that_breaks_off_changes_nothing() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("file", b"before").await?, 201)?;
    let bearer = format!("Bearer {}", fixture.server.token());
    for query in ["file", "file&mode=append", "file&offset=1", "new/er"] {
        let path = fixture.route(&format!("/content?path={query}"));
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {bearer}\r\nContent-Length: 5000000\r\n\r\n",
            fixture.server.address()
        );
        let mut stream = tokio::net::TcpStream::connect(fixture.server.address()).await?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&vec![1; 2_000_000]).await?;
        drop(stream);
    }
    // A later write waits for its turn behind whatever the others still did.
    json_of(&fixture.write("after", b"x").await?, 201)?;
    ensure!(fixture.read("file").await?.body == b"before");
    // A request may begin, and be given up, after its client has left.
    eventually("nothing else is left", async || {
        fixture.list("").await.is_ok_and(|list| texts(&list, "path") == ["after", "file"])
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_that_is_killed_while_a_file_is_sent_leaves_the_old_one_or_the_whole_new_one() -> Result<()>
{
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("file", b"before").await?, 201)?;
    let path = fixture.route("/content?path=file");
    let bearer = format!("Bearer {}", fixture.server.token());
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {bearer}\r\nContent-Length: 4000000\r\n\r\n",
        fixture.server.address()
    );
    let mut stream = tokio::net::TcpStream::connect(fixture.server.address()).await?;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&vec![1; 2_000_000]).await?;
    fixture.server.kill_worker().await?;
    let _ = stream.write_all(&vec![1; 2_000_000]).await;
    let answer = http::read(&mut stream, true).await?;
    let now = fixture.read("file").await?.body;
    if answer.status == 200 {
        // The gateway had not begun, and the next worker took all of it.
        ensure!(now == vec![1; 4_000_000], "{} bytes", now.len());
    } else {
        ensure!(error_code(&answer, 503)? == "unavailable");
        ensure!(now == b"before", "{} bytes", now.len());
    }
    ensure!(texts(&fixture.list("").await?, "path") == ["file"], "nothing is left of the new one");
    json_of(&fixture.write("file", b"after").await?, 200)?;
    Ok(())
}

#[tokio::test]
async fn a_session_over_its_disk_limit_starts_nothing_until_files_are_deleted() -> Result<()> {
    const LIMIT: u64 = 16 << 20;
    let fixture = Fixture::with("", &json!({ "limits": { "disk_bytes": LIMIT } })).await?;
    let start = json!({ "shell": "echo on" });
    let executions = format!("/v1/sessions/{}/executions", fixture.session);
    json_of(&fixture.post(&executions, &start).await?, 201)?; // the control
    std::fs::write(fixture.workspace().join("big"), vec![1; 20 << 20])?;
    let refused = async |why: &str| -> Result<()> {
        let error = json_of(&fixture.post(&executions, &start).await?, 409)?["error"].clone();
        assert_eq!(error["code"], "disk_limit", "{why}: {error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(&LIMIT.to_string()) && message.contains("`20971520`"), "{why}: {message}");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("delete")), "{why}: {error}");
        Ok(())
    };
    refused("awake").await?;
    let hibernate = format!("/v1/sessions/{}/hibernate", fixture.session);
    json_of(&fixture.post(&hibernate, &json!({})).await?, 200)?;
    refused("hibernated").await?;
    // Existing files can be read and deleted, and nothing can be added.
    let content = fixture.get(&fixture.route("/content?path=big")).await?;
    assert_eq!((content.status, content.body.len()), (200, 20 << 20));
    assert_eq!(fixture.request("PUT", &fixture.route("/content?path=new"), &[], b"x").await?.status, 413);
    assert_eq!(fixture.delete(&fixture.route("?path=big")).await?.status, 204);
    json_of(&fixture.post(&executions, &start).await?, 201)?;
    Ok(())
}
