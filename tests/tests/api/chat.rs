//! Results that a chat's client ran itself, saved with a message.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::http::error_code;
use serde_json::{Value, json};

fn result(execution: &str) -> Value {
    json!({
        "artifact_uuid": "art-1", "execution_id": execution, "timestamp": "2026-01-02T03:04:05.000Z",
        "language": "javascript", "execution_time_ms": 12.5, "status": "success",
        "output": [
            {"type": "log", "content": "Hello", "timestamp": "2026-01-02T03:04:05.001Z", "id": "1"},
            {"type": "return", "content": "42", "timestamp": 1_767_323_045_002_u64, "id": "2"},
        ],
    })
}

fn of_message(message: &str, mut result: Value) -> Value {
    result["message_uuid"] = message.into();
    result
}

#[tokio::test]
async fn the_results_of_a_message_are_saved_and_returned_to_their_owner_only() -> Result<()> {
    let server = TestServer::start().await?;
    let (ann, bob) = (server.make_token(&["--user", "ann"])?, server.make_token(&["--user", "bob"])?);
    let (ann, bob) = (server.api_with(&ann), server.api_with(&bob));
    let empty = json!({ "message_uuid": "msg-1", "execution_results": [] });
    assert_eq!(ann.json("/api/chat/executions/msg-1").await?, empty);
    for execution in ["run-1", "run-2", "run-1"] {
        let saved = ann.post_ok("/api/chat/executions", &of_message("msg-1", result(execution))).await?;
        assert_eq!(saved, result(execution));
    }
    ann.post_ok("/api/chat/executions", &of_message("msg-2", result("run-3"))).await?;
    let history = ann.json("/api/chat/executions/msg-1").await?;
    assert_eq!(history["execution_results"], json!([result("run-1"), result("run-2")]));
    assert_eq!(bob.json("/api/chat/executions/msg-1").await?, empty);
    Ok(())
}

#[tokio::test]
async fn an_invalid_result_is_refused_by_the_name_of_its_field() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let changed = |field: &str, value: Value| {
        let mut body = of_message("m", result("r"));
        body[field] = value;
        body
    };
    let line = json!({"type": "log", "content": "", "timestamp": 1, "id": "same"});
    for (field, value) in [
        ("status", json!("odd")),
        ("timestamp", json!("yesterday")),
        ("execution_time_ms", json!(-1)),
        ("message_uuid", json!("")),
        ("output", json!([line, line])),
        ("output", json!([{"type": "odd", "content": "", "timestamp": 1, "id": "1"}])),
        ("more", json!(1)),
    ] {
        let answer = api.post("/v1/chat/executions", &changed(field, value)).await?;
        assert_eq!(error_code(&answer, 400)?, "invalid_request", "{field}");
        assert!(answer.text().contains(field), "{field}: {}", answer.text());
    }
    let long = json!([{"type": "log", "content": "x".repeat(300_000), "timestamp": 1, "id": "1"}]);
    let answer = api.post("/v1/chat/executions", &changed("output", long)).await?;
    assert_eq!(error_code(&answer, 413)?, "body_too_large");
    Ok(())
}
