//! Arguments that a tool does not accept, and requests that are not calls.

use anyhow::{Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::{error_code, error_of, text, texts};
use serde_json::json;

use crate::calls::{call, called, content};

#[tokio::test]
async fn invalid_arguments_are_a_result_that_a_model_can_correct() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    for (tool, arguments, says) in [
        ("exec_command", json!({}), "cmd"),
        ("exec_command", json!({"cmd": 7}), "cmd"),
        ("exec_command", json!({"cmd": "ls", "odd": 1}), "odd"),
        ("wait", json!({"session_ids": []}), "session_ids"),
        ("wait", json!({"session_ids": (0..65).collect::<Vec<_>>()}), "64"),
        ("write_stdin", json!({"session_id": "none"}), "session_id"),
        ("read_file", json!({"file_path": ""}), "file_path"),
        ("apply_patch", json!({"input": "no patch"}), "patch"),
    ] {
        let result = call(&api, tool, "", &arguments).await?;
        ensure!(
            result["is_error"] == true && content(&result).contains(says),
            "{tool} {arguments}: {result}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_request_that_is_not_a_call_is_refused_with_its_reason_and_nothing_happens() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let json = [("Content-Type", "application/json")];
    for (path, body, status, says) in [
        ("/v1/tools/exec_command", "{", 400, "EOF"),
        ("/v1/tools/exec_command", "[]", 400, "sequence"),
        ("/v1/tools/exec_command", "7", 400, "7"),
        ("/v1/tools/exec_command", r#"{"cmd":"a","cmd":"b"}"#, 400, "duplicate field `cmd`"),
        ("/v1/tools/exec_command?odd=1", "{}", 400, "odd"),
        ("/v1/tools/exec_command?agent=", "{}", 400, "agent"),
        ("/v1/tools/exec_command?agent=a%0ab", "{}", 400, "agent"),
        ("/v1/tools/exec_command?tool_call_id=", "{}", 400, "tool_call_id"),
        ("/v1/tools/exec_command?session=none-such", "{}", 404, "none-such"),
        ("/v1/tools/no_such_tool", "{}", 404, "no_such_tool"),
        ("/v1/tools/exec_command/x", "{}", 404, "exec_command/x"),
    ] {
        let answer = api.request("POST", path, &json, body.as_bytes()).await?;
        let error = error_of(&answer, status)?;
        ensure!(text(&error["message"]).contains(says), "{path} {body}: {error}");
    }
    let unknown = error_of(&api.post("/v1/tools/no_such_tool", &json!({})).await?, 404)?;
    ensure!(text(&unknown["hint"]).contains("exec_command"), "{unknown}");
    let form =
        api.request("POST", "/v1/tools/exec_command", &[("Content-Type", "text/plain")], b"{}").await?;
    ensure!(error_code(&form, 415)? == "unsupported_media_type");
    let get = api.get("/v1/tools/exec_command").await?;
    ensure!(error_code(&get, 405)? == "method_not_allowed");
    ensure!(texts(&api.json("/v1/sessions").await?, "id").is_empty(), "no session was created");
    Ok(())
}

#[tokio::test]
async fn huge_arguments_are_refused_before_they_are_parsed_and_deep_ones_too() -> Result<()> {
    let server = TestServer::configured("[server]\nmax_body = \"1MiB\"\n").await?;
    let api = server.api();
    let json = [("Content-Type", "application/json")];
    // Not JSON at all: the size is what counts.
    let huge = vec![b'['; 2 << 20];
    let answer = api.request("POST", "/v1/tools/write_file", &json, &huge).await?;
    ensure!(error_code(&answer, 413)? == "body_too_large");
    let deep = format!("{{\"cmd\":{}", "[".repeat(100_000));
    let answer = api.request("POST", "/v1/tools/exec_command", &json, deep.as_bytes()).await?;
    ensure!(error_code(&answer, 400)? == "invalid_request");
    let many = format!("{{\"command\":[{}\"\"]}}", "\"\",".repeat(150_000));
    let answer = api.request("POST", "/v1/tools/shell", &json, many.as_bytes()).await?;
    ensure!(error_code(&answer, 400)? == "invalid_request");
    let content_of = "x".repeat(500_000);
    called(&api, "write_file", "agent=a", &json!({"file_path": "big", "content": content_of})).await?;
    let read = called(&api, "exec_command", "agent=a", &json!({"cmd": "wc -c < big"})).await?;
    ensure!(content(&read).contains("500000"), "{read}");
    Ok(())
}
