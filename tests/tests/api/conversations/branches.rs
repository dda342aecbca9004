//! Branches: a message that is edited, an answer that is made again, and the way between them.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, last_text, on, text_of};

fn id_of(now: &Value, at: usize) -> String {
    text(&now["messages"][at]["id"])
}

#[tokio::test]
async fn an_edited_message_and_another_answer_are_branches_and_the_old_ones_are_kept() -> Result<()> {
    let script = json!({"rules": [
        on("one", &[json!({"text": "Answer to one."})]),
        on("two", &[json!({"text": "Answer to two."})]),
        on("edited", &[json!({"text": "Answer to the edited one."})]),
    ]});
    let chat = Chat::new(&script).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.ask("one").await?;
    let before = talk.ask("two").await?;
    // The first message, edited: it follows nothing, as that did.
    let body = json!({"text": "edited", "parent_id": null});
    json_of(&talk.post("/messages", &body).await?, 202)?;
    let now = talk.rests().await?;
    ensure!(
        last_text(&now) == "Answer to the edited one." && now["messages"].as_array().map(Vec::len) == Some(6)
    );
    ensure!(now["messages"][4]["parent_id"].is_null() && now["leaf_id"] == now["messages"][5]["id"], "{now}");
    let asked = chat.last_request()?.body.to_string();
    ensure!(
        asked.contains("edited") && !asked.contains("Answer to one"),
        "the model sees one branch: {asked}"
    );
    // Back to the old branch, and on in it.
    let selected = talk.post_ok("/branch", &json!({"message_id": id_of(&now, 0)})).await?;
    ensure!(selected["leaf_id"] == before["leaf_id"], "{selected}");
    let now = talk.ask("two again").await?;
    ensure!(now["messages"][6]["parent_id"] == before["leaf_id"], "{now}");
    // Another answer to the same message, by the id of the answer or of the message.
    for id in [id_of(&now, 7), id_of(&now, 6)] {
        let turn = talk.post("/regenerate", &json!({"message_id": id})).await?;
        ensure!(json_of(&turn, 202)?["turn_id"].as_str().is_some_and(|id| id.starts_with("turn_")));
        let again = talk.rests().await?;
        let last = again["messages"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
        ensure!(
            last["parent_id"] == now["messages"][6]["id"] && text_of(&last) == "Answer to two.",
            "{last}"
        );
    }
    ensure!(talk.now().await?["messages"].as_array().map(Vec::len) == Some(10));
    Ok(())
}

#[tokio::test]
async fn another_branch_is_refused_while_a_turn_runs_and_unknown_messages_are_not_found() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "First."}, {"text": "Se{{hold}}cond."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let first = talk.ask("one").await?;
    let sent = talk.say("two").await?;
    chat.held().await?;
    let of = |id: &str| json!({"message_id": id});
    for (rest, body) in [
        ("/messages", json!({"text": "x", "parent_id": null})),
        ("/messages", json!({"text": "x", "parent_id": id_of(&first, 0)})),
        ("/regenerate", of(&id_of(&first, 1))),
        ("/branch", of(&id_of(&first, 0))),
    ] {
        // The newest branch with the first message is the current one.
        let expected = if rest == "/branch" { 200 } else { 409 };
        let answer = talk.post(rest, &body).await?;
        ensure!(answer.status == expected, "{rest}: {} {}", answer.status, answer.text());
    }
    chat.model.release().await;
    talk.rests().await?;
    for rest in ["/regenerate", "/branch"] {
        let answer = talk.post(rest, &of("nobody")).await?;
        ensure!(error_code(&answer, 404)? == "not_found", "{rest}");
    }
    let answer = talk.post("/messages", &json!({"text": "x", "parent_id": "nobody"})).await?;
    ensure!(error_code(&answer, 404)? == "not_found");
    // A message that is sent again is added once; an answer's id is taken.
    let id = text(&sent["message_id"]);
    let again = json_of(&talk.post("/messages", &json!({"text": "two", "id": id})).await?, 202)?;
    ensure!(again["message_id"] == id && again["is_queued"] == false, "{again}");
    let answer = talk.post("/messages", &json!({"text": "x", "id": id_of(&first, 1)})).await?;
    ensure!(error_code(&answer, 409)? == "conflict");
    ensure!(talk.now().await?["messages"].as_array().map(Vec::len) == Some(4));
    Ok(())
}
