//! Running an execution again.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

#[tokio::test]
async fn a_rerun_has_the_variables_folder_and_limits_of_the_first_run_and_belongs_to_no_tool_call()
-> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    me.run_in(&session, "mkdir src").await?;
    let shell = "echo $A; pwd; ulimit -n; cat";
    let request = json!({"shell": shell, "cwd": "src", "env": {"A": "secret"}, "limits": {"open_files": 77},
        "stdin": {"text": "input\n"}, "metadata": {"mine": "1", "tool_call_id": "call_1"}});
    let first = me.start(&session, &request).await?;
    let expected = "secret\n/workspace/src\n77\n";
    assert_eq!(me.stdout(&first).await?, format!("{expected}input\n"));

    let path = format!("/v1/executions/{first}/rerun");
    let key = [("idempotency-key", "again")];
    let answer = me.send("POST", &path, &key, &Value::Null).await?;
    let again = json_of(&answer, 201)?;
    let id = text(&again["id"]);
    assert_eq!(answer.header("location"), Some(format!("/v1/executions/{id}").as_str()));
    assert_eq!((&again["session_id"], &again["metadata"]), (&json!(session), &json!({"mine": "1"})));
    assert_eq!(me.stdout(&id).await?, expected, "input is not kept");
    assert_eq!(json_of(&me.send("POST", &path, &key, &Value::Null).await?, 201)?["id"], again["id"]);
    Ok(())
}

#[tokio::test]
async fn a_rerun_after_the_end_of_its_session_has_one_of_its_own() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let first = me.one_shot(&json!({"shell": "echo $A", "env": {"A": "1"}})).await?;
    let ended = me.closed(&first).await?;
    let again = me.post_ok(&format!("/v1/executions/{first}/rerun"), &Value::Null).await?;
    assert_ne!(again["session_id"], ended["session_id"]);
    assert_eq!(me.stdout(&text(&again["id"])).await?, "1\n");
    Ok(())
}

#[tokio::test]
async fn a_command_that_was_removed_with_its_log_is_not_run_again() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let shell = format!("true # {}", "x".repeat(110 << 10));
    let first = me.start(&session, &json!({"shell": shell})).await?;
    me.closed(&first).await?;
    me.post_ok(&format!("/v1/executions/{first}/rerun"), &Value::Null).await?;
    me.post_ok("/v1/prune", &json!({"all": true})).await?;
    let refused = me.post(&format!("/v1/executions/{first}/rerun"), &Value::Null).await?;
    assert_eq!(error_code(&refused, 409)?, "conflict");
    Ok(())
}
