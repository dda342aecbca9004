//! Exports of conversations.

use anyhow::{Context, Result};
use headwater_tests::http::{error_code, json_of};
use serde_json::{Value, json};

use super::{Chat, said};

const FORMATS: [(&str, &str, &str); 3] = [
    ("markdown", "text/markdown; charset=utf-8", "md"),
    ("json", "application/json", "json"),
    ("ipynb", "application/x-ipynb+json", "ipynb"),
];

#[tokio::test]
async fn a_conversation_is_exported_as_it_is_stored_for_everybody_who_may_read_it() -> Result<()> {
    let call = json!({"name": "exec_command", "arguments": {"cmd": "echo from the program"}});
    let script = json!([
        {"reasoning": "Hm", "text": "I look: größere 🦀 files.", "tool_calls": [call], "chunk_bytes": 7},
        {"text": "Done."},
    ]);
    let chat = Chat::new(&script).await?;
    let path = chat.conversation(&json!({"id": "cnv:export"})).await?;
    let stored = chat.ask(&path, "Look, please").await?;
    let export = format!("{path}/export");
    for (format, media_type, ending) in FORMATS {
        let answer = chat.api.get(&format!("{export}?format={format}")).await?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some(media_type));
        let name = format!("attachment; filename=\"cnv-export.{ending}\"");
        assert_eq!(answer.header("content-disposition"), Some(name.as_str()));
        let text = answer.text();
        for part in ["Look, please", "größere 🦀 files.", "from the program", "Done."] {
            assert!(text.contains(part), "{format}: {text}");
        }
        assert!(!text.contains("encrypted-"), "what the provider wants back is left out");
    }
    let file = chat.api.json(&format!("{export}?format=json")).await?;
    let without_opaque = |mut messages: Value| {
        for message in messages.as_array_mut().into_iter().flatten() {
            for part in message["parts"].as_array_mut().into_iter().flatten() {
                part.as_object_mut().map(|part| part.remove("opaque"));
            }
        }
        messages
    };
    assert_eq!(without_opaque(file["messages"].clone()), without_opaque(stored["messages"].clone()));
    assert_eq!(said(&stored).concat(), "I look: größere 🦀 files.Done.");
    let log = chat.api.json(&format!("{path}/log")).await?;
    assert_eq!(file["log"].as_array().map(Vec::len), log["items"].as_array().map(Vec::len));
    let notebook = chat.api.json(&format!("{export}?format=ipynb")).await?;
    let cells = notebook["cells"].as_array().context("no cells")?;
    assert!(cells.iter().any(|cell| cell["source"] == "%%bash\necho from the program"), "{notebook}");

    // Readers and links may, others learn nothing.
    let (bob, eve) = (chat.server.user("bob", "reader")?, chat.server.user("eve", "member")?);
    let to = format!("{export}?format=markdown");
    assert_eq!(error_code(&eve.get(&to).await?, 404)?, "not_found");
    assert_eq!(error_code(&bob.get(&to).await?, 404)?, "not_found");
    json_of(&chat.api.put(&format!("{path}/members/bob"), &json!({"role": "viewer"})).await?, 200)?;
    assert_eq!(bob.get(&to).await?.status, 200);
    let link = chat.api.post_ok(&format!("{path}/shares"), &json!({"access": "read"})).await?;
    let secret = link["token"].as_str().context("no secret")?;
    let holder = chat.server.api_with(secret);
    assert_eq!(holder.get(&to).await?.status, 200);
    assert_eq!(chat.server.anonymous().get(&to).await?.status, 401);
    let other = chat.conversation(&json!({})).await?;
    assert_eq!(holder.get(&format!("{other}/export")).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_format_that_does_not_exist_is_refused() -> Result<()> {
    let chat = Chat::new(&json!([])).await?;
    let path = chat.conversation(&json!({})).await?;
    for query in ["?format=pdf", "?format=json&format=json", "?format=json&more=1"] {
        let answer = chat.api.get(&format!("{path}/export{query}")).await?;
        assert_eq!(error_code(&answer, 400)?, "invalid_request", "{query}: {}", answer.text());
    }
    // An empty one is a file, too.
    assert_eq!(chat.api.get(&format!("{path}/export")).await?.text(), "# Conversation\n");
    Ok(())
}
