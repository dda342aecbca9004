//! Languages of the configuration: added, changed and limited without a rebuild.

use anyhow::Result;
use headwater_tests::http::{error_of, json_of};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;

use crate::calls::{Languages, fixture};

#[tokio::test]
async fn a_few_lines_add_a_language_that_is_compiled() -> Result<()> {
    // It is compiled by copying, and run by the shell.
    let config = "[languages.copied]\ninterpreters = [\"cp\"]\naliases = [\"cop\"]\nsuffixes = [\"cp\", \"copy\"]\n\
                  build = [\"--\", \"{file}\", \"{out}\"]\nrun_built = [\"sh\", \"{out}\"]\npackage = \"coreutils\"\nicon = \"sheep\"\n\
                  [languages.rare]\ninterpreters = [\"no-such-program\"]\nargs = [\"{code}\"]\npackage = \"rare-tools\"\n";
    let fixture = fixture(config).await?;
    let copied = fixture.language("copied").await?;
    let fields = ["available", "aliases", "suffixes", "icon", "can_build", "package"]
        .map(|field| copied[field].clone());
    let expected =
        [json!(true), json!(["cop"]), json!(["cp", "copy"]), json!("sheep"), json!(true), json!("coreutils")];
    assert_eq!(fields, expected);
    let body =
        json!({"session_id": "session-1", "language": "copied", "code": "echo $1; exit 3", "args": ["a"]});
    let started = json_of(&fixture.post("/api/sessions/execute/cop", &body).await?, 200)?;
    let ran = fixture.end(started["execution_id"].as_str().unwrap_or_default()).await?;
    assert_eq!((ran.stdout.as_str(), ran.code()), ("a\n", Some(3)));
    assert_eq!(fixture.language("rare").await?["available"], json!(false));
    let error = error_of(
        &fixture.post(&fixture.path("executions"), &json!({"language": "rare", "code": "x"})).await?,
        400,
    )?;
    assert_eq!(error["hint"], "apt-get install rare-tools");
    Ok(())
}

#[tokio::test]
async fn a_language_can_be_limited_in_time_and_keeps_all_else() -> Result<()> {
    let fixture = fixture("[languages.bash]\nmax_runtime = \"10s\"\n").await?;
    let info = fixture.language("bash").await?;
    assert_eq!((&info["max_runtime_ms"], &info["available"]), (&json!(10_000), &json!(true)));
    let body = json!({"session_id": "session-1", "code": "echo begun; sleep 1000"});
    let started = json_of(&fixture.post("/v1/sessions/execute/bash", &body).await?, 200)?;
    let id = started["execution_id"].as_str().unwrap_or_default();
    let ran = fixture.end(id).await?;
    assert_eq!((&ran.exit["reason"], ran.stdout.as_str()), (&json!("timed_out"), "begun\n"));
    let status = fixture.json(&format!("/v1/sessions/executions/{id}")).await?;
    assert_eq!(status["status"], "failed");
    // Asking for more does not give more.
    let body = json!({"language": "bash", "code": "sleep 1000", "timeout_ms": 900_000});
    assert_eq!(fixture.run_code(&body).await?.exit["reason"], "timed_out");
    // Other languages are as they were.
    assert_eq!(fixture.language("python").await?["max_runtime_ms"], json!(null));
    Ok(())
}

#[tokio::test]
async fn an_error_in_a_language_definition_is_reported_at_start() -> Result<()> {
    let config = Some("[languages.mine]\nargs = [\"{code}\"]\n".to_owned());
    let failed = TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await;
    let said = format!("{:#}", failed.err().unwrap_or_else(|| anyhow::anyhow!("it started")));
    assert!(said.contains("languages.mine.interpreters"), "{said}");
    Ok(())
}
