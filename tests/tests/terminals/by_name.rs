//! Terminals by name: exactly one runs for each, over concurrent requests and kills.

use anyhow::Result;
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use serde_json::{Value, json};

use crate::viewer::{Viewer, terminals};

fn id(terminal: &Value) -> String {
    terminal["execution_id"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn terminals_are_created_listed_shown_and_ended_by_name() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let list = format!("/v1/sessions/{session}/terminals");
    assert_eq!(terminals(&api, &session).await?, Vec::<Value>::new());
    let made = api.post(&list, &json!({"name":"build","rows":30,"cols":90})).await?;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json()?;
    assert_eq!(
        (&made["name"], &made["rows"], &made["cols"], &made["running"]),
        (&json!("build"), &json!(30), &json!(90), &json!(true))
    );
    let again = api.post(&list, &json!({"name":"build"})).await?;
    assert_eq!((again.status, id(&again.json()?)), (200, id(&made)));
    let line = json!({ "name": "line", "command": "echo one-$((1 + 1)); sleep 1000" });
    assert_eq!(api.post(&list, &line).await?.status, 201);
    let mut viewer = Viewer::open(&api, &session, "name=line").await?;
    viewer.shows("one-2").await?;
    // The emulator is another reader of the log: it may be behind the viewer.
    let mut shown = Value::Null;
    eventually("the snapshot shows it", async || {
        shown = api.json(&format!("{list}/line/snapshot")).await.unwrap_or_default();
        shown["text"].as_str().is_some_and(|text| text.contains("one-2"))
    })
    .await?;
    assert_eq!((&shown["rows"], &shown["cols"]), (&json!(24), &json!(80)));
    let names: Vec<Value> = terminals(&api, &session).await?.iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, [json!("build"), json!("line")]);
    for body in [
        json!({"name": ""}),
        json!({"name": "a b"}),
        json!({"rows": 0}),
        json!({"odd": 1}),
        json!({"rows": 70000}),
    ] {
        assert_eq!(api.post(&list, &body).await?.status, 400, "{body}");
    }
    assert_eq!(api.delete(&format!("{list}/build")).await?.status, 204);
    eventually("the deleted terminal is listed as ended", async || {
        let list = terminals(&api, &session).await.unwrap_or_default();
        list.iter().any(|one| one["name"] == "build" && one["running"] == false)
    })
    .await?;
    let mut fresh = Viewer::open(&api, &session, "name=build&frames=binary&after=1").await?;
    let attached = fresh.hears("attached").await?;
    assert_ne!(id(&attached), id(&made), "what has ended is made anew");
    for missing in ["nothing", "bad%20name"] {
        let status = api.delete(&format!("{list}/{missing}")).await?.status;
        assert!(matches!(status, 404 | 400), "{missing}: {status}");
    }
    Ok(())
}

#[tokio::test]
async fn many_that_open_one_name_at_once_find_one_terminal() -> Result<()> {
    let mut server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let opening = (0..6).map(|_| Viewer::open(&api, &session, "name=x&frames=binary"));
    let mut ids = Vec::new();
    for viewer in futures_util::future::join_all(opening).await {
        ids.push(id(&viewer?.hears("attached").await?));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    server.kill();
    server.start_again().await?;
    let mut viewer = Viewer::open(&api, &session, "name=x&frames=binary").await?;
    assert_eq!(id(&viewer.hears("attached").await?), ids[0]);
    server.kill_worker().await?;
    let mut viewer = Viewer::open(&api, &session, "name=x&frames=binary").await?;
    assert_eq!(id(&viewer.hears("attached").await?), ids[0]);
    viewer.keys(b"echo still-$((1 + 1))\r").await?;
    viewer.shows("still-2").await?;
    assert_eq!(terminals(&api, &session).await?.len(), 1);
    Ok(())
}
