//! Running a program of the workspace.

use anyhow::Result;
use headwater_tests::http::{error_of, json_of};
use serde_json::{Value, json};

use crate::calls::{Languages, fixture};

#[tokio::test]
async fn a_program_of_the_workspace_runs_by_any_spelling_of_its_path() -> Result<()> {
    let fixture = fixture("").await?;
    fixture.run("mkdir build && printf '#!/bin/sh\\necho \"ran $0 $*\"\\nexit 5\\n' > build/main && chmod +x build/main").await?;
    for path in ["/workspace/build/main", "/build/main", "build/main"] {
        let body = json!({"session_id": "session-1", "binary_path": path, "args": ["--verbose", "b c"]});
        let started = json_of(&fixture.post("/v1/sessions/execute/binary", &body).await?, 200)?;
        let ran = fixture.end(started["execution_id"].as_str().unwrap_or_default()).await?;
        assert_eq!(
            (ran.stdout.as_str(), ran.code()),
            ("ran ./build/main --verbose b c\n", Some(5)),
            "{path}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_missing_program_or_one_outside_the_workspace_is_not_run() -> Result<()> {
    let fixture = fixture("").await?;
    for path in ["../bin/sh", "", "/", "/workspace/", "a\u{0}b", "build/../../bin/sh"] {
        error_of(
            &fixture
                .post("/v1/sessions/execute/binary", &json!({"session_id": "session-1", "binary_path": path}))
                .await?,
            400,
        )?;
    }
    let body = json!({"session_id": "no-such-session", "binary_path": "a"});
    error_of(&fixture.post("/v1/sessions/execute/binary", &body).await?, 404)?;
    // Paths name the workspace's tree: there is no `/bin/sh` in it.
    let body = json!({"session_id": "session-1", "binary_path": "/bin/sh"});
    let started = json_of(&fixture.post("/v1/sessions/execute/binary", &body).await?, 200)?;
    assert_eq!((&started["status"], &started["pid"]), (&json!("failed"), &Value::Null));
    let id = started["execution_id"].as_str().unwrap_or_default();
    let info = fixture.json(&format!("/v1/sessions/executions/{id}")).await?;
    assert!(info["message"].as_str().is_some_and(|said| said.contains("./bin/sh")), "{info}");
    Ok(())
}

#[tokio::test]
async fn a_program_of_the_workspace_runs_no_longer_than_it_may() -> Result<()> {
    let fixture = fixture("[server]\nbinary_max_runtime = \"10s\"\n").await?;
    fixture.run("printf '#!/bin/sh\\necho begun\\nsleep 1000\\n' > main && chmod +x main").await?;
    let body = json!({"session_id": "session-1", "binary_path": "/main"});
    let started = json_of(&fixture.post("/v1/sessions/execute/binary", &body).await?, 200)?;
    assert!(started["pid"].is_i64() && started["status"] == "running", "{started}");
    let ran = fixture.end(started["execution_id"].as_str().unwrap_or_default()).await?;
    assert_eq!((&ran.exit["reason"], ran.stdout.as_str()), (&json!("timed_out"), "begun\n"));
    Ok(())
}
