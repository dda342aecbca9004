//! Conversations are created, listed, found, changed and deleted.

use anyhow::{Result, ensure};
use headwater_tests::SseStream;
use headwater_tests::http::{error_code, json_of, texts};
use serde_json::{Value, json};

use super::chat::{Chat, Talk, last_text, on, runs, until};

#[tokio::test]
async fn a_conversation_gets_the_id_that_its_creator_chose_if_nobody_has_it() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "Hello."}])).await?;
    let (ann, bob) = (chat.server.user("ann", "member")?, chat.server.user("bob", "member")?);
    let body = json!({"id": "Own-1.a:b_c"});
    let made = ann.post("/v1/conversations", &body).await?;
    ensure!(made.header("location") == Some("/v1/conversations/Own-1.a:b_c"), "{}", made.head);
    let made = json_of(&made, 201)?;
    ensure!(made["owner"] == "ann" && made["title"].is_null() && made["session_id"].is_null(), "{made}");
    // Whose it is, is not said.
    for api in [&ann, &bob] {
        let answer = api.post("/v1/conversations", &body).await?;
        ensure!(
            error_code(&answer, 409)? == "conflict" && !answer.text().contains("ann"),
            "{}",
            answer.text()
        );
    }
    for id in ["", "..", "a b", "a/b", "ä", &"x".repeat(129)] {
        let answer = ann.post("/v1/conversations", &json!({"id": id})).await?;
        ensure!(error_code(&answer, 400)? == "invalid_request", "{id}");
    }
    let talk = Talk { api: ann, id: "Own-1.a:b_c".into() };
    let now = talk.ask("  ## Greet *me*\nplease").await?;
    ensure!(now["title"] == "Greet *me*" && last_text(&now) == "Hello.", "{now}");
    ensure!(now["session_id"].is_null(), "no tool was called: {now}");
    ensure!(now["excerpt"] == "Hello." && now["is_running"] == false, "{now}");
    Ok(())
}

#[tokio::test]
async fn conversations_are_listed_by_activity_renamed_and_archived() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "Yes."}])).await?;
    let ann = chat.server.user("ann", "member")?;
    let list = async |query: &str| -> Result<Vec<String>> {
        Ok(texts(&ann.json(&format!("/v1/conversations?{query}")).await?, "id"))
    };
    let mut talks = Vec::new();
    for id in ["one", "two", "three"] {
        talks.push(Talk::new(&ann, &json!({"id": id, "title": id})).await?);
    }
    talks[0].ask("now?").await?;
    ensure!(list("").await? == ["one", "three", "two"]);
    let first = ann.json("/v1/conversations?limit=2").await?;
    let cursor = first["next_cursor"].as_str().unwrap_or_default();
    ensure!(list(&format!("limit=2&cursor={cursor}")).await? == ["two"]);
    let renamed = talks[1].patch(&json!({"title": " A\n new  title ", "is_archived": true})).await?;
    ensure!(renamed["title"] == "A new title" && renamed["is_archived"] == true, "{renamed}");
    ensure!(list("archived=true").await? == ["two"] && list("archived=false").await? == ["one", "three"]);
    ensure!(talks[1].patch(&json!({"is_archived": false})).await?["title"] == "A new title");
    ensure!(list("archived=true").await?.is_empty());
    for bad in [json!({"title": " "}), json!({"title": "x".repeat(201)}), json!({"title": "\u{7}"})] {
        let answer = ann.patch("/v1/conversations/two", &bad).await?;
        ensure!(error_code(&answer, 400)? == "invalid_request", "{bad}");
    }
    // A change of settings holds from the next turn on, and is checked.
    let answer = ann.patch("/v1/conversations/two", &json!({"model": "nobody"})).await?;
    ensure!(error_code(&answer, 400)? == "invalid_request");
    let changed = talks[1].patch(&json!({"model": "scripted", "mode": "plan", "wakes": true})).await?;
    ensure!(changed["model"] == "scripted" && changed["mode"] == "plan" && changed["wakes"] == true);
    ensure!(talks[1].patch(&json!({"model": ""})).await?["model"].is_null());
    Ok(())
}

