//! The detail of an end: in the answer, in the stream, and again after restarts, from the store and from the log.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use serde_json::{Value, json};

use crate::rebuilt::remove_store;

/// Scripts that cannot be run: one names an interpreter that does not exist, one may not be executed.
const PREPARE: &str = "printf '#!/no/such/interpreter\\n' > orphan && chmod +x orphan && echo x > plain";

/// A request, and the reason and the detail of its end.
fn cases() -> Vec<(Value, &'static str, Value)> {
    let memory = json!({"kind": "limit", "which": "memory_bytes", "limit": 64 << 20});
    let output = json!({"kind": "limit", "which": "output_bytes", "limit": 65536});
    vec![
        (json!({"shell": "exit 3"}), "exited", json!(null)),
        (json!({"shell": "kill -SEGV $$"}), "signalled", json!(null)),
        (
            json!({"argv": ["no-such-command"]}),
            "setup_failed",
            json!({"kind": "command_not_found", "name": "no-such-command"}),
        ),
        (
            json!({"argv": ["/workspace/orphan"]}),
            "setup_failed",
            json!({"kind": "interpreter_not_found", "name": "/workspace/orphan"}),
        ),
        (json!({"argv": ["./plain"]}), "setup_failed", json!({"kind": "not_executable", "name": "./plain"})),
        (
            json!({"shell": "true", "cwd": "/no/such/folder"}),
            "setup_failed",
            json!({"kind": "bad_working_directory", "path": "/no/such/folder"}),
        ),
        (
            json!({"shell": "sleep 600", "timeout_ms": 300}),
            "timed_out",
            json!({"kind": "timed_out", "after_ms": 300}),
        ),
        (
            json!({"shell": "while :; do :; done", "limits": {"cpu_ms": 1000}}),
            "timed_out",
            json!({"kind": "limit", "which": "cpu_ms", "limit": 1000}),
        ),
        (
            json!({"language": "python", "code": "bytearray(300_000_000)", "limits": {"memory_bytes": 64 << 20}}),
            "oom",
            memory,
        ),
        (
            json!({"argv": ["yes"], "limits": {"output_bytes": 65536}, "on_output_limit": "stop"}),
            "output_limit",
            output,
        ),
        (
            json!({"argv": ["dd", "if=/dev/zero", "of=large", "bs=2M", "count=1"], "limits": {"file_bytes": 1 << 20}}),
            "signalled",
            json!({"kind": "limit", "which": "file_bytes", "limit": 1 << 20}),
        ),
    ]
}

/// The end of an execution in the API and in its stream: the detail is the same in both.
async fn end(server: &TestServer, id: &str) -> Result<(Value, Value)> {
    let api = server.api();
    let exit = api.closed(id).await?["exit"].clone();
    let events = api.follow(id, "").await?.rest().await?;
    let exited = events.iter().find(|event| event["type"] == "exited").context("no end")?;
    ensure!(exited["detail"] == exit["detail"], "{exited} is not {exit}");
    ensure!(exit["detail"].is_null() == exit.get("detail").is_none(), "an absent detail is left out: {exit}");
    Ok((exit["reason"].clone(), exit["detail"].clone()))
}

#[tokio::test]
async fn every_end_has_its_detail_in_the_answer_and_the_stream_even_after_restarts() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let prepared = me.start(&session, &json!({"shell": PREPARE})).await?;
    ensure!(me.closed(&prepared).await?["exit"]["code"] == 0, "the scripts do not exist");
    let mut ends = Vec::new();
    for (request, reason, detail) in cases() {
        let id = me.start(&session, &request).await?;
        let expected = (json!(reason), detail);
        assert_eq!(end(&server, &id).await?, expected, "{request}");
        ends.push((id, expected));
    }
    // The next server has it from the store, the next worker from the log.
    server.kill_worker().await?;
    server.kill();
    server.start_again().await?;
    for (id, expected) in &ends {
        assert_eq!(&end(&server, id).await?, expected, "after a restart");
    }
    // A new store has it from the worker, and so from the log.
    server.kill();
    remove_store(&server)?;
    server.start_again().await?;
    eventually("all of it is found", async || {
        let page = server.api().json("/v1/executions?limit=100").await;
        page.is_ok_and(|page| page["items"].as_array().map(Vec::len) == Some(ends.len() + 1))
    })
    .await?;
    for (id, expected) in &ends {
        assert_eq!(&end(&server, id).await?, expected, "after the loss of the store");
    }
    Ok(())
}

#[tokio::test]
async fn an_execution_that_ends_with_its_session_says_so() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let cancelled = me.start(&session, &json!({"shell": "sleep 600"})).await?;
    me.post(&format!("/v1/executions/{cancelled}/cancel"), &json!({})).await?;
    assert_eq!(end(&server, &cancelled).await?, (json!("cancelled"), json!(null)), "the control");
    let running = me.start(&session, &json!({"shell": "echo on; sleep 600"})).await?;
    me.until_printed(&running, "on").await?;
    me.post(&format!("/v1/sessions/{session}/hibernate"), &json!({})).await?;
    let hibernated = json!({"kind": "session_hibernated"});
    assert_eq!(end(&server, &running).await?, (json!("cancelled"), hibernated));
    let running = me.start(&session, &json!({"shell": "echo on; sleep 600"})).await?;
    me.until_printed(&running, "on").await?;
    me.delete(&format!("/v1/sessions/{session}?keep_logs=true")).await?;
    let ended = me.json(&format!("/v1/executions/{running}?wait=60s")).await?;
    assert_eq!(ended["exit"]["detail"], json!({"kind": "session_ended"}), "{ended}");
    Ok(())
}
