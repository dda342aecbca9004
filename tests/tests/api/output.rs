//! Response output: whole and in parts, of one stream and of all, kept and live.

use anyhow::{Context, Result};
use headwater_tests::TestServer;
use serde_json::json;

use crate::log::finished;

fn path(id: &str, query: &str) -> String {
    format!("/v1/executions/{id}/output?{query}")
}

#[tokio::test]
async fn each_stream_and_all_of_them_in_their_order_are_what_was_printed() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    // What comes at one moment on two pipes has no order: each part is seen before the next is asked for.
    let shell = "printf a; read x; printf b >&2; read x; printf c";
    let id = api.one_shot(&json!({ "shell": shell, "stdin": "open" })).await?;
    let mut stream = api.follow(&id, "batch_ms=0").await?;
    for part in ["stdout", "stderr"] {
        stream.until(|event| event["type"] == part).await?;
        api.write_input(
            &id, b"
",
        )
        .await?;
    }
    stream.rest().await?;
    for (query, expected) in [
        ("stream=stdout", "ac"),
        ("stream=stderr", "b"),
        ("stream=merged", "abc"),
        ("", "abc"),
        ("stream=output", ""),
    ] {
        let answer = api.get(&path(&id, query)).await?;
        assert_eq!((answer.status, answer.text().as_str()), (200, expected), "{query}");
        assert_eq!(answer.header("content-length"), Some(expected.len().to_string().as_str()));
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(answer.header("content-disposition"), Some("inline"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let head = api.request("HEAD", &path(&id, query), &[], b"").await?;
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in ["content-length", "content-type", "etag", "accept-ranges"] {
            assert_eq!(head.header(name), answer.header(name), "{name}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_range_is_exactly_that_part_and_one_that_holds_nothing_is_refused() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, "seq 100000").await?;
    let whole: String = (1..=100_000).map(|i| format!("{i}\n")).collect();
    let whole = whole.as_bytes();
    let end = whole.len();
    for stream in ["stdout", "merged"] {
        let path = path(&id, &format!("stream={stream}"));
        for (range, from, to) in [
            ("bytes=0-0".to_owned(), 0, 1),
            ("bytes=10-19".to_owned(), 10, 20),
            (format!("bytes={}-", end - 5), end - 5, end),
            ("bytes=-7".to_owned(), end - 7, end),
            ("bytes=65530-131080".to_owned(), 65530, 131_081),
            (format!("bytes=0-{}", 2 * end), 0, end),
        ] {
            let answer = api.request("GET", &path, &[("Range", &range)], b"").await?;
            assert_eq!(answer.status, 206, "{range}: {}", answer.head);
            assert!(answer.body == whole[from..to], "{stream} {range}");
            let info = format!("bytes {from}-{}/{end}", to - 1);
            assert_eq!(answer.header("content-range"), Some(info.as_str()));
        }
        let answer = api.request("GET", &path, &[("Range", &format!("bytes={end}-"))], b"").await?;
        assert_eq!(answer.status, 416);
        assert_eq!(answer.header("content-range"), Some(format!("bytes */{end}").as_str()));
        assert_eq!(answer.json()?["error"]["code"], "range_not_satisfiable");
        let answer = api.request("GET", &path, &[("Range", "bytes=0-1,5-6")], b"").await?;
        assert!(answer.status == 200 && answer.body == whole);
    }
    Ok(())
}

#[tokio::test]
async fn a_tag_stands_for_the_bytes_and_changes_with_them() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = api.one_shot(&json!({ "shell": "echo one; read x; echo two", "stdin": "open" })).await?;
    let mut stream = api.follow(&id, "batch_ms=0").await?;
    stream.until(|event| event["type"] == "stdout").await?;
    let path = path(&id, "stream=stdout");
    let first = api.get(&path).await?;
    let tag = first.header("etag").context("no tag")?.to_owned();
    assert_eq!(first.text(), "one\n");
    assert_eq!(api.request("GET", &path, &[("If-None-Match", &tag)], b"").await?.status, 304);
    api.end_input(
        &id, b"
",
    )
    .await?;
    stream.rest().await?;
    let known = [("If-None-Match", tag.as_str())];
    let second = api.request("GET", &path, &known, b"").await?;
    assert_eq!((second.status, second.text().as_str()), (200, "one\ntwo\n"));
    // A part of what was there before would not fit: the whole comes.
    let headers = [("Range", "bytes=4-"), ("If-Range", tag.as_str())];
    assert_eq!(api.request("GET", &path, &headers, b"").await?.status, 200);
    let tag = second.header("etag").context("no tag")?;
    let headers = [("Range", "bytes=4-"), ("If-Range", tag)];
    let part = api.request("GET", &path, &headers, b"").await?;
    assert_eq!((part.status, part.text().as_str()), (206, "two\n"));
    assert_eq!(api.request("GET", &path, &[("If-None-Match", tag)], b"").await?.status, 304);
    Ok(())
}

#[tokio::test]
async fn bytes_that_are_not_text_are_not_labelled_text() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, r"printf 'ab\000c\377'").await?;
    let answer = api.get(&path(&id, "stream=stdout")).await?;
    assert_eq!(answer.body, b"ab\0c\xff");
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    Ok(())
}

#[tokio::test]
async fn trimmed_output_is_left_out_and_stated_as_a_gap() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let start_body = json!({ "shell": "seq 200000", "limits": { "output_bytes": 100_000 } });
    let id = api.one_shot(&start_body).await?;
    api.follow(&id, "").await?.rest().await?;
    let whole: String = (1..=200_000).map(|i| format!("{i}\n")).collect();
    let whole = whole.as_bytes();
    for stream in ["stdout", "merged"] {
        let path = path(&id, &format!("stream={stream}"));
        let answer = api.get(&path).await?;
        let gap = answer.header("x-headwater-gap").context("no gap")?;
        let (from, to) = gap.split_once('-').context("no range")?;
        let (from, to): (usize, usize) = (from.parse()?, to.parse()?);
        assert!(0 < from && from < to && to < whole.len(), "{gap}");
        assert!(answer.body == [&whole[..from], &whole[to..]].concat(), "{stream}");
        let across = format!("bytes={}-{}", from - 3, from + 3);
        let part = api.request("GET", &path, &[("Range", &across)], b"").await?;
        let error = part.json()?["error"].clone();
        assert_eq!((part.status, error["code"].as_str()), (416, Some("range_crosses_gap")));
        assert!(error["message"].as_str().is_some_and(|text| text.contains(&format!("`{from}` to `{to}`"))));
        assert_eq!(part.header("x-headwater-gap"), Some(&*format!("{from}-{to}")));
        // The ranges that the hint names are valid, and together they are the whole.
        let hint = error["hint"].as_str().context("no hint")?;
        let mut both = Vec::new();
        for range in hint.split('`').filter(|word| word.starts_with("bytes=")) {
            let part = api.request("GET", &path, &[("Range", range)], b"").await?;
            assert_eq!(part.status, 206, "{range}");
            both.extend_from_slice(&part.body);
        }
        assert!(both == answer.body, "{hint}");
        let live = api.get(&format!("{path}&follow=true")).await?;
        assert!(live.body == answer.body, "{stream}, live");
    }
    Ok(())
}

