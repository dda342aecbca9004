//! What one user has much of costs the others nothing.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::http::{error_code, texts};
use serde_json::json;

/// This many sessions with this environment are more than fits into one answer of the worker (16 MiB).
const SESSIONS: usize = 36;
const ENV_BYTES: usize = 500 << 10;

#[tokio::test]
async fn fields_in_lists_are_bounded() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let long = "x".repeat(1 << 20);
    for body in [json!({"name": long}), json!({"metadata": {"a": long}}), json!({"env": {"A": long}})] {
        assert_eq!(error_code(&me.post("/v1/sessions", &body).await?, 400)?, "invalid_request");
    }
    let body = json!({"shell": "true", "metadata": {"a": long}});
    assert_eq!(error_code(&me.post("/v1/executions", &body).await?, 400)?, "invalid_request");
    let session = me.session(&json!({"metadata": {"a": "x"}})).await?;
    let path = format!("/v1/sessions/{session}");
    let change = json!({"metadata": {"b": long}});
    assert_eq!(error_code(&me.send("PATCH", &path, &[], &change).await?, 400)?, "invalid_request");
    Ok(())
}

#[tokio::test]
async fn more_sessions_than_fit_into_an_answer_leave_lists_and_restarts_as_they_were() -> Result<()> {
    let mut server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let env = json!({"env": {"A": "x".repeat(ENV_BYTES)}});
    for _ in 0..SESSIONS {
        ann.session(&env).await?;
    }
    let bobs = bob.session(&json!({})).await?;
    let id = bob.start(&bobs, &json!({"shell": "read x; exit 3", "stdin": "open"})).await?;
    assert_eq!(texts(&bob.json("/v1/sessions?state=ready").await?, "id"), [bobs.as_str()]);
    assert_eq!(texts(&ann.json("/v1/sessions?state=ready&limit=5").await?, "id").len(), 5);

    server.kill();
    server.start_again().await?;
    assert!(server.log().contains("too large for one response"), "they fit: this test shows nothing");
    assert_eq!(texts(&bob.json("/v1/executions?state=running").await?, "id"), [id.as_str()]);
    bob.write_input(&id, b"go\n").await?;
    assert_eq!(bob.closed(&id).await?["exit"]["code"], 3);
    // The store has it: this list comes from the store.
    assert_eq!(texts(&bob.json("/v1/executions?state=closed").await?, "id"), [id.as_str()]);
    Ok(())
}

#[tokio::test]
async fn long_code_is_listed_by_its_beginning_even_after_its_end() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let code = format!("exit 3\n#{}", "x".repeat(200 << 10));
    for _ in 0..10 {
        let id = me.start(&session, &json!({"language": "bash", "code": code})).await?;
        me.closed(&id).await?;
    }
    let page = me.json("/v1/executions?limit=9").await?;
    assert_eq!(texts(&page, "state"), ["closed"; 9], "{page}");
    assert!(page.to_string().len() < 100 << 10 && page.to_string().contains("bytes in all"));
    let cursor = page["next_cursor"].as_str().unwrap_or_default();
    let last = me.json(&format!("/v1/executions?limit=9&cursor={cursor}")).await?;
    assert_eq!((texts(&last, "id").len(), &last["next_cursor"]), (1, &json!(null)));
    let one = me.json(&format!("/v1/executions/{}", texts(&last, "id")[0])).await?;
    assert!(one["command"]["code"]["code"] == code, "a single execution has all of its code");
    Ok(())
}
