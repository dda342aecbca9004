//! The history of a session's tool calls, and the audit log.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::http::{json_of, text, texts};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::calls::{call, called};

/// The history of a session as soon as it has this many calls.
async fn history(api: &Api, session: &str, count: usize) -> Result<Value> {
    let path = format!("/v1/sessions/{session}/tool-calls");
    let has = async || api.json(&path).await.is_ok_and(|list| texts(&list, "tool").len() == count);
    eventually(&format!("the history has {count} calls"), has).await?;
    api.json(&path).await
}

#[tokio::test]
async fn a_sessions_history_has_each_call_with_its_caller_arguments_and_result() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let session = ann.session(&json!({})).await?;
    let q = format!("session={session}&agent=coder&conversation_id=talk&tool_call_id=call_1");
    let ran = called(&ann, "exec_command", &q, &json!({"cmd": "echo Hello"})).await?;
    json_of(
        &ann.put(&format!("/v1/sessions/{session}/members/bob"), &json!({"role": "viewer"})).await?,
        200,
    )?;
    called(&bob, "list_executions", &format!("session={session}"), &json!({})).await?;
    let long = "long text ".repeat(10_000);
    called(&ann, "write_file", &format!("session={session}"), &json!({"file_path": "a", "content": long}))
        .await?;
    call(&ann, "exec_command", &format!("session={session}"), &json!({"odd": 1})).await?;
    let list = history(&ann, &session, 4).await?;
    ensure!(
        texts(&list, "tool") == ["exec_command", "write_file", "list_executions", "exec_command"],
        "{list}"
    );
    let items = list["items"].as_array().context("no list")?;
    let (failed, written, looked, first) = (&items[0], &items[1], &items[2], &items[3]);
    ensure!(failed["is_error"] == true && failed["arguments"] == json!({"odd": 1}), "{failed}");
    ensure!(text(&failed["result"]).contains("odd") && failed["agent"] == "default", "{failed}");
    let kept = text(&written["arguments"]["content"]);
    ensure!(
        written["arguments"]["file_path"] == "a" && kept.len() < 9_000 && kept.contains("more bytes"),
        "{written}"
    );
    ensure!(looked["caller"] == "bob" && first["caller"] == "ann", "{list}");
    ensure!(first["arguments"] == json!({"cmd": "echo Hello"}) && first["is_error"] == false, "{first}");
    ensure!(
        text(&first["result"]).contains("Hello") && first["execution_ids"] == ran["execution_ids"],
        "{first}"
    );
    let ids = ["agent", "conversation_id", "tool_call_id"].map(|field| text(&first[field]));
    ensure!(ids == ["coder", "talk", "call_1"], "{first}");
    ensure!(first["duration_ms"].is_u64() && text(&first["called_at"]).ends_with('Z'), "{first}");
    // A viewer sees it, in pages.
    let path = format!("/v1/sessions/{session}/tool-calls?limit=3");
    let page = bob.json(&path).await?;
    ensure!(texts(&page, "tool").len() == 3);
    let rest = bob.json(&format!("{path}&cursor={}", text(&page["next_cursor"]))).await?;
    ensure!(texts(&rest, "tool") == ["exec_command"] && rest["next_cursor"] == Value::Null, "{rest}");
    Ok(())
}

#[tokio::test]
async fn the_audit_log_has_the_names_and_ids_of_a_call_and_not_its_contents() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let session = ann.session(&json!({})).await?;
    let q = format!("session={session}&agent=a%20outcome=ok&tool_call_id=call_1");
    let ran = called(&ann, "exec_command", &q, &json!({"cmd": "echo private-content"})).await?;
    let path = format!("/v1/audit?action=tool.call&object={session}");
    let has = async || ann.json(&path).await.is_ok_and(|list| texts(&list, "action").len() == 1);
    eventually("the call is in the audit log", has).await?;
    let row = ann.json(&path).await?["items"][0].clone();
    let execution = text(&ran["execution_ids"][0]);
    let expected =
        format!("tool=exec_command outcome=ok agent=\"a outcome=ok\" call=\"call_1\" executions={execution}");
    ensure!(row["detail"] == expected.as_str() && row["owner"] == "ann", "{row}");
    ensure!(!ann.get("/v1/audit").await?.text().contains("private-content"));
    Ok(())
}

#[tokio::test]
async fn the_oldest_calls_of_an_owner_past_its_number_are_removed() -> Result<()> {
    let server = TestServer::configured("[retention.rows]\nof_owner = 10\n").await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let q = format!("session={session}");
    // The rows are written after the calls and trimmed with every 64th.
    for _ in 0..70 {
        call(&api, "exec_command", &q, &json!({})).await?;
    }
    let path = format!("/v1/sessions/{session}/tool-calls");
    let few = async || api.json(&path).await.is_ok_and(|list| (1..=20).contains(&texts(&list, "tool").len()));
    eventually("old calls are removed", few).await
}
