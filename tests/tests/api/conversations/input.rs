//! Bad input is a clear 4xx, and nothing happens; what is too much is refused.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, Talk, runs, until};

#[tokio::test]
async fn bodies_that_are_invalid_or_huge_are_refused_and_change_nothing() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "Hello."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let table = [
        ("POST", "/v1/conversations".to_owned(), r#"{"titel":"x"}"#, "titel"),
        ("POST", "/v1/conversations".into(), r#"{"title":1}"#, "title"),
        ("POST", "/v1/conversations".into(), r#"{"approval_policy":"always"}"#, "approval_policy"),
        ("POST", "/v1/conversations".into(), r#"{"mode":"god"}"#, "mode"),
        ("POST", "/v1/conversations".into(), r#"{"model":"nobody"}"#, "nobody"),
        ("POST", "/v1/conversations".into(), "[]", "sequence"),
        ("POST", "/v1/conversations".into(), "{", "EOF"),
        ("PATCH", talk.path(""), r#"{"id":"x"}"#, "id"),
        ("PATCH", talk.path(""), r#"{"owner":"bob"}"#, "owner"),
        ("PATCH", talk.path(""), r#"{"wakes":"yes"}"#, "wakes"),
        ("POST", talk.path("/messages"), "{}", "text"),
        ("POST", talk.path("/messages"), r#"{"text":"x","role":"assistant"}"#, "role"),
        ("POST", talk.path("/messages"), r#"{"text":"x","id":""}"#, "id"),
        ("POST", talk.path("/messages"), r#"{"text":"x","delivery":"now"}"#, "delivery"),
        ("POST", talk.path("/messages"), r#"{"text":"x","model":"nobody"}"#, "nobody"),
        ("POST", talk.path("/messages"), r#"{"text":"x","parent_id":1}"#, "parent_id"),
        ("POST", talk.path("/regenerate"), "{}", "message_id"),
        ("POST", talk.path("/branch"), r#"{"message_id":"a b"}"#, "a b"),
        ("POST", talk.path("/answers/x"), r#"{"answers":[{"id":"a"}]}"#, "answer"),
    ];
    for (method, path, body, says) in table {
        let answer =
            talk.api.request(method, &path, &[("Content-Type", "application/json")], body.as_bytes()).await?;
        let code =
            error_code(&answer, 400).map_err(|error| error.context(format!("{method} {path} {body}")))?;
        let message = text(&answer.json()?["error"]["message"]);
        ensure!(code == "invalid_request" && message.contains(says), "{method} {path} {body}: {message}");
    }
    for (rest, body) in [
        ("/messages", json!({"text": "x".repeat((1 << 20) + 1)})),
        (
            "/messages",
            json!({"text": "x", "attachments": vec![json!({"name": "x", "path": "x", "media_type": "a/b", "size_bytes": 1}); 33]}),
        ),
    ] {
        ensure!(error_code(&talk.post(rest, &body).await?, 400)? == "invalid_request");
    }
    let long = json!({"instructions": "x".repeat((64 << 10) + 1)});
    ensure!(error_code(&talk.api.patch(&talk.path(""), &long).await?, 400)? == "invalid_request");
    let huge = json!({"text": "x".repeat(17 << 20)});
    ensure!(error_code(&talk.post("/messages", &huge).await?, 413)? == "body_too_large");
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let answer = talk
        .api
        .request("POST", &talk.path("/messages"), &[("Content-Type", "application/json")], deep.as_bytes())
        .await?;
    ensure!(error_code(&answer, 400)? == "invalid_request");
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let answer = talk
            .api
            .request("POST", &talk.path("/messages"), &[("Content-Type", kind)], b"{\"text\":\"x\"}")
            .await?;
        ensure!(error_code(&answer, 415)? == "unsupported_media_type", "{kind}");
    }
    for path in [
        "/v1/conversations?limit=0",
        "/v1/conversations?cursor=x",
        "/v1/conversations?archived=perhaps",
        "/v1/conversations?odd=1",
        "/v1/models?odd=1",
    ] {
        ensure!(error_code(&talk.api.get(path).await?, 400)? == "invalid_request", "{path}");
    }
    for (method, rest) in [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/messages"),
        ("POST", "/stop"),
        ("GET", "/members"),
        ("GET", "/shares"),
        ("DELETE", "/queue/x"),
    ] {
        let answer = talk.api.request(method, &talk.path(&format!("{rest}?odd=1")), &[], b"").await?;
        ensure!(error_code(&answer, 400)? == "invalid_request", "{method} {rest}");
    }
    let now = talk.now().await?;
    ensure!(now["last_seq"] == 0 && now["owner"] == "admin" && chat.model.requests().is_empty(), "{now:#}");
    ensure!(talk.api.json("/v1/conversations").await?["items"].as_array().map(Vec::len) == Some(1));
    Ok(())
}

#[tokio::test]
async fn ids_that_are_invalid_or_unknown_are_not_found() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "Hello."}])).await?;
    let api = chat.server.api();
    for id in ["cnv_00000000000000000000000000000000", "x", "%00", "..%2f..", "%20", &"x".repeat(129)] {
        let talk = Talk { api: api.clone(), id: id.to_owned() };
        for (method, rest, body) in [
            ("GET", "", Value::Null),
            ("PATCH", "", json!({})),
            ("DELETE", "", Value::Null),
            ("GET", "/log", Value::Null),
            ("POST", "/messages", json!({"text": "x"})),
            ("DELETE", "/queue/x", Value::Null),
            ("POST", "/regenerate", json!({"message_id": "x"})),
            ("POST", "/branch", json!({"message_id": "x"})),
            ("POST", "/stop", Value::Null),
            ("POST", "/approvals/x", json!({"decision": "deny"})),
            ("POST", "/answers/x", json!({"answers": []})),
            ("POST", "/attachments?name=x", Value::Null),
            ("GET", "/members", Value::Null),
            ("GET", "/shares", Value::Null),
        ] {
            let answer = api.send(method, &talk.path(rest), &[], &body).await?;
            let code =
                error_code(&answer, 404).map_err(|error| error.context(format!("{method} {id} {rest}")))?;
            ensure!(code == "not_found", "{method} {id} {rest}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn no_more_messages_wait_than_fit_and_one_that_waits_is_accepted_again() -> Result<()> {
    let chat = Chat::new(&json!([runs(&until("go")), {"text": "Done."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.say("go").await?;
    talk.execution().await?;
    let queued = |n: usize| json!({"id": format!("m{n}"), "text": "wait", "delivery": "queue"});
    for n in 0..64 {
        json_of(&talk.post("/messages", &queued(n)).await?, 202)?;
    }
    let refused = talk.post("/messages", &queued(64)).await?;
    ensure!(error_code(&refused, 429)? == "quota_exceeded", "{}", refused.text());
    // One that waits already is accepted again.
    json_of(&talk.post("/messages", &queued(3)).await?, 202)?;
    ensure!(talk.api.delete(&talk.path("/queue/m0")).await?.status == 204);
    json_of(&talk.post("/messages", &queued(64)).await?, 202)?;
    talk.post_ok("/stop", &Value::Null).await?;
    ensure!(talk.now().await?["queue"].as_array().map(Vec::len) == Some(64));
    Ok(())
}
