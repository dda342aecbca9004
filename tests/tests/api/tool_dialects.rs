//! The forms of a tool's events, and the options of commands.

use anyhow::{Context, Result};
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::tool_calls::{CODE, call, text_of};

const RUN: &str = "/v1/tools/runCommand";

/// Runs a command; its result.
async fn run(api: &Api, body: &Value) -> Result<Value> {
    json_of(&api.post(RUN, body).await?, 200)
}

#[tokio::test]
async fn the_fields_of_a_tools_events_are_in_the_payload_or_beside_the_type() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let body = json!({"runtime": "terminal", "code": "echo a; echo b >&2; exit 3", "tool_call_id": "c",
        "thread_id": "forms"});
    let events = api.post_stream(CODE, &body).await?.rest().await?;
    for event in &events {
        let payload = &event["payload"];
        assert_eq!((&event["thread_id"], &event["timestamp"]), (&json!("forms"), &payload["timestamp"]));
        assert!(event["timestamp"].is_string() && event.get("tool_call_id").is_none(), "{event}");
    }
    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert_eq!((&first["type"], &first["payload"]["id"]), (&json!("TOOL_CALL_START"), &json!("c")));
    assert_eq!((&last["type"], &last["payload"]["success"]), (&json!("TOOL_RESULT"), &json!(false)));
    assert_eq!(last["payload"]["result"]["exit_code"], 3);
    assert_eq!((text_of(&events, "stdout").as_str(), text_of(&events, "stderr").as_str()), ("a\n", "b\n"));

    // The same events again, from the conversation, in both forms.
    let follow = async |dialect: &str| {
        let path = format!("/v1/conversations/forms/events?dialect={dialect}");
        api.stream(&path).await?.until(|event| event["type"] == "TOOL_RESULT").await
    };
    let wrapped = follow("tool_calls").await?;
    assert_eq!(wrapped.last(), events.last());
    let payloads: Vec<_> = wrapped.iter().map(|event| event["payload"].clone()).collect();
    assert_eq!(follow("tool_calls_flat").await?, payloads);
    let flat = api.post_stream(&format!("{CODE}?dialect=tool_calls_flat"), &body).await?.rest().await?;
    assert_eq!((&flat[0]["id"], &flat[flat.len() - 1]["result"]["exit_code"]), (&json!("c"), &json!(3)));
    // A response that is not a stream is the payload alone.
    assert_eq!(call(&api, &body).await?["result"]["exit_code"], 3);
    Ok(())
}

#[tokio::test]
async fn run_command_has_its_name_in_camel_case_and_runs_in_a_session() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({"name": "shop"})).await?;
    for (field, value) in [("sessionId", session.as_str()), ("session_id", "shop")] {
        let body = json!({"command": "echo x >> kept; wc -l < kept", field: value, "toolCallId": "c"});
        let result = run(&api, &body).await?;
        assert_eq!((&result["tool_name"], &result["success"]), (&json!("runCommand"), &json!(true)));
        let execution = api.execution(&text(&result["execution_id"])).await?;
        assert_eq!(execution["session_id"], session);
    }
    assert_eq!(api.run_in(&session, "cat kept").await?, "x\nx\n");
    let write = json!({"command": "touch here", "interactiveId": "i"});
    run(&api, &write).await?;
    let list = json!({"command": "ls", "interactiveId": "i"});
    let events = api.post_stream(RUN, &list).await?.rest().await?;
    assert_eq!(text_of(&events, "stdout"), "here\n");
    let start = &events[0]["payload"];
    assert_eq!((&start["tool_name"], &start["tool_args"]), (&json!("runCommand"), &json!({"command": "ls"})));
    let bob = server.user("bob", "member")?;
    let answer = bob.post(RUN, &json!({"command": "ls", "sessionId": session})).await?;
    assert_eq!(answer.status, 404, "{}", answer.text());
    Ok(())
}

#[tokio::test]
async fn a_command_shows_no_more_than_its_max_buffer_and_runs_to_its_end() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let command = "head -c 200000 /dev/zero | tr '\\0' a; echo few >&2; exit 6";
    let body =
        json!({"command": command, "maxBuffer": 100_000, "toolCallId": "c", "conversationId": "limit"});
    let note =
        "\n[SYSTEM: 100000 bytes are the `maxBuffer` of this call; `output_url` returns the whole output.]\n";
    let expected = "a".repeat(100_000) + note;
    let events = api.post_stream(RUN, &body).await?.rest().await?;
    let result = &events[events.len() - 1]["payload"]["result"];
    assert!(result["stdout"] == expected.as_str(), "{} bytes", text(&result["stdout"]).len());
    assert!(text_of(&events, "stdout") == expected, "the events and the result differ");
    let of_end = (&result["truncated"], &result["exit_code"], &result["stderr"]);
    assert_eq!(of_end, (&json!(true), &json!(6), &json!("few\n")));
    let url = text(&result["output_url"]);
    assert_eq!(api.get(&format!("{url}?stream=stdout")).await?.body.len(), 200_000, "the log has everything");
    // A late reader of the progress gets the same beginning.
    let is_end = |event: &Value| event["progress"]["content"] == "exited 6";
    let progress = api.stream("/tool-progress/limit").await?.until(is_end).await?;
    let stdout =
        progress.iter().map(|event| &event["progress"]).filter(|progress| progress["type"] == "stdout");
    let stdout: String = stdout.map(|progress| text(&progress["content"])).collect();
    assert!(stdout == expected, "{} bytes", stdout.len());
    // Output that fits exactly is whole.
    let exact = run(&api, &json!({"command": "printf 12345; printf 1234 >&2", "maxBuffer": 5})).await?;
    let result = &exact["result"];
    assert_eq!((&result["stdout"], &result["truncated"]), (&json!("12345"), &json!(false)));
    Ok(())
}

#[tokio::test]
async fn a_change_of_packages_is_a_call_of_its_conversation() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}/python/packages");
    let body = json!({"uninstall": ["no-such-package"], "conversation_id": "deps", "tool_call_id": "p"});
    let started = json_of(&api.post(&path, &body).await?, 201)?;
    let mut feed = api.stream("/v1/conversations/deps/events?dialect=tool_calls").await?;
    let events = feed.until(|event| event["type"] == "TOOL_RESULT").await?;
    let start = &events[0]["payload"];
    assert_eq!((&start["id"], &start["tool_name"]), (&json!("p"), &json!("change_packages")));
    let args =
        json!({"ecosystem": "python", "install": [], "uninstall": ["no-such-package"], "listed_in": null});
    assert_eq!((&start["tool_args"], &start["execution_id"]), (&args, &started["id"]));
    let last = events.last().context("no events")?;
    assert_eq!(last["payload"]["success"], true, "{last}");
    for (field, value) in [("conversation_id", ""), ("tool_call_id", "a\nb")] {
        let answer = api.post(&path, &json!({"uninstall": ["x"], field: value})).await?;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains(field), "{}", answer.text());
    }
    Ok(())
}
