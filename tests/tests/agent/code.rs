//! `code_execution` and `runCommand`.

use anyhow::Result;
use headwater_protocol::conversation::{ConversationEvent, ToolCallState};
use serde_json::{Value, json};

use crate::harness::{Desk, Script, calls, says, tool_calls};

#[allow(clippy::needless_pass_by_value, reason = "callers write it with `json!`")]
fn code(runtime: &str, code: &str, more: Value) -> (&'static str, Value) {
    let mut arguments = json!({"runtime": runtime, "code": code});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ("code_execution", arguments)
}

#[tokio::test]
async fn code_runs_in_its_runtime_and_the_result_has_both_streams_and_the_exit_code() -> Result<()> {
    let desk = Desk::new().await?;
    let all = [
        code("terminal", "echo out; echo err >&2; exit 3", json!({})),
        code("python", "print(input())", json!({"stdin": "typed", "save_to_file": "kept.py"})),
        code("terminal", "cat kept.py", json!({})),
        ("runCommand", json!({"command": "pwd", "workingDirectory": "/tmp"})),
    ];
    let now = desk.ask("go", &Script::new([calls(&all[..2]), calls(&all[2..]), says("done")])).await?;
    let result = |at: usize| desk.output(at).structured.unwrap();
    let first = result(0);
    assert_eq!(
        (&first["stdout"], &first["stderr"], &first["exit_code"]),
        (&json!("out\n"), &json!("err\n"), &json!(3))
    );
    assert_eq!(tool_calls(&now)[0].state, ToolCallState::Failed);
    assert_eq!((&result(1)["stdout"], &result(1)["error"]), (&json!("typed\n"), &Value::Null));
    assert_eq!((&result(2)["stdout"], &result(3)["stdout"]), (&json!("print(input())"), &json!("/tmp\n")));
    assert!(desk.output(0).text.starts_with("Exit code: 3\nStdout:\nout\n"), "{}", desk.output(0).text);
    Ok(())
}

#[tokio::test]
async fn a_time_limit_and_a_missing_program_have_exit_codes_of_their_own() -> Result<()> {
    let desk = Desk::new().await?;
    let all = [
        code("terminal", "echo begun; sleep 600", json!({"timeout": 0.5})),
        code("python", "x", json!({"cwd": "no/such/folder"})),
        code("ruby", "x", json!({})),
    ];
    desk.ask("go", &Script::new([calls(&all), says("done")])).await?;
    let late = desk.output(0).structured.unwrap();
    let text = "[SYSTEM: Execution timed out after 0.5 seconds.]";
    assert_eq!(
        (&late["exit_code"], &late["stdout"], &late["stderr"]),
        (&json!(-99), &json!("begun\n"), &json!(text))
    );
    let missing = desk.output(1);
    assert_eq!((missing.structured.unwrap()["exit_code"].as_i64(), missing.is_error), (Some(-101), true));
    assert!(desk.output(2).text.contains("terminal, python or nodejs"), "{}", desk.output(2).text);
    Ok(())
}

#[tokio::test]
async fn long_output_is_whole_for_programs_and_cut_for_the_model_with_the_position_of_the_rest() -> Result<()>
{
    let desk = Desk::new().await?;
    let all = [code("terminal", "seq 1 20000", json!({}))];
    desk.ask("go", &Script::new([calls(&all), says("done")])).await?;
    let output = desk.output(0);
    assert!(
        output.text.len() < 14_000 && output.text.contains("read_output with session_id"),
        "{}",
        output.text
    );
    let structured = output.structured.unwrap();
    let stdout = structured["stdout"].as_str().unwrap();
    assert!(stdout.lines().count() == 20_000 && structured["truncated"] == json!(false));
    Ok(())
}

#[tokio::test]
async fn the_execution_of_a_call_is_known_before_it_ends() -> Result<()> {
    let desk = Desk::new().await?;
    let model = Script::new([
        calls(&[code("terminal", "until [ -e go ]; do sleep 0.05; done", json!({}))]),
        says("done"),
    ]);
    let running = desk.begin("go", &model).await?;
    desk.journal
        .until("the execution", |now| tool_calls(now).iter().any(|call| call.execution_ids.len() == 1))
        .await?;
    let workspace = desk.worker.workspace(desk.place.agent().await?.session());
    std::fs::write(workspace.join("go"), "")?;
    running.await?;
    let is_running = |entry: &headwater_protocol::conversation::LogEntry| {
        matches!(entry.event, ConversationEvent::ToolCallRunning { execution_id: Some(_), .. })
    };
    assert_eq!(desk.journal.log().iter().filter(|entry| is_running(entry)).count(), 1);
    Ok(())
}
