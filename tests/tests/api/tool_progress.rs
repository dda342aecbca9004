//! The output of the tools of a conversation, for a panel beside a chat.

use anyhow::{Context, Result};
use headwater_tests::{Api, SseStream, TestServer};
use serde_json::{Value, json};

async fn run(api: &Api, conversation: &str, call: &str, command: &str) -> Result<Value> {
    let body = json!({"command": command, "toolCallId": call, "conversationId": conversation});
    api.post("/v1/tools/run_command", &body).await?.json()
}

/// The progress of a call until it has ended: `(type, content)`.
async fn progress(stream: &mut SseStream, call: &str, end: &str) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    loop {
        let json = stream.json().await.with_context(|| format!("after {all:?}"))?;
        let progress = &json["progress"];
        assert_eq!((&json["type"], &json["toolCallId"]), (&json!("tool-progress"), &progress["toolCallId"]));
        // Milliseconds since 1970, of this century.
        let at = progress["timestamp"].as_u64().with_context(|| format!("not a number: {json}"))?;
        assert!((946_684_800_000..4_102_444_800_000).contains(&at), "{json}");
        if json["toolCallId"] != call {
            continue;
        }
        let text = |key: &str| progress[key].as_str().unwrap_or_default().to_owned();
        all.push((text("type"), text("content")));
        if all.last().is_some_and(|(kind, content)| kind == "status" && content == end) {
            return Ok(all);
        }
    }
}

fn printed(progress: &[(String, String)], kind: &str) -> String {
    progress.iter().filter(|(of, _)| of == kind).map(|(_, content)| content.as_str()).collect()
}

#[tokio::test]
async fn accumulated_progress_is_the_result_in_its_order() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let mut stream = api.stream("/tool-progress/order").await?;
    let result = run(&api, "order", "c", "sleep 0.1 && echo a && sleep 0.1 && echo b && echo e >&2").await?;
    let info = progress(&mut stream, "c", "exited 0").await?;
    assert_eq!(info[0], ("status".to_owned(), "running".to_owned()));
    assert_eq!(printed(&info, "stdout"), result["result"]["stdout"].as_str().unwrap());
    assert_eq!(printed(&info, "stderr"), result["result"]["stderr"].as_str().unwrap());
    assert_eq!(result["result"]["stdout"], "a\nb\n");
    Ok(())
}

#[tokio::test]
async fn a_command_that_prints_nothing_runs_and_then_has_its_exit_code() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    run(&api, "quiet", "c", "exit 5").await?;
    let mut stream = api.stream("/v1/tool-progress/quiet").await?;
    let info = progress(&mut stream, "c", "exited 5").await?;
    let contents: Vec<_> = info.iter().map(|(_, content)| content.as_str()).collect();
    assert_eq!(contents, ["running", "exited 5"]);
    Ok(())
}

#[tokio::test]
async fn concurrent_commands_each_report_under_their_own_id() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let calls = ["one", "two", "three"].map(|call| {
        let api = &api;
        async move {
            run(api, "several", call, &format!("for i in 1 2 3; do echo {call}$i; sleep 0.02; done")).await
        }
    });
    futures_util::future::try_join_all(calls).await?;
    for call in ["one", "two", "three"] {
        let mut stream = api.stream("/tool-progress/several").await?;
        let info = progress(&mut stream, call, "exited 0").await?;
        assert_eq!(printed(&info, "stdout"), format!("{call}1\n{call}2\n{call}3\n"));
    }
    Ok(())
}

#[tokio::test]
async fn binary_output_is_named_and_not_streamed_and_is_in_the_log() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let result = run(&api, "binary", "c", "printf '\\0\\001\\002\\377\\376'; echo text >&2").await?;
    let mut stream = api.stream("/tool-progress/binary").await?;
    let info = progress(&mut stream, "c", "exited 0").await?;
    assert_eq!((printed(&info, "stdout").as_str(), printed(&info, "stderr").as_str()), ("", "text\n"));
    assert!(info.iter().any(|(kind, content)| kind == "status" && content.contains("binary")), "{info:?}");
    let url = result["result"]["output_url"].as_str().context("no address")?;
    assert_eq!(api.get(&format!("{url}?stream=stdout")).await?.body, [0, 1, 2, 255, 254]);
    Ok(())
}

