//! Running a program of the workspace.

use anyhow::Result;
use serde_json::{Value, json};

use crate::scene::Scene;

#[tokio::test]
async fn a_program_of_the_workspace_runs_by_any_spelling_of_its_path() -> Result<()> {
    let scene = Scene::new().await?;
    scene.shell("mkdir build && printf '#!/bin/sh\\necho \"ran $0 $*\"\\nexit 5\\n' > build/main && chmod +x build/main").await?;
    for path in ["/workspace/build/main", "/build/main", "build/main"] {
        let body = json!({"session_id": "session-1", "binary_path": path, "args": ["--verbose", "b c"]});
        let started = scene.good("POST", "/v1/sessions/execute/binary", &body, 200).await?;
        let ran = scene.end(started["execution_id"].as_str().unwrap_or_default()).await?;
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
    let scene = Scene::new().await?;
    for path in ["../bin/sh", "", "/", "/workspace/", "a\u{0}b", "build/../../bin/sh"] {
        scene
            .bad("/v1/sessions/execute/binary", &json!({"session_id": "session-1", "binary_path": path}), 400)
            .await?;
    }
    let body = json!({"session_id": "no-such-session", "binary_path": "a"});
    scene.bad("/v1/sessions/execute/binary", &body, 404).await?;
    // Paths name the workspace's tree: there is no `/bin/sh` in it.
    let body = json!({"session_id": "session-1", "binary_path": "/bin/sh"});
    let started = scene.good("POST", "/v1/sessions/execute/binary", &body, 200).await?;
    assert_eq!((&started["status"], &started["pid"]), (&json!("failed"), &Value::Null));
    let id = started["execution_id"].as_str().unwrap_or_default();
    let told = scene.get(&format!("/v1/sessions/executions/{id}")).await?;
    assert!(told["message"].as_str().is_some_and(|said| said.contains("./bin/sh")), "{told}");
    Ok(())
}

#[tokio::test]
async fn a_program_of_the_workspace_runs_no_longer_than_it_may() -> Result<()> {
    let scene = Scene::with("[server]\nbinary_max_runtime = \"1s\"\n").await?;
    scene.shell("printf '#!/bin/sh\\necho begun\\nsleep 1000\\n' > main && chmod +x main").await?;
    let body = json!({"session_id": "session-1", "binary_path": "/main"});
    let started = scene.good("POST", "/v1/sessions/execute/binary", &body, 200).await?;
    assert!(started["pid"].is_i64() && started["status"] == "running", "{started}");
    let ran = scene.end(started["execution_id"].as_str().unwrap_or_default()).await?;
    assert_eq!((&ran.exit["reason"], ran.stdout.as_str()), (&json!("timed_out"), "begun\n"));
    Ok(())
}
