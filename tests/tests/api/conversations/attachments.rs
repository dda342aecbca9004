//! Attachments: in the workspace, and for the model.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, Talk, last_text};

/// An image of one pixel.
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\xff\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

async fn add(talk: &Talk, name: &str, body: &[u8]) -> Result<Value> {
    json_of(
        &talk.api.request("POST", &talk.path(&format!("/attachments?name={name}")), &[], body).await?,
        201,
    )
}

#[tokio::test]
async fn attachments_are_in_the_workspace_and_images_and_texts_reach_the_model() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "I see."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let image = add(&talk, "a%20b.gif", GIF).await?;
    let size = GIF.len();
    let expected = json!({"name": "a b.gif", "path": "attachments/a b.gif", "media_type": "image/gif", "size_bytes": size});
    ensure!(image == expected, "{image}");
    // What is there already is kept.
    let (one, two) =
        (add(&talk, "note.txt", b"the first").await?, add(&talk, "note.txt", b"the second").await?);
    ensure!(one["path"] == "attachments/note.txt" && two["path"] == "attachments/note-2.txt", "{one} {two}");
    let hostile = add(&talk, "..%2F..%2Fetc%2Fpasswd", b"mine").await?;
    ensure!(hostile["path"] == "attachments/passwd", "{hostile}");
    let body = json!({"text": "look", "attachments": [image, one, two]});
    json_of(&talk.post("/messages", &body).await?, 202)?;
    let now = talk.rests().await?;
    ensure!(
        last_text(&now) == "I see." && now["messages"][0]["parts"][0]["path"] == "attachments/a b.gif",
        "{now}"
    );
    let asked = chat.last_request()?.body.to_string();
    for part in ["data:image/", "the first", "the second"] {
        ensure!(asked.contains(part), "{part}: {asked}");
    }
    let session = talk.session().await?;
    let path = format!("/v1/sessions/{session}/files/content?path=attachments/note-2.txt");
    ensure!(talk.api.get(&path).await?.text() == "the second");
    // A message may be attachments alone; its title is the name of the file.
    let only = chat.talk(&json!({"session_id": session})).await?;
    json_of(&only.post("/messages", &json!({"attachments": [one]})).await?, 202)?;
    ensure!(only.rests().await?["title"] == "note.txt");
    Ok(())
}

#[tokio::test]
async fn an_attachment_that_leads_out_of_the_workspace_shows_the_model_nothing() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "I see."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let token = chat.server.token().to_owned();
    add(&talk, "a.txt", b"the text").await?;
    let data = chat.server.data().display().to_string();
    let files = [
        format!("{data}/token"),
        "../../../../token".into(),
        "/etc/passwd".into(),
        "attachments/none".into(),
    ];
    let entry =
        |path: &String| json!({"name": "x", "path": path, "media_type": "text/plain", "size_bytes": 10});
    let attachments: Vec<_> = files.iter().map(entry).collect();
    json_of(&talk.post("/messages", &json!({"text": "look", "attachments": attachments})).await?, 202)?;
    talk.rests().await?;
    let asked = chat.last_request()?.body.to_string();
    ensure!(asked.contains("look") && !asked.contains(&token) && !asked.contains("root:"), "{asked}");
    Ok(())
}

#[tokio::test]
async fn names_of_attachments_and_entries_of_messages_are_checked() -> Result<()> {
    let chat = Chat::new(&json!([{"text": "I see."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let long = "x".repeat(201);
    for query in ["", "?name=", "?name=..", "?name=a%0Ab", &format!("?name={long}"), "?name=a&odd=1"] {
        let answer = talk.api.request("POST", &talk.path(&format!("/attachments{query}")), &[], b"x").await?;
        ensure!(error_code(&answer, 400)? == "invalid_request", "{query}");
    }
    let good = json!({"name": "x", "path": "x", "media_type": "text/plain", "size_bytes": 1});
    let with = |field: &str, value: Value| {
        let mut entry = good.clone();
        entry[field] = value;
        json!({"text": "look", "attachments": [entry]})
    };
    for body in [
        with("name", json!("")),
        with("name", json!("a\nb")),
        with("path", json!("x".repeat(4097))),
        with("media_type", json!("a\u{0}")),
        with("size_bytes", json!(-1)),
        json!({"text": "look", "attachments": vec![good.clone(); 33]}),
        json!({"attachments": []}),
        json!({"text": " \n"}),
    ] {
        let answer = talk.post("/messages", &body).await?;
        ensure!(error_code(&answer, 400)? == "invalid_request", "{}", text(&body["text"]));
    }
    ensure!(talk.now().await?["messages"] == json!([]) && chat.model.requests().is_empty());
    Ok(())
}
