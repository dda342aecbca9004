//! `shell`, `shell_command` and `run_code`.

use anyhow::Result;
use headwater_protocol::StartSpec;
use headwater_tests::host::Marker;
use serde_json::json;

use crate::Desk;

#[tokio::test]
async fn the_result_of_a_shell_has_the_text_that_models_know() -> Result<()> {
    let desk = Desk::new().await?;
    let script = "echo out; echo err >&2; exit 3";
    let expected = "Working directory: /workspace\nExit code: 3\nStdout:\nout\n\nStderr:\nerr\n";
    let reply = desk.call("shell", json!({"command": ["bash", "-c", script]})).await?;
    assert_eq!(reply.text(), expected);
    assert_eq!((reply.exit_code(), &reply.json()["output"]), (Some(3), &json!(expected)));
    let reply = desk.call("shell_command", json!({"command": script, "workdir": "/tmp"})).await?;
    assert_eq!(reply.text(), expected.replace("/workspace", "/tmp"));
    let silent = desk.call("shell_command", json!({"command": "true"})).await?;
    assert_eq!(silent.text(), "Working directory: /workspace\nExit code: 0");
    Ok(())
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree_and_keeps_partial_output() -> Result<()> {
    let desk = Desk::new().await?;
    let marker = Marker::new();
    let word = marker.on(StartSpec::shell("")).env["MARKER"].clone();
    // Nothing in the tree obeys SIGTERM, and a child holds the pipes.
    let tree =
        "trap '' TERM; (trap '' TERM; sleep 300) & setsid sleep 300 & echo partial; sleep 300; sleep 300";
    let command = json!(["env", format!("MARKER={word}"), "bash", "-c", tree]);
    let reply = desk.call("shell", json!({"command": command, "timeout_ms": 500})).await?;
    let expected = "Working directory: /workspace\nTimeout: exceeded 500 ms\nStdout:\npartial\n";
    assert!(reply.text().starts_with(expected), "{}", reply.text());
    assert_eq!(reply.json()["timed_out"], true);
    marker.count_becomes(0).await
}

#[tokio::test]
async fn a_stream_that_is_cut_names_the_execution_that_holds_the_rest() -> Result<()> {
    let desk = Desk::new().await?;
    let reply = desk.call("shell_command", json!({"command": "echo err >&2; seq 1 20000"})).await?;
    let id = reply.execution().to_string();
    let text = reply.text();
    assert!(
        text.contains("\nStdout:\n1\n2\n")
            && text.contains("\n20000\n")
            && text.contains(" tokens truncated…")
    );
    let note = text.lines().last().unwrap();
    assert!(note.starts_with("[stdout: ") && note.contains(&id) && note.contains("stream stdout"), "{note}");
    let (number, after) = (reply.number_after("session_id ")?, reply.number_after("after_seq ")?);
    let asked = json!({"session_id": number, "after_seq": after, "stream": "stdout", "max_bytes": 1 << 20});
    let rest = desk.call("read_output", asked).await?;
    assert!(rest.text().contains("\n10000\n") && rest.text().contains("\n20000\n"));
    Ok(())
}

#[tokio::test]
async fn a_background_child_does_not_hold_a_shell() -> Result<()> {
    let desk = Desk::new().await?;
    let asked = json!({"command": "sleep 300 & echo started", "timeout_ms": 100_000});
    let reply = desk.call("shell_command", asked).await?;
    assert_eq!((reply.exit_code(), &reply.json()["stdout"]), (Some(0), &json!("started\n")));
    assert_eq!(desk.client.processes(reply.execution()).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_a_clear_error() -> Result<()> {
    let desk = Desk::new().await?;
    let error = desk.refused("shell", json!({"command": ["no-such-program"]})).await?;
    assert!(error.contains("no-such-program") && error.contains("Check the name"), "{error}");
    Ok(())
}

#[tokio::test]
async fn code_runs_to_its_end_with_its_input() -> Result<()> {
    let desk = Desk::new().await?;
    let code = "import sys\nprint(sys.stdin.read().upper(), end='')\nsys.exit(4)";
    let reply =
        desk.call("run_code", json!({"language": "python", "code": code, "stdin": "hello\n"})).await?;
    assert_eq!((reply.exit_code(), reply.printed()), (Some(4), "HELLO\n"), "{}", reply.text());
    let error = desk.refused("run_code", json!({"language": "klingon", "code": "x"})).await?;
    assert!(error.contains("`klingon` is not a known language") && error.contains("python"), "{error}");
    let endless = json!({"language": "python", "code": "print('up')\nwhile True: pass", "timeout_ms": 2000});
    let ended = desk.call("run_code", endless).await?;
    assert!(ended.printed() == "up\n" && ended.text().contains("timed out after 2 s"), "{}", ended.text());
    Ok(())
}
