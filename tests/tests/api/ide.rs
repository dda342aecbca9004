//! The editor's routes.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

#[tokio::test]
async fn code_is_saved_and_run_and_its_result_is_returned() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let code = "import sys\nprint('Hello, world', sys.argv[1:])\nprint('é', file=sys.stderr)\nsys.exit(int(sys.argv[1]))";
    let asked = json!({"session_id": session, "language": "python", "code": code, "file_path": "/src/main.py", "args": ["0"]});
    let started = json_of(&me.post("/api/sessions/execute/python", &asked).await?, 200)?;
    assert!(matches!(started["status"].as_str(), Some("running" | "completed")), "{started}");
    let id = text(&started["execution_id"]);
    me.closed(&id).await?;
    let info = me.json(&format!("/v1/sessions/executions/{id}")).await?;
    assert!(info["execution_time_ms"].is_u64(), "{info}");
    let fields = ["execution_id", "status", "stdout", "stderr", "exit_code"].map(|field| info[field].clone());
    assert_eq!(
        fields,
        [json!(id), json!("completed"), json!("Hello, world ['0']\n"), json!("é\n"), json!(0)]
    );
    let saved = me.start(&session, &json!({"shell": "cat src/main.py"})).await?;
    assert_eq!(me.stdout(&saved).await?, code);

    let asked = json!({"session_id": session, "code": code, "args": ["7"]});
    let started = json_of(&me.post("/v1/sessions/execute/python", &asked).await?, 200)?;
    let id = text(&started["execution_id"]);
    me.closed(&id).await?;
    let info = me.json(&format!("/v1/sessions/executions/{id}")).await?;
    assert_eq!((&info["status"], &info["exit_code"]), (&json!("failed"), &json!(7)));
    Ok(())
}

#[tokio::test]
async fn a_running_execution_shows_what_it_has_printed() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let asked = json!({"session_id": session, "code": "echo so far; sleep 1000"});
    let started = json_of(&me.post("/v1/sessions/execute/bash", &asked).await?, 200)?;
    assert!(started["pid"].is_i64() && started["status"] == "running", "{started}");
    let path = format!("/v1/sessions/executions/{}", text(&started["execution_id"]));
    headwater_tests::host::eventually("it has printed", async || {
        me.json(&path).await.is_ok_and(|info| info["stdout"] == "so far\n" && info["status"] == "running")
    })
    .await?;
    let info = me.json(&path).await?;
    assert_eq!((&info["exit_code"], &info["execution_time_ms"]), (&Value::Null, &Value::Null));
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_long_output_is_shown_and_begins_with_a_whole_character() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let asked = json!({"session_id": session, "code": "print('x' + 'é' * 1_000_000, end='')"});
    let started = json_of(&me.post("/v1/sessions/execute/python", &asked).await?, 200)?;
    let id = text(&started["execution_id"]);
    me.closed(&id).await?;
    let info = me.json(&format!("/v1/sessions/executions/{id}")).await?;
    let shown = text(&info["stdout"]);
    assert!(shown.len() <= 1 << 20 && shown.len() > (1 << 20) - 8, "{}", shown.len());
    assert!(shown.chars().all(|c| c == 'é'));
    assert_eq!((&info["truncated"], &info["stdout_bytes"]), (&json!(true), &json!(2_000_001)));
    let whole = me.get(&format!("{}?stream=stdout", text(&info["output_url"]))).await?;
    assert_eq!(whole.body.len(), 2_000_001);
    // Complete output says so.
    let asked = json!({"session_id": session, "code": "import sys; print('x', file=sys.stderr)"});
    let started = json_of(&me.post("/v1/sessions/execute/python", &asked).await?, 200)?;
    let id = text(&started["execution_id"]);
    me.closed(&id).await?;
    let info = me.json(&format!("/v1/sessions/executions/{id}")).await?;
    let fields = ["truncated", "stdout_bytes", "stderr_bytes"].map(|field| info[field].clone());
    assert_eq!(fields, [json!(false), json!(0), json!(2)]);
    Ok(())
}

#[tokio::test]
async fn forbidden_and_invalid_requests_of_the_editor_are_refused() -> Result<()> {
    let server = TestServer::small().await?;
    let (me, ann) = (server.api(), server.user("ann", "member")?);
    let session = me.session(&json!({})).await?;
    let good_code = json!({"session_id": session, "code": "true"});
    error_code(&ann.post("/v1/sessions/execute/bash", &good_code).await?, 404)?;
    for (path, body, status) in [
        ("bash", json!({"session_id": "session-1", "code": "true"}), 404),
        ("bash", json!({"session_id": session, "code": "true", "language": "python"}), 400),
        ("klingon", good_code.clone(), 400),
        ("bash", json!({"session_id": session}), 400),
        ("bash", json!({"session_id": session, "code": "true", "odd": 1}), 400),
        ("bash", json!({"session_id": session, "code": "true", "file_path": "../../etc/passwd"}), 400),
    ] {
        let answer = me.post(&format!("/v1/sessions/execute/{path}"), &body).await?;
        error_code(&answer, status).map_err(|error| error.context(format!("{path} {body}")))?;
    }
    error_code(&me.get("/v1/sessions/executions/exec-abc123").await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn a_name_selects_the_live_session_of_the_caller() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let old = ann.session(&json!({"name": "session-1"})).await?;
    let twin = ann.post("/v1/sessions", &json!({"name": "session-1"})).await?;
    assert_eq!(error_code(&twin, 409)?, "name_taken");
    let asked = json!({"session_id": "session-1", "code": "true"});
    let where_it_ran = async || -> Result<String> {
        let started = json_of(&ann.post("/v1/sessions/execute/bash", &asked).await?, 200)?;
        let info = ann.closed(&text(&started["execution_id"])).await?;
        Ok(text(&info["session_id"]))
    };
    assert_eq!(where_it_ran().await?, old);
    json_of(&ann.delete(&format!("/v1/sessions/{old}")).await?, 204)?;
    let new = ann.session(&json!({"name": "session-1"})).await?;
    assert_eq!(where_it_ran().await?, new);
    let refused = bob.post("/v1/sessions/execute/bash", &asked).await?;
    error_code(&refused, 404)?;
    assert!(refused.text().contains("POST /v1/sessions"), "{}", refused.text());
    Ok(())
}