#[tokio::test]
async fn conversations_are_found_by_words_of_titles_and_messages_without_case_and_accents() -> Result<()> {
    let script = json!({"rules": [on("weather", &[json!({"text": "It rains in Zürich, naïvely."})])],
        "turns": [{"text": "I know nothing."}]});
    let chat = Chat::new(&script).await?;
    let (ann, bob) = (chat.server.user("ann", "member")?, chat.server.user("bob", "member")?);
    let one = Talk::new(&ann, &json!({"id": "one", "title": "Crème brûlée"})).await?;
    let two = Talk::new(&ann, &json!({"id": "two"})).await?;
    Talk::new(&bob, &json!({"id": "three", "title": "Crème brûlée"})).await?;
    one.ask("How is the weather?").await?;
    two.ask("What is an étude?").await?;
    for (q, expected) in [
        ("creme", &["one"][..]),
        ("BRULEE%20cr%C3%88me", &["one"]),
        ("zurich", &["one"]),
        ("NAIVELY%20rains", &["one"]),
        ("etud", &["two"]),
        ("weather%20etude", &[]),
        ("know%20nothing", &["two"]),
        ("%22%20OR%20%22", &[]),
        ("title%3Acreme", &[]),
        ("NEAR(rains", &[]),
    ] {
        let found = texts(&ann.json(&format!("/v1/conversations?q={q}")).await?, "id");
        ensure!(found == expected, "{q}: {found:?}");
    }
    // The old title finds it no more.
    one.patch(&json!({"title": "Pudding"})).await?;
    ensure!(texts(&ann.json("/v1/conversations?q=creme").await?, "id").is_empty());
    ensure!(texts(&ann.json("/v1/conversations?q=pudding").await?, "id") == ["one"]);
    let answer = ann.get(&format!("/v1/conversations?q={}", "x".repeat(201))).await?;
    ensure!(error_code(&answer, 400)? == "invalid_request");
    Ok(())
}

/// Reads a stream to its end; the data of its last event.
async fn last_of(mut stream: SseStream) -> Result<Value> {
    let mut last = Value::Null;
    while let Some(event) = stream.next().await? {
        last = json!({"event": event.event, "data": event.json()?});
    }
    Ok(last)
}

#[tokio::test]
async fn deleting_a_conversation_ends_its_turn_and_its_readers_and_keeps_its_session_and_files() -> Result<()>
{
    let chat = Chat::new(&json!([runs(&until("go")), {"text": "Done."}])).await?;
    let talk = chat.talk(&json!({"id": "mine"})).await?;
    let added = talk.api.request("POST", &talk.path("/attachments?name=a.txt"), &[], b"kept").await?;
    json_of(&added, 201)?;
    talk.say("begin").await?;
    let execution = talk.execution().await?;
    let session = talk.session().await?;
    let reader = tokio::spawn(last_of(talk.api.stream(&talk.path("/log")).await?));
    let deleted = talk.api.delete(&talk.path("")).await?;
    ensure!(deleted.status == 204, "{}", deleted.text());
    let end = talk.api.closed(&execution).await?;
    ensure!(end["exit"]["code"] != 0, "the program was ended: {end}");
    let last = reader.await??;
    ensure!(last["event"] == "error" && last["data"]["error"]["code"] == "not_found", "{last}");
    for rest in ["", "/log", "/members"] {
        ensure!(error_code(&talk.get(rest).await?, 404)? == "not_found", "{rest}");
    }
    ensure!(error_code(&talk.api.delete(&talk.path("")).await?, 404)? == "not_found");
    let path = format!("/v1/sessions/{session}/files/content?path=attachments/a.txt");
    ensure!(talk.api.get(&path).await?.text() == "kept");
    // One with the same id begins empty, and the search has forgotten the old one.
    ensure!(texts(&talk.api.json("/v1/conversations?q=begin").await?, "id").is_empty());
    let again = chat.talk(&json!({"id": "mine"})).await?;
    ensure!(again.log().await?.is_empty() && again.now().await?["messages"] == json!([]));
    Ok(())
}
