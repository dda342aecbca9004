//! Calls on files of a session that ends meanwhile.

use anyhow::Result;
use futures_util::future::{join, join_all};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

/// Calls that use the workspace, in turns: method, path below the session, body.
fn calls() -> [(&'static str, &'static str, Value); 10] {
    [
        ("DELETE", "/files?path=some/file", json!(null)),
        ("PUT", "/files/content?path=other/file", json!({"a": 1})),
        ("GET", "/files?path=some", json!(null)),
        ("POST", "/files/copy", json!({"from": "some", "to": "copy", "overwrite": true})),
        ("POST", "/snapshots", json!({})),
        ("GET", "/files/search?content=x", json!(null)),
        ("GET", "/files/diff", json!(null)),
        ("GET", "/python/packages", json!(null)),
        ("POST", "/fork", json!({})),
        ("POST", "/executions", json!({"shell": "true"})),
    ]
}

/// Repeats one call until the session refuses it. Returns every status.
async fn until_refused(api: &Api, session: &str, turn: usize) -> Result<Vec<(u16, String)>> {
    let (method, path, body) = calls()[turn].clone();
    let mut seen = Vec::new();
    for _ in 0..500 {
        let response = api.send(method, &format!("/v1/sessions/{session}{path}"), &[], &body).await?;
        let text = response.text();
        seen.push((response.status, format!("{method} {path}: {text}")));
        if matches!(response.status, 404 | 409) && text.contains("session") {
            break;
        }
    }
    Ok(seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_on_a_session_that_ends_meanwhile_are_refused_as_ended_and_never_fail_as_the_host() -> Result<()>
{
    let server = TestServer::small().await?;
    let api = server.api();
    for _ in 0..15 {
        let session = api.session(&json!({})).await?;
        api.run_in(&session, "mkdir -p some; seq 300 | while read i; do echo x > some/$i; done").await?;
        let using = join_all((0..calls().len()).map(|turn| until_refused(&api, &session, turn)));
        let (used, ended) = join(using, api.delete(&format!("/v1/sessions/{session}"))).await;
        assert_eq!(ended?.status, 204);
        for (status, text) in used.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            assert!(status < 500, "{status} {text}");
        }
    }
    Ok(())
}
