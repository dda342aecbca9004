//! Sessions: making, listing, changing, removing.

use anyhow::Result;
use headwater_tests::host::eventually;
use serde_json::json;

use crate::ask::{Asker, all, bad, good, server, text};

#[tokio::test]
async fn a_session_is_created_read_changed_and_removed() -> Result<()> {
    let server = server().await?;
    let me = Asker::admin(&server);
    let asked =
        json!({"name": "mine", "env": {"A": "1"}, "limits": {"pids": 100}, "metadata": {"a": "b", "c": "d"}});
    let answer = me.post("/v1/sessions", &asked).await?;
    let made = good(&answer, 201)?;
    let id = text(&made["id"]);
    let path = format!("/v1/sessions/{id}");
    assert_eq!(answer.header("location"), Some(path.as_str()));
    assert_eq!(
        (&made["state"], &made["one_shot"], &made["running"]),
        (&json!("ready"), &json!(false), &json!(0))
    );
    assert_eq!((&made["name"], &made["env"]), (&json!("mine"), &json!({"A": "1"})));
    assert_eq!(made["metadata"], json!({"a": "b", "c": "d"}), "the owner is kept and not shown");
    assert_eq!(made["limits"]["pids"], 100);
    assert!(made["limits"]["memory_bytes"].is_u64(), "defaults are filled in: {made}");
    assert_eq!(me.json(&path).await?, made);

    let change = json!({"name": "ours", "metadata": {"a": "x", "c": ""}, "limits": {"pids": 50}});
    let changed = good(&me.send("PATCH", &path, &[], &change).await?, 200)?;
    assert_eq!((&changed["name"], &changed["metadata"]), (&json!("ours"), &json!({"a": "x"})));
    assert_eq!((&changed["limits"]["pids"], &changed["env"]), (&json!(50), &json!({"A": "1"})));
    assert_eq!(me.json(&path).await?, changed);
    assert_eq!(all(&me.json("/v1/sessions?name=ours").await?, "id"), [id.as_str()]);
    assert!(all(&me.json("/v1/sessions?name=mine").await?, "id").is_empty());

    let execution = me.start(&id, &json!({"shell": "sleep 1000"})).await?;
    assert_eq!(me.json(&path).await?["running"], 1);
    good(&me.delete(&path).await?, 204)?;
    assert_eq!(bad(&me.delete(&path).await?, 404)?, "not_found");
    bad(&me.get(&path).await?, 404)?;
    bad(&me.get(&format!("/v1/executions/{execution}")).await?, 404)?;
    assert!(all(&me.json("/v1/sessions").await?, "id").is_empty());
    assert!(!server.data().join("sessions").join(&id).exists());
    Ok(())
}

#[tokio::test]
async fn pages_of_sessions_show_each_once_the_newest_first() -> Result<()> {
    let server = server().await?;
    let me = Asker::admin(&server);
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(me.session(&json!({"name": format!("s{n}")})).await?);
    }
    let (mut found, mut path, mut pages) = (Vec::new(), "/v1/sessions?limit=2".to_owned(), 0);
    loop {
        let page = me.json(&path).await?;
        found.extend(all(&page, "id"));
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/sessions?limit=2&cursor={next}");
    }
    made.reverse();
    assert_eq!((found, pages), (made, 3));
    Ok(())
}

#[tokio::test]
async fn a_session_that_ended_by_itself_is_listed_as_ended() -> Result<()> {
    let server = server().await?;
    let me = Asker::admin(&server);
    let kept = me.session(&json!({})).await?;
    let idle = me.session(&json!({"idle_timeout_ms": 1})).await?;
    let path = format!("/v1/sessions/{idle}");
    eventually("the idle session ends", async || {
        me.json(&path).await.is_ok_and(|told| told["state"] == "ended" && told["ended_at"].is_string())
    })
    .await?;
    assert_eq!(all(&me.json("/v1/sessions?state=ended").await?, "id"), [idle.as_str()]);
    assert_eq!(all(&me.json("/v1/sessions?state=ready").await?, "id"), [kept]);
    let start = me.post(&format!("{path}/executions"), &json!({"shell": "true"})).await?;
    assert_eq!(bad(&start, 409)?, "conflict");
    let change = me.send("PATCH", &path, &[], &json!({"name": "late"})).await?;
    assert_eq!(bad(&change, 409)?, "conflict");
    good(&me.delete(&path).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn everybody_sees_their_own_sessions_and_the_operator_all() -> Result<()> {
    let server = server().await?;
    let (admin, ann) = (Asker::admin(&server), Asker::user(&server, "ann", "member")?);
    let bob = Asker::user(&server, "bob", "member")?;
    let (hers, his) = (ann.session(&json!({})).await?, bob.session(&json!({})).await?);
    assert_eq!(all(&ann.json("/v1/sessions").await?, "id"), [hers.as_str()]);
    assert_eq!(all(&bob.json("/v1/sessions").await?, "id"), [his.as_str()]);
    assert_eq!(all(&admin.json("/v1/sessions").await?, "id"), [his.as_str(), hers.as_str()]);
    bad(&ann.get(&format!("/v1/sessions/{his}")).await?, 404)?;
    bad(&ann.get(&format!("/v1/executions?session_id={his}")).await?, 404)?;
    // What the operator starts in ann's session is ann's to see.
    let execution = admin.start(&hers, &json!({"shell": "echo hi"})).await?;
    assert_eq!(ann.stdout(&execution).await?, "hi\n");
    bad(&bob.get(&format!("/v1/executions/{execution}")).await?, 404)?;
    assert_eq!(all(&ann.json("/v1/executions").await?, "id"), [execution]);
    assert!(all(&bob.json("/v1/executions").await?, "id").is_empty());
    Ok(())
}

#[tokio::test]
async fn a_session_deleted_with_keep_logs_loses_its_workspace_and_keeps_what_it_printed() -> Result<()> {
    let server = server().await?;
    let me = Asker::admin(&server);
    let id = me.session(&json!({})).await?;
    let path = format!("/v1/sessions/{id}");
    let execution = me.start(&id, &json!({"shell": "echo hello"})).await?;
    me.ended(&execution).await?;
    assert_eq!(bad(&me.delete(&format!("{path}?keep=true")).await?, 400)?, "invalid_request");
    for _ in 0..2 {
        good(&me.delete(&format!("{path}?keep_logs=true")).await?, 204)?; // twice is the same
    }
    assert_eq!(me.json(&path).await?["state"], "ended");
    assert_eq!(me.stdout(&execution).await?, "hello\n");
    assert!(!server.data().join("sessions").join(&id).join("workspace").exists());
    good(&me.delete(&path).await?, 204)?;
    bad(&me.get(&format!("/v1/executions/{execution}")).await?, 404)?;
    Ok(())
}
