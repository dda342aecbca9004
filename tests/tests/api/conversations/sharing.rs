//! Members and links of a conversation.

use anyhow::{Context, Result, ensure};
use headwater_tests::Api;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, Talk, last_text, on, runs};

async fn chat() -> Result<Chat> {
    let script = json!({"rules": [on("run", &[runs("echo printed"), json!({"text": "It ran."})])],
        "turns": [{"text": "Hello."}, {"text": "Hello again."}, {"text": "And again."}]});
    Chat::new(&script).await
}

async fn link(talk: &Talk, access: &str) -> Result<(String, String)> {
    let made = json_of(&talk.post("/shares", &json!({"access": access})).await?, 201)?;
    Ok((text(&made["id"]), text(&made["token"])))
}

/// The status of a request to write, of one to read, and of one that only owners may make.
async fn statuses(talk: &Talk, api: &Api, output: &str) -> Result<[u16; 4]> {
    let there = talk.by(api);
    let body = json!({"text": "hello", "parent_id": null});
    let written = there.post("/messages", &body).await?.status;
    talk.rests().await?;
    Ok([
        there.get("").await?.status,
        api.get(&format!("/v1/executions/{output}/output")).await?.status,
        written,
        there.get("/shares").await?.status,
    ])
}

#[tokio::test]
async fn viewers_read_editors_write_and_neither_has_the_rest_of_the_session() -> Result<()> {
    let chat = chat().await?;
    let [ann, vera, ed, bob] = ["ann", "vera", "ed", "bob"].map(|name| chat.server.user(name, "member"));
    let (ann, vera, ed, bob) = (ann?, vera?, ed?, bob?);
    let talk = Talk::new(&ann, &json!({"title": "Shared"})).await?;
    talk.ask("run").await?;
    let execution = talk.execution().await?;
    for (name, role) in [("vera", "viewer"), ("ed", "editor")] {
        let put = ann.put(&talk.path(&format!("/members/{name}")), &json!({"role": role})).await?;
        json_of(&put, 200)?;
    }
    let (reads, writes) = (link(&talk, "read").await?, link(&talk, "write").await?);
    let (read_link, write_link) = (chat.server.api_with(&reads.1), chat.server.api_with(&writes.1));
    let other = Talk::new(&ann, &json!({})).await?;
    let (session, own) = (talk.session().await?, ann.session(&json!({})).await?);
    let elsewhere = ann.start(&session, &json!({"shell": "echo elsewhere"})).await?;
    for (name, api, expected) in [
        ("vera", &vera, [200, 200, 403, 403]),
        ("ed", &ed, [200, 200, 202, 403]),
        ("a link to read", &read_link, [200, 200, 403, 403]),
        ("a link to write", &write_link, [200, 200, 202, 403]),
        ("bob", &bob, [404, 404, 404, 404]),
    ] {
        let found = statuses(&talk, api, &execution).await?;
        ensure!(found == expected, "{name}: {found:?}");
        for path in [
            format!("/v1/sessions/{session}"),
            format!("/v1/sessions/{session}/files/content?path=x"),
            format!("/v1/sessions/{own}"),
            format!("/v1/executions/{elsewhere}"),
            other.path(""),
            other.path("/log"),
        ] {
            let status = api.get(&path).await?.status;
            ensure!(status == 404, "{name}: {path}: {status}");
        }
        let approving = talk.by(api).post("/approvals/x", &json!({"decision": "allow_once"})).await?;
        ensure!(matches!(approving.status, 403 | 404), "{name} may not allow: {}", approving.status);
        let settings = api.patch(&talk.path(""), &json!({"approval_policy": "never"})).await?;
        ensure!(matches!(settings.status, 403 | 404), "{name} may not change rights: {}", settings.status);
    }
    let shared = vera.json("/v1/conversations?shared=true").await?;
    ensure!(shared["items"][0]["id"] == talk.id && shared["items"][0]["owner"] == "ann", "{shared}");
    ensure!(vera.json("/v1/conversations").await?["items"] == json!([]));
    // Their messages have their names.
    let authors = talk.now().await?;
    let authors: Vec<_> =
        authors["messages"].as_array().into_iter().flatten().map(|one| text(&one["author"])).collect();
    ensure!(authors.contains(&"ed".to_owned()) && authors.contains(&"ann".to_owned()), "{authors:?}");
    Ok(())
}

#[tokio::test]
async fn a_member_that_is_removed_and_a_link_that_is_revoked_lose_their_streams() -> Result<()> {
    let chat = chat().await?;
    let (ann, ed) = (chat.server.user("ann", "member")?, chat.server.user("ed", "member")?);
    let talk = Talk::new(&ann, &json!({})).await?;
    talk.ask("hello").await?;
    json_of(&ann.put(&talk.path("/members/ed"), &json!({"role": "editor"})).await?, 200)?;
    let (id, token) = link(&talk, "read").await?;
    let linked = chat.server.api_with(&token);
    let mut streams = Vec::new();
    for api in [&ed, &linked] {
        let mut stream = api.stream(&talk.path("/log")).await?;
        stream.next().await?.context("an event")?;
        streams.push(stream);
    }
    ensure!(ann.delete(&talk.path("/members/ed")).await?.status == 204);
    ensure!(ann.delete(&talk.path(&format!("/shares/{id}"))).await?.status == 204);
    for (api, status) in [(&ed, 404), (&linked, 401)] {
        eventually("it is refused", async || {
            api.get(&talk.path("")).await.is_ok_and(|got| got.status == status)
        })
        .await?;
    }
    for mut stream in streams {
        // To its end, by an error of the connection or without one.
        while let Ok(Some(_)) = stream.next().await {}
    }
    // A second removal finds nobody.
    ensure!(error_code(&ann.delete(&talk.path("/members/ed")).await?, 404)? == "not_found");
    ensure!(error_code(&ann.delete(&talk.path(&format!("/shares/{id}"))).await?, 404)? == "not_found");
    Ok(())
}

#[tokio::test]
async fn an_editor_writes_to_the_agent_which_works_for_the_owner() -> Result<()> {
    let chat = chat().await?;
    let (ann, ed) = (chat.server.user("ann", "member")?, chat.server.user("ed", "member")?);
    let talk = Talk::new(&ann, &json!({})).await?;
    json_of(&ann.put(&talk.path("/members/ed"), &json!({"role": "editor"})).await?, 200)?;
    let there = talk.by(&ed);
    let added = ed.request("POST", &there.path("/attachments?name=a.txt"), &[], b"of ed").await?;
    json_of(&added, 201)?;
    let now = there.ask("run").await?;
    ensure!(last_text(&now) == "It ran.", "{now}");
    let execution = there.execution().await?;
    ensure!(ed.output(&execution, "stdout").await? == "printed\n");
    let session = ann.json(&format!("/v1/sessions/{}", talk.session().await?)).await?;
    ensure!(session["owner"] == "ann", "{session}");
    ensure!(ed.json("/v1/sessions").await?["items"] == json!([]), "it is not theirs");
    let ended = ed.post(&format!("/v1/executions/{execution}/rerun"), &Value::Null).await?;
    ensure!(matches!(ended.status, 403 | 404), "{}", ended.status);
    Ok(())
}
