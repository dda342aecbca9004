//! The requests: what each API gets of a prompt.

use serde_json::json;

use super::super::opaque;
use super::super::quirks::Quirks;
use super::*;

/// A prompt with everything: a conversation with images, reasoning, parallel calls and results.
fn whole() -> Prompt {
    let text = |text: &str| Content::Text(text.to_owned());
    let image = || Content::Image { media_type: "image/png".to_owned(), bytes: vec![1, 2, 3] };
    let call = |id: &str, arguments: &str| Item::ToolCall {
        id: id.to_owned(),
        name: "look".to_owned(),
        arguments: arguments.to_owned(),
    };
    let result = |id: &str, content, is_error| Item::ToolResult {
        id: id.to_owned(),
        name: "look".to_owned(),
        content,
        is_error,
    };
    let reasoning = |model: &str| Item::Reasoning {
        text: "Hm".to_owned(),
        opaque: Some(opaque::wrap(model, json!({"signature": "S", "encrypted_content": "E"}))),
    };
    Prompt {
        system: "Be brief.".to_owned(),
        items: vec![
            Item::User(vec![text("What is this?"), image()]),
            reasoning("m"),
            reasoning("another"),
            Item::Reasoning { text: "unsigned".to_owned(), opaque: None },
            Item::Text("I look.".to_owned()),
            call("a|1", "{\"x\":1}"),
            call("b", "{broken"),
            result("a|1", vec![text("an image"), image()], false),
            result("b", vec![text("not JSON")], true),
            Item::User(vec![text("")]),
            Item::User(vec![text("And?")]),
        ],
        tools: vec![ToolSpec {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            schema: json!({"type": "object"}),
        }],
        cache_key: Some("con_1".to_owned()),
        ..Prompt::default()
    }
}

#[test]
fn chat_completions_get_text_and_calls_and_the_images_of_results_after_all_results() {
    let body = chat::body(&whole(), &config(Api::Chat, "http://x"), Quirks::default());
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}});
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    let expected = json!({
        "model": "scripted", "stream": true, "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
            {"role": "assistant", "content": "I look.", "tool_calls": [call("a|1", "{\"x\":1}"), call("b", "{broken")]},
            {"role": "tool", "tool_call_id": "a|1", "content": "an image"},
            {"role": "tool", "tool_call_id": "b", "content": "not JSON"},
            {"role": "user", "content": [{"type": "text", "text": "The image that `look` returned:"}, image]},
            {"role": "user", "content": ""},
            {"role": "user", "content": "And?"},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}],
    });
    assert_eq!(body, expected);
}

#[test]
fn responses_get_their_own_encrypted_reasoning_back_and_store_nothing() {
    let body = responses::body(&whole(), &config(Api::Responses, "http://x"), "m", Quirks::default());
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AQID"});
    let user = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let expected = json!({
        "model": "scripted", "stream": true, "store": false, "instructions": "Be brief.",
        "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}, "prompt_cache_key": "con_1",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is this?"}, image]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "E"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "a|1", "name": "look", "arguments": "{\"x\":1}"},
            {"type": "function_call", "call_id": "b", "name": "look", "arguments": "{broken"},
            {"type": "function_call_output", "call_id": "a|1", "output": [{"type": "input_text", "text": "an image"}, image]},
            {"type": "function_call_output", "call_id": "b", "output": "not JSON"},
            user(""),
            user("And?"),
        ],
        "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": false}],
        "parallel_tool_calls": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn messages_alternate_have_signed_thinking_and_mark_what_the_provider_shall_cache() {
    let body = messages::body(&whole(), &config(Api::Messages, "http://x"), "m");
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let cache = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "scripted", "stream": true, "max_tokens": 16384,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": cache}],
        "messages": [
            {"role": "user", "content": [text("What is this?"), image]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "S"},
                text("I look."),
                {"type": "tool_use", "id": "a_1", "name": "look", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "look", "input": {"invalid_arguments": "{broken"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a_1", "content": [text("an image"), image]},
                {"type": "tool_result", "tool_use_id": "b", "content": [text("not JSON")], "is_error": true},
                {"type": "text", "text": "And?", "cache_control": cache},
            ]},
        ],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
    });
    assert_eq!(body, expected);
}

#[test]
fn the_bound_of_an_answer_has_the_name_that_the_endpoint_knows() {
    let bounded = |api| ModelConfig { max_output_tokens: Some(7), ..config(api, "http://x") };
    let chat = |quirks| chat::body(&prompt("x"), &bounded(Api::Chat), quirks);
    assert_eq!(chat(Quirks::default())["max_tokens"], 7);
    let newer = chat(Quirks { completion_tokens: true, no_stream_options: true, ..Quirks::default() });
    assert_eq!((&newer["max_completion_tokens"], &newer["max_tokens"]), (&json!(7), &Value::Null));
    assert_eq!(newer["stream_options"], Value::Null);
    let responses = responses::body(&prompt("x"), &bounded(Api::Responses), "m", Quirks::default());
    assert_eq!(responses["max_output_tokens"], 7);
    assert_eq!(messages::body(&prompt("x"), &bounded(Api::Messages), "m")["max_tokens"], 7);
}

#[test]
fn an_address_without_a_path_gets_the_usual_one() {
    let url = |base: &str| config(Api::Chat, base).url("models").map(String::from);
    assert_eq!(url("http://localhost:11434").unwrap(), "http://localhost:11434/v1/models");
    assert_eq!(url("https://x/v1/").unwrap(), "https://x/v1/models");
    assert_eq!(url("https://x/openai/v1?api-version=1").unwrap(), "https://x/openai/v1/models?api-version=1");
    for bad in ["localhost", "ftp://x", "https://user:key@x/v1", ""] {
        assert!(url(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_configuration_with_a_mistake_is_refused_and_names_it() {
    let good = || config(Api::Chat, "http://x");
    let check = |models: &[(&str, ModelConfig)]| {
        let models = models.iter().map(|(name, config)| ((*name).to_owned(), config.clone())).collect();
        check_configs(&models).err().unwrap_or_default()
    };
    assert_eq!(check(&[("fast-1.5_x", good()), ("b", ModelConfig { default: true, ..good() })]), "");
    let both = ModelConfig { api_key_env: Some("K".into()), api_key_file: Some("/k".into()), ..good() };
    let header = ModelConfig { headers: [("a b".to_owned(), String::new())].into(), ..good() };
    let default = || ModelConfig { default: true, ..good() };
    for (models, says) in [
        (vec![("Fast", good())], "models.Fast"),
        (vec![("", good())], "a name has"),
        (vec![("x", config(Api::Chat, "x"))], "models.x: `base_url`"),
        (vec![("x", both)], "either `api_key_env` or `api_key_file`"),
        (vec![("x", header)], "`headers.a b`"),
        (vec![("x", ModelConfig { context_tokens: Some(0), ..good() })], "more than 0"),
        (vec![("a", default()), ("b", default())], "models.b: `a` is the default already"),
    ] {
        let error = check(&models);
        assert!(error.contains(says), "{error}");
    }
}