#[tokio::test]
async fn live_output_comes_until_the_end() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let shell = "echo one; read x; echo two >&2; seq 100000";
    let id = api.one_shot(&json!({ "shell": shell, "stdin": "open" })).await?;
    let path = path(&id, "stream=stdout&follow=true");
    let (live, written) = tokio::join!(
        api.get(&path),
        api.end_input(
            &id, b"
"
        )
    );
    written?;
    let live = live?;
    let lines: String = (1..=100_000).map(|i| format!("{i}\n")).collect();
    assert!(live.text() == format!("one\n{lines}"));
    assert_eq!((live.header("accept-ranges"), live.header("content-length")), (Some("none"), None));
    Ok(())
}

#[tokio::test]
async fn invalid_queries_and_unknown_executions_are_refused() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let id = finished(&api, "true").await?;
    for (path, status) in [
        (path(&id, "stream=stdin"), 400),
        (path(&id, "odd=1"), 400),
        (path(&id, "follow=maybe"), 400),
        (path("exe_00000000000000000000000000000000", ""), 404),
    ] {
        let answer = api.get(&path).await?;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
    let empty = api.get(&path(&id, "")).await?;
    assert_eq!((empty.status, empty.header("content-length")), (200, Some("0")));
    assert_eq!(api.request("GET", &path(&id, ""), &[("Range", "bytes=0-")], b"").await?.status, 416);
    Ok(())
}
