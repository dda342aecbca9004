//! The search of a model's provider.

use anyhow::Result;
use headwater_tests::http::{error_code, json_of};
use serde_json::{Value, json};

use super::{Chat, said};

fn script() -> Value {
    let pages = json!({"https://example.org/rust": "Rust [1.0](x)", "javascript:alert(1)": "no"});
    json!({"turns": [
        {"searches": [{"query": "newest rust", "pages": pages}], "text": "It is 1.0.", "chunk_bytes": 5},
        {"text": "As I said."},
    ]})
}

#[tokio::test]
async fn a_conversation_that_allows_it_has_the_search_of_the_provider_and_shows_its_sources() -> Result<()> {
    for (api, kind) in [("openai-responses", "web_search"), ("anthropic", "web_search_20250305")] {
        let chat = Chat::with(api, &script(), "").await?;
        let declared = |at: usize| {
            let body = &chat.model.requests()[at].body;
            body["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["type"] == kind))
        };
        let path = chat.conversation(&json!({"web_search": true})).await?;
        let now = chat.ask(&path, "Which Rust is the newest?").await?;
        assert_eq!(now["turn"]["outcome"], "completed", "{now}");
        assert!(declared(0) && now["web_search"] == true, "{api}");
        let expected = [
            "[The provider of the model has searched the web for: newest rust]",
            "It is 1.0.",
            "Sources:\n\n- [Rust \\[1\\.0\\]\\(x\\)](<https://example.org/rust>)",
        ];
        assert_eq!(said(&now), expected, "{api}");
        // The next prompt is one that the provider accepts, and the search is off if the person says so.
        json_of(&chat.api.patch(&path, &json!({"web_search": false})).await?, 200)?;
        let now = chat.ask(&path, "Sure?").await?;
        assert_eq!(said(&now).last().map(String::as_str), Some("As I said."));
        assert!(!declared(1), "{api}");
        let plain = chat.conversation(&json!({})).await?;
        assert_eq!(chat.api.json(&plain).await?["web_search"], false, "it is off by default");
    }
    Ok(())
}

#[tokio::test]
async fn a_model_whose_api_has_no_search_is_refused_by_name() -> Result<()> {
    let chat = Chat::new(&script()).await?;
    let refused = chat.api.post("/v1/conversations", &json!({"web_search": true, "model": "plain"})).await?;
    assert_eq!(error_code(&refused, 400)?, "invalid_request");
    assert!(
        refused.text().contains("`plain`") && refused.text().contains("openai-responses"),
        "{}",
        refused.text()
    );
    let path = chat.conversation(&json!({"web_search": true})).await?;
    for (to, body) in [("", json!({"model": "plain"})), ("/messages", json!({"model": "plain", "text": "x"}))]
    {
        let to = format!("{path}{to}");
        let answer = if body["text"].is_null() {
            chat.api.patch(&to, &body).await?
        } else {
            chat.api.post(&to, &body).await?
        };
        assert_eq!(error_code(&answer, 400)?, "invalid_request", "{to}");
    }
    let both = json!({"model": "plain", "web_search": false});
    json_of(&chat.api.patch(&path, &both).await?, 200)?;
    Ok(())
}
