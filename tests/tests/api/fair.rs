//! What one user has much of costs the others nothing.

use anyhow::Result;
use serde_json::json;

use crate::ask::{Asker, all, bad, good, server};

/// With so many sessions of this environment, all of them are more than the worker can tell in one answer (16 MiB).
const SESSIONS: usize = 36;
const ENV_BYTES: usize = 500 << 10;

#[tokio::test]
async fn fields_in_lists_are_bounded() -> Result<()> {
    let server = server().await?;
    let me = Asker::admin(&server);
    let long = "x".repeat(1 << 20);
    for body in [json!({"name": long}), json!({"metadata": {"a": long}}), json!({"env": {"A": long}})] {
        assert_eq!(bad(&me.post("/v1/sessions", &body).await?, 400)?, "invalid_request");
    }
    let body = json!({"shell": "true", "metadata": {"a": long}});
    assert_eq!(bad(&me.post("/v1/executions", &body).await?, 400)?, "invalid_request");
    let session = me.session(&json!({"metadata": {"a": "x"}})).await?;
    let path = format!("/v1/sessions/{session}");
    let change = json!({"metadata": {"b": long}});
    assert_eq!(bad(&me.send("PATCH", &path, &[], &change).await?, 400)?, "invalid_request");
    Ok(())
}

#[tokio::test]
async fn more_sessions_than_fit_into_an_answer_leave_lists_and_restarts_as_they_were() -> Result<()> {
    let mut server = server().await?;
    let (ann, bob) = (Asker::user(&server, "ann", "member")?, Asker::user(&server, "bob", "member")?);
    let env = json!({"env": {"A": "x".repeat(ENV_BYTES)}});
    for _ in 0..SESSIONS {
        ann.session(&env).await?;
    }
    let bobs = bob.session(&json!({})).await?;
    let id = bob.start(&bobs, &json!({"shell": "read x; exit 3", "stdin": "open"})).await?;
    assert_eq!(all(&bob.json("/v1/sessions?state=ready").await?, "id"), [bobs.as_str()]);
    assert_eq!(all(&ann.json("/v1/sessions?state=ready&limit=5").await?, "id").len(), 5);

    server.kill();
    server.start_again().await?;
    assert!(server.log().contains("more to tell than fits"), "they fit: this test shows nothing");
    assert_eq!(all(&bob.json("/v1/executions?state=running").await?, "id"), [id.as_str()]);
    good(&bob.ask("POST", &format!("/v1/executions/{id}/stdin"), &[], b"go\n").await?, 204)?;
    assert_eq!(bob.ended(&id).await?["exit"]["code"], 3);
    // The store was told: it is what this list is made of.
    assert_eq!(all(&bob.json("/v1/executions?state=closed").await?, "id"), [id.as_str()]);
    Ok(())
}

#[tokio::test]
async fn long_code_is_listed_by_its_beginning_even_after_its_end() -> Result<()> {
    let server = server().await?;
    let me = Asker::admin(&server);
    let session = me.session(&json!({})).await?;
    let code = format!("exit 3\n#{}", "x".repeat(200 << 10));
    for _ in 0..10 {
        let id = me.start(&session, &json!({"language": "bash", "code": code})).await?;
        me.ended(&id).await?;
    }
    let page = me.json("/v1/executions?limit=9").await?;
    assert_eq!(all(&page, "state"), ["closed"; 9], "{page}");
    assert!(page.to_string().len() < 100 << 10 && page.to_string().contains("bytes in all"));
    let cursor = page["next_cursor"].as_str().unwrap_or_default();
    let last = me.json(&format!("/v1/executions?limit=9&cursor={cursor}")).await?;
    assert_eq!((all(&last, "id").len(), &last["next_cursor"]), (1, &json!(null)));
    let one = me.json(&format!("/v1/executions/{}", all(&last, "id")[0])).await?;
    assert!(one["command"]["code"]["code"] == code, "one that is asked for by itself is told in full");
    Ok(())
}
