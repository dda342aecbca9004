//! Titles that the model writes.

use anyhow::Result;
use headwater_tests::host;
use serde_json::{Value, json};

use super::Chat;

/// The requests for a title.
fn asked(chat: &Chat) -> Vec<Value> {
    let requests = chat.model.requests().into_iter().map(|request| request.body);
    let is_title = |body: &Value| {
        body["instructions"].as_str().is_some_and(|text| text.starts_with("You write the title"))
    };
    requests.filter(is_title).collect()
}

#[tokio::test]
async fn the_model_writes_the_title_after_the_first_answer_and_no_turn_waits_for_it() -> Result<()> {
    let script = json!({"title": {"text": "{{hold}}\"Two Files.\"\nmore"}, "turns": [{"text": "There are two."}, {"text": "Yes."}]});
    let chat = Chat::new(&script).await?;
    let path = chat.conversation(&json!({})).await?;
    let first = "how many files are there in this folder, and which of them are larger than the others?";
    let now = chat.ask(&path, first).await?;
    let cut = "how many files are there in this folder, and which of them…";
    assert_eq!(now["title"], cut, "until the model has written one");
    host::eventually("the title is asked for", async || chat.model.waiting() == 1).await?;
    // The next turn ends while the endpoint holds the title: the request is given up.
    let now = chat.ask(&path, "really?").await?;
    assert_eq!((&now["title"], &now["turn"]["outcome"]), (&json!(cut), &json!("completed")));
    let gone_and_asked_again = async || asked(&chat).len() == 2 && chat.model.waiting() == 1;
    host::eventually("it is asked for again", gone_and_asked_again).await?;
    release(&chat).await?;
    let now = chat.until(&path, "the title", |now| now["title"] == "Two Files").await?;
    assert_eq!(now["turn"]["outcome"], "completed");
    let body = &asked(&chat)[1];
    assert!(body["max_output_tokens"].as_u64().is_some_and(|most| most <= 1024), "{body}");
    assert!(body["tools"].is_null() && body.to_string().contains("which of them are larger"), "{body}");
    // It is written once.
    chat.ask(&path, "sure?").await.ok();
    assert_eq!(asked(&chat).len(), 2);
    Ok(())
}

/// Lets the endpoint go on.
async fn release(chat: &Chat) -> Result<()> {
    let address = chat.model.url().replace("http://", "");
    let control = headwater_tests::Api::new(&address, "");
    control.post("/control/release", &Value::Null).await.map(drop)
}

#[tokio::test]
async fn a_title_of_a_person_stays_and_without_a_title_of_the_model_the_first_message_stays() -> Result<()> {
    let script = json!({"title": {"text": "Of the model"}, "turns": [{"text": "Hello!"}]});
    let chat = Chat::new(&script).await?;
    // The same words as the message would give: it is the person's all the same.
    let mine = chat.conversation(&json!({"title": "hello"})).await?;
    chat.ask(&mine, "hello").await?;
    let other = chat.conversation(&json!({})).await?;
    chat.ask(&other, "hello").await?;
    chat.until(&other, "the title", |now| now["title"] == "Of the model").await?;
    assert_eq!(chat.api.json(&mine).await?["title"], "hello");
    assert_eq!(asked(&chat).len(), 1);

    // Nobody sees a failure.
    let fails = json!({"title": {"fail": {"status": 503, "times": 9}}, "turns": [{"text": "Hello!"}]});
    chat.model.set_script(fails.to_string().parse().map_err(anyhow::Error::msg)?);
    let path = chat.conversation(&json!({})).await?;
    let before = asked(&chat).len();
    chat.ask(&path, "hello again").await?;
    host::eventually("the title is asked for", async || asked(&chat).len() == before + 1).await?;
    let now = chat.api.json(&path).await?;
    assert_eq!((&now["title"], &now["turn"]["outcome"]), (&json!("hello again"), &json!("completed")));
    Ok(())
}
