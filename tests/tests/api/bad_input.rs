//! Bad input of every kind is a clear 4xx, and nothing happens.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::http::{error_code, texts};
use serde_json::json;

#[tokio::test]
async fn invalid_bodies_are_refused_and_name_the_field() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let running = me.start(&session, &json!({"shell": "sleep 1000", "tty": {"rows": 1, "cols": 1}})).await?;
    let starts = format!("/v1/sessions/{session}/executions");
    let (signal, resize) =
        (format!("/v1/executions/{running}/signal"), format!("/v1/executions/{running}/resize"));
    let (cancel, patch) = (format!("/v1/executions/{running}/cancel"), format!("/v1/sessions/{session}"));
    let table = [
        ("POST", "/v1/sessions", r#"{"nam":"x"}"#, "nam"),
        ("POST", "/v1/sessions", r#"{"name":1}"#, "name"),
        ("POST", "/v1/sessions", "[]", "sequence"),
        ("POST", "/v1/sessions", "{", "EOF"),
        ("POST", "/v1/sessions", "{}{}", "trailing"),
        ("POST", "/v1/sessions", r#"{"limits":{"pids":1}}"#, "limits.pids"),
        ("POST", "/v1/sessions", r#"{"limits":{"cpus":0}}"#, "limits.cpus"),
        ("POST", "/v1/sessions", r#"{"limits":{"memory":1}}"#, "limits"),
        ("POST", "/v1/sessions", r#"{"limits":[8388608]}"#, "limits"),
        ("POST", "/v1/sessions", r#"{"env":{"A=B":"x"}}"#, "A=B"),
        ("POST", "/v1/sessions", r#"{"secret_env":["KEY"]}"#, "KEY"),
        ("POST", "/v1/sessions", r#"{"env":{"KEY":"abc"},"secret_env":["KEY"]}"#, "4 bytes"),
        ("POST", "/v1/sessions", r#"{"idle_timeout_ms":-1}"#, "idle_timeout_ms"),
        ("POST", "/v1/sessions", r#"{"metadata":{"headwater.owner":"bob"}}"#, "headwater.owner"),
        ("POST", "/v1/sessions", r#"{"metadata":{"a":1}}"#, "metadata"),
        ("PATCH", patch.as_str(), r#"{"metadata":{"headwater.owner":"bob"}}"#, "headwater.owner"),
        ("PATCH", patch.as_str(), r#"{"env":{}}"#, "env"),
        ("PATCH", patch.as_str(), r#"{"limits":{"pids":1}}"#, "limits.pids"),
        ("POST", starts.as_str(), "{}", "nothing to run"),
        ("POST", starts.as_str(), "", "nothing to run"),
        ("POST", starts.as_str(), r#"{"argv":[]}"#, "empty"),
        ("POST", starts.as_str(), r#"{"argv":["a\u0000"]}"#, "zero byte"),
        ("POST", starts.as_str(), r#"{"argv":["a"],"shell":"b"}"#, "more than one"),
        ("POST", starts.as_str(), r#"{"language":"python"}"#, "belong together"),
        ("POST", starts.as_str(), r#"{"shell":"a","timeout_ms":"soon"}"#, "timeout_ms"),
        ("POST", starts.as_str(), r#"{"shell":"a","timeout_ms":1.5}"#, "timeout_ms"),
        ("POST", starts.as_str(), r#"{"shell":"a","stdin":"later"}"#, "stdin"),
        ("POST", starts.as_str(), r#"{"shell":"a","stdin":{"base64":"*"}}"#, "base64"),
        ("POST", starts.as_str(), r#"{"shell":"a","children":"adopt"}"#, "children"),
        ("POST", starts.as_str(), r#"{"shell":"a","tty":{"rows":0,"cols":1}}"#, "terminal"),
        ("POST", starts.as_str(), r#"{"shell":"a","tty":{"rows":70000,"cols":1}}"#, "tty"),
        ("POST", starts.as_str(), r#"{"shell":"a","metadata":{"headwater.x":"y"}}"#, "headwater.x"),
        ("POST", "/v1/executions", r#"{"shell":1}"#, "shell"),
        ("POST", signal.as_str(), "{}", "signal"),
        ("POST", signal.as_str(), r#"{"signal":"SIGNOPE"}"#, "SIGNOPE"),
        ("POST", signal.as_str(), r#"{"signal":65}"#, "65"),
        ("POST", signal.as_str(), r#"{"signal":0}"#, "0"),
        ("POST", resize.as_str(), r#"{"rows":1}"#, "cols"),
        ("POST", resize.as_str(), r#"{"rows":-1,"cols":1}"#, "rows"),
        ("POST", cancel.as_str(), r#"{"grace_ms":-1}"#, "grace_ms"),
        ("POST", cancel.as_str(), r#"{"grace":1}"#, "grace"),
    ];
    for (method, path, body, says) in table {
        let answer =
            me.request(method, path, &[("Content-Type", "application/json")], body.as_bytes()).await?;
        let code =
            error_code(&answer, 400).map_err(|error| error.context(format!("{method} {path} {body}")))?;
        let message = answer.json()?["error"]["message"].to_string();
        assert!(
            code == "invalid_request" && message.contains(says),
            "{method} {path} {body}: {code} {message}"
        );
    }
    assert_eq!(texts(&me.json("/v1/sessions").await?, "id"), [session]);
    assert_eq!(texts(&me.json("/v1/executions").await?, "id"), [running]);
    Ok(())
}

#[tokio::test]
async fn invalid_queries_are_refused_and_name_the_parameter() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let id = me.start(&session, &json!({"shell": "true"})).await?;
    me.closed(&id).await?;
    for query in [
        "/v1/sessions?limit=0",
        "/v1/sessions?limit=1001",
        "/v1/sessions?limit=x",
        "/v1/sessions?limit=-1",
        "/v1/sessions?cursor=x",
        "/v1/sessions?cursor=",
        "/v1/sessions?state=odd",
        "/v1/sessions?odd=1",
        "/v1/sessions?limit=1&limit=2",
        "/v1/executions?limit=0",
        "/v1/executions?cursor=-1",
        "/v1/executions?state=ended",
        "/v1/executions?started_after=yesterday",
        "/v1/executions?started_before=1",
        "/v1/executions?odd=1",
    ] {
        assert_eq!(
            error_code(&me.get(query).await?, 400).map_err(|error| error.context(query))?,
            "invalid_request"
        );
    }
    for (method, path) in [
        ("POST", "/v1/sessions".to_owned()),
        ("POST", "/v1/chat/executions".to_owned()),
        ("GET", "/v1/chat/executions/m".to_owned()),
        ("POST", "/v1/chat".to_owned()),
        ("GET", "/v1/chat/c/stream".to_owned()),
        ("POST", "/v1/chat/c/stop".to_owned()),
        ("GET", format!("/v1/sessions/{session}")),
        ("GET", format!("/v1/sessions/{session}/usage")),
        ("GET", format!("/v1/sessions/{session}/tool-calls")),
        ("GET", format!("/v1/sessions/{session}/rules")),
        ("DELETE", format!("/v1/sessions/{session}/rules/1")),
        ("GET", "/v1/tools".to_owned()),
        ("GET", "/v1/templates".to_owned()),
        ("POST", format!("/v1/executions/{id}/rerun")),
        ("POST", "/v1/tools/exec_command".to_owned()),
        ("PATCH", format!("/v1/sessions/{session}")),
        ("DELETE", format!("/v1/sessions/{session}")),
        ("DELETE", format!("/v1/executions/{id}")),
        ("POST", format!("/v1/executions/{id}/cancel")),
        ("GET", format!("/v1/executions/{id}/processes")),
        ("GET", format!("/v1/sessions/executions/{id}")),
    ] {
        let answer = me.request(method, &format!("{path}?force=true"), &[], b"").await?;
        assert_eq!(error_code(&answer, 400).map_err(|error| error.context(path))?, "invalid_request");
    }
    for query in ["wait=soon", "wait=", "wait=-1s", "until=never", "odd=1"] {
        let answer = me.get(&format!("/v1/executions/{id}?{query}")).await?;
        assert_eq!(error_code(&answer, 400).map_err(|error| error.context(query))?, "invalid_request");
    }
    for query in ["eof=maybe", "offset=-1", "odd=1"] {
        let answer = me.request("POST", &format!("/v1/executions/{id}/stdin?{query}"), &[], b"").await?;
        assert_eq!(error_code(&answer, 400).map_err(|error| error.context(query))?, "invalid_request");
    }
    Ok(())
}

#[tokio::test]
async fn invalid_ids_and_unknown_ids_are_both_not_found() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let zero = "0".repeat(32);
    let (session, execution) = (format!("ses_{zero}"), format!("exe_{zero}"));
    for (session, execution) in
        [(session.as_str(), execution.as_str()), ("x", "y"), (&execution, &session), ("%00", "..%2f..")]
    {
        for (method, path, body) in [
            ("GET", format!("/v1/sessions/{session}"), json!(null)),
            ("GET", format!("/v1/sessions/{session}/usage"), json!(null)),
            ("GET", format!("/v1/sessions/{session}/tool-calls"), json!(null)),
            ("GET", format!("/v1/sessions/{session}/rules"), json!(null)),
            ("DELETE", format!("/v1/sessions/{session}/rules/1"), json!(null)),
            ("POST", format!("/v1/tools/exec_command?session={session}"), json!({"cmd": "true"})),
            ("PATCH", format!("/v1/sessions/{session}"), json!({})),
            ("DELETE", format!("/v1/sessions/{session}"), json!(null)),
            ("POST", format!("/v1/sessions/{session}/executions"), json!({"shell": "true"})),
            ("GET", format!("/v1/executions?session_id={session}"), json!(null)),
            ("GET", format!("/v1/executions/{execution}"), json!(null)),
            ("DELETE", format!("/v1/executions/{execution}"), json!(null)),
            ("POST", format!("/v1/executions/{execution}/signal"), json!({"signal": 2})),
            ("POST", format!("/v1/executions/{execution}/cancel"), json!({})),
            ("POST", format!("/v1/executions/{execution}/rerun"), json!(null)),
            ("POST", format!("/v1/executions/{execution}/resize"), json!({"rows": 1, "cols": 1})),
            ("POST", format!("/v1/executions/{execution}/stdin"), json!({})),
            ("GET", format!("/v1/executions/{execution}/processes"), json!(null)),
            ("GET", format!("/v1/conversations/{session}/export?format=json"), json!(null)),
            ("GET", format!("/v1/chat/{session}/stream"), json!(null)),
            ("POST", format!("/v1/chat/{session}/stop"), json!({})),
        ] {
            let answer = match &body {
                serde_json::Value::Null => me.request(method, &path, &[], b"").await?,
                body => me.send(method, &path, &[], body).await?,
            };
            let code = error_code(&answer, 404).map_err(|error| error.context(format!("{method} {path}")))?;
            assert_eq!(code, "not_found", "{method} {path}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn invalid_keys_and_content_types_are_refused() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let long = "k".repeat(256);
    for key in ["", "a b", "\u{e9}", long.as_str()] {
        let answer =
            me.send("POST", "/v1/executions", &[("Idempotency-Key", key)], &json!({"shell": "true"})).await?;
        assert_eq!(
            error_code(&answer, 400).map_err(|error| error.context(key.to_owned()))?,
            "invalid_request"
        );
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let answer =
            me.request("POST", "/v1/executions", &[("Content-Type", kind)], b"{\"shell\":\"true\"}").await?;
        assert_eq!(error_code(&answer, 415)?, "unsupported_media_type");
    }
    let answer = me.request("POST", "/v1/sessions", &[], b"{}").await?;
    assert_eq!(error_code(&answer, 415)?, "unsupported_media_type");
    assert!(texts(&me.json("/v1/executions").await?, "id").is_empty());
    Ok(())
}