#[tokio::test]
async fn a_late_reader_of_massive_output_gets_its_end_and_the_skipped_bytes() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let result = run(&api, "massive", "c", "head -c 3000000 /dev/zero | tr '\\0' a; echo end").await?;
    assert_eq!(result["result"]["stdout"].as_str().map(str::len), Some(3_000_004), "the result has all");
    let mut stream = api.stream("/tool-progress/massive").await?;
    let info = progress(&mut stream, "c", "exited 0").await?;
    let shown = printed(&info, "stdout");
    let skipped = info.iter().find_map(|(_, content)| content.strip_suffix(" bytes of stdout were skipped"));
    let skipped: usize = skipped.context("nothing was skipped")?.parse()?;
    assert_eq!(skipped + shown.len(), 3_000_004);
    assert!(
        shown.ends_with("aaa\nend\n".trim_start_matches("aaa\n")) && shown.len() < 200_000,
        "{}",
        shown.len()
    );
    Ok(())
}

#[tokio::test]
async fn a_slow_reader_skips_ahead_and_gets_the_skipped_bytes() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    // It is open while the program floods, and not read: more than any socket holds.
    let mut stream = api.stream("/tool-progress/behind").await?;
    let metadata = json!({"conversation_id": "behind", "tool_call_id": "c"});
    let flood = json!({"shell": "head -c 40000000 /dev/zero | tr '\\0' a", "metadata": metadata});
    let id = api.one_shot(&flood).await?;
    api.closed(&id).await?;
    let info = progress(&mut stream, "c", "exited 0").await?;
    let skips = info.iter().filter_map(|(_, content)| content.strip_suffix(" bytes of stdout were skipped"));
    let skipped: usize = skips.map(str::parse::<usize>).sum::<Result<_, _>>()?;
    assert!(skipped > 0, "all 40 MB were sent");
    assert_eq!(skipped + printed(&info, "stdout").len(), 40_000_000);
    Ok(())
}

#[tokio::test]
async fn a_command_whose_time_runs_out_has_its_last_words_before_the_word_on_its_end() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let body = json!({"command": "echo last; sleep 600", "timeout": 10, "toolCallId": "c", "conversationId": "time"});
    let result = api.post("/v1/tools/run_command", &body).await?.json()?;
    assert_eq!(result["result"]["exit_code"], -99);
    let mut stream = api.stream("/tool-progress/time").await?;
    let info = progress(&mut stream, "c", "timed out after 10 s").await?;
    assert_eq!(printed(&info, "stdout"), "last\n");
    assert_eq!(info.last().map(|(kind, _)| kind.as_str()), Some("status"));
    Ok(())
}

#[tokio::test]
async fn progress_goes_on_where_it_was() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    run(&api, "resume", "c", "echo one; echo two >&2; echo three").await?;
    let mut stream = api.stream("/tool-progress/resume").await?;
    let mut all = Vec::new();
    while !all.last().is_some_and(|event: &headwater_tests::SseEvent| event.data.contains("exited")) {
        all.push(stream.next().await?.context("the stream ended")?);
    }
    for cut in 0..all.len() - 1 {
        let id = all[cut].id.clone().context("no id")?;
        let mut stream = api.resume("/tool-progress/resume", &id).await?;
        let mut rest = Vec::new();
        while rest.len() < all.len() - cut - 1 {
            rest.push(stream.next().await?.context("the stream ended")?);
        }
        assert_eq!(rest, all[cut + 1..], "cut after {cut}");
    }
    Ok(())
}
