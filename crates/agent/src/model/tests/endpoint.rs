//! Models against an endpoint that follows a script.

use std::time::Duration;

use serde_json::json;

use super::super::stream::Timeouts;
use super::*;

fn provider(api: Api, endpoint: &ScriptedModel) -> Provider {
    Provider::new("m", config(api, &endpoint.base_url()))
}

fn text(text: &str) -> Vec<String> {
    vec![format!("text: {text}")]
}

#[tokio::test]
async fn every_api_streams_reasoning_text_and_parallel_calls_with_their_usage() {
    let endpoint = scripted(json!([{
        "reasoning": "Two files?", "text": "I look at größere 🦀 files.", "chunk_bytes": 3,
        "tool_calls": [
            {"id": "a", "name": "ls", "arguments": {"path": "/"}},
            {"id": "b", "name": "pwd", "arguments": {}},
        ],
        "usage": {"input_tokens": 100, "cached_tokens": 60, "output_tokens": 7},
    }]))
    .await;
    for api in APIS {
        for is_plain in [false, true] {
            let mut script: headwater_scripted_model::Script = "[]".parse().unwrap();
            script.turns = turns(is_plain);
            endpoint.set_script(script);
            let (stored, error) = ask(&provider(api, &endpoint), &prompt("look")).await;
            assert_eq!(error, None, "{api:?}");
            assert!(stored.parts[0].starts_with("reasoning: Two files?"), "{stored:?}");
            let rest = ["text: I look at größere 🦀 files.", "a ls {\"path\":\"/\"}", "b pwd {}"];
            assert_eq!(stored.parts[1..], rest, "{api:?}");
            assert_eq!(stored.finish, Some(FinishReason::ToolCalls));
            let usage = stored.usage.unwrap();
            assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (100, 60, 7));
        }
    }
}

fn turns(is_plain: bool) -> Vec<headwater_scripted_model::Turn> {
    serde_json::from_value(json!([{
        "reasoning": "Two files?", "text": "I look at größere 🦀 files.", "chunk_bytes": 3, "is_plain": is_plain,
        "tool_calls": [
            {"id": "a", "name": "ls", "arguments": {"path": "/"}},
            {"id": "b", "name": "pwd", "arguments": {}},
        ],
        "usage": {"input_tokens": 100, "cached_tokens": 60, "output_tokens": 7},
    }]))
    .unwrap()
}

#[tokio::test]
async fn the_reasoning_of_an_answer_goes_back_to_the_same_model_with_its_signature() {
    let endpoint = scripted(json!([{"reasoning": "Hm", "text": "first"}, {"text": "second"}])).await;
    for (api, sent) in [(Api::Responses, "encrypted-2-bytes"), (Api::Messages, "signature-of-2-bytes")] {
        let model = provider(api, &endpoint);
        let mut prompt = prompt("think");
        let events: Vec<_> = model.call(&prompt).await.unwrap().map(Result::unwrap).collect().await;
        let opaque = events.iter().find_map(|event| match event {
            ModelEvent::Opaque { opaque, .. } => Some(opaque.clone()),
            _ => None,
        });
        assert!(opaque.is_some(), "{api:?}");
        prompt.items.push(Item::Reasoning { text: "Hm".to_owned(), opaque });
        prompt.items.push(Item::Text("first".to_owned()));
        prompt.items.push(Item::User(vec![Content::Text("more".to_owned())]));
        assert_eq!(ask(&model, &prompt).await.0.parts, text("second"), "{api:?}");
        assert!(endpoint.requests().last().unwrap().body.to_string().contains(sent), "{api:?}");
    }
}

#[tokio::test]
async fn a_call_that_fails_before_its_first_event_is_repeated() {
    for fail in [
        json!({"fail": {"status": 429, "retry_after": 0, "times": 2}}),
        json!({"fail": {"status": 503, "headers": {"retry-after-ms": "1"}, "times": 2}}),
        json!({"break_after_bytes": 1}),
    ] {
        let mut turn = fail.clone();
        turn["text"] = json!("at last");
        let endpoint = scripted(json!([turn])).await;
        for api in APIS {
            let before = endpoint.requests().len();
            endpoint.set_script(json!([turn]).to_string().parse().unwrap());
            let (stored, error) = ask(&provider(api, &endpoint), &prompt("x")).await;
            assert_eq!((stored.parts, error), (text("at last"), None), "{api:?} {fail}");
            let attempts = endpoint.requests().len() - before;
            assert_eq!(attempts, if fail["fail"].is_null() { 2 } else { 3 });
        }
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_tried_once_and_bounded() {
    let endpoint = scripted(json!([{"fail": {"status": 503, "times": 9}}])).await;
    for (api, bound) in
        [(Api::Chat, "max_tokens"), (Api::Responses, "max_output_tokens"), (Api::Messages, "max_tokens")]
    {
        let before = endpoint.requests().len();
        let asked = Prompt { is_tried_once: true, max_output_tokens: Some(100), ..prompt("x") };
        let error = ask(&provider(api, &endpoint), &asked).await.1.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Overloaded, "{api:?}");
        assert_eq!(endpoint.requests().len() - before, 1, "{api:?}");
        assert_eq!(endpoint.requests()[before].body[bound], 100);
    }
}

#[tokio::test]
async fn a_search_of_the_provider_is_a_notice_and_its_sources_follow_the_text() {
    let pages = json!({"https://example.org/a": "A", "https://example.org/b": "B"});
    for is_plain in [false, true] {
        let endpoint = scripted(json!([{
            "text": "It is so.", "searches": [{"query": "what is so", "pages": pages}, {"query": "more"}],
            "chunk_bytes": 3, "is_plain": is_plain,
        }]))
        .await;
        for api in [Api::Responses, Api::Messages] {
            let asked = Prompt { web_search: true, ..prompt("x") };
            let (stored, error) = ask(&provider(api, &endpoint), &asked).await;
            assert_eq!(error, None, "{api:?}");
            let sources = "text: Sources:\n\n- [A](<https://example.org/a>)\n- [B](<https://example.org/b>)";
            assert_eq!(stored.parts, ["text: It is so.", sources], "{api:?} {is_plain}");
            assert_eq!(stored.notices.len(), 2);
            assert!(
                stored.notices[0].ends_with("for: what is so") && stored.notices[1].ends_with("for: more")
            );
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_its_first_event_keeps_what_came_and_is_not_repeated() {
    for cause in [json!({"break_after_bytes": 3000}), json!({"error": "out of order"})] {
        let mut turn = json!({"text": "word ".repeat(100)});
        turn.as_object_mut().unwrap().extend(cause.as_object().unwrap().clone());
        let endpoint = scripted(json!([turn])).await;
        for api in APIS {
            let before = endpoint.requests().len();
            endpoint.set_script(json!([turn]).to_string().parse().unwrap());
            let (stored, error) = ask(&provider(api, &endpoint), &prompt("x")).await;
            assert!(stored.parts[0].starts_with("text: word "), "{api:?} {stored:?}");
            let kind = error.unwrap().kind;
            let is_broken = cause["error"].is_null();
            assert_eq!(kind, if is_broken { ModelErrorKind::BrokenOff } else { ModelErrorKind::Overloaded });
            assert_eq!(endpoint.requests().len() - before, 1);
        }
    }
}

#[tokio::test]
async fn a_silent_endpoint_is_given_up_and_a_slow_one_is_not() {
    let short =
        |first, idle| Timeouts { first: Duration::from_millis(first), idle: Duration::from_millis(idle) };
    let endpoint = scripted(json!([{"text": "before {{hold}}after"}])).await;
    for api in APIS {
        // Long for the beginning, short for what follows.
        let model = provider(api, &endpoint).with_timeouts(short(60_000, 50));
        let (stored, error) = ask(&model, &prompt("x")).await;
        assert_eq!(stored.parts[0].trim_end(), "text: before", "{api:?}");
        let error = error.unwrap();
        assert!(error.kind == ModelErrorKind::BrokenOff && error.message.contains("nothing came"), "{error}");
    }
    endpoint.set_script(json!([{"text": "one two three", "delay_ms": 30}]).to_string().parse().unwrap());
    let model = provider(Api::Chat, &endpoint).with_timeouts(short(60_000, 30_000));
    assert_eq!(ask(&model, &prompt("x")).await.0.parts, text("one two three"));
}

#[tokio::test]
async fn what_an_endpoint_refuses_to_get_is_left_out_from_then_on() {
    let refuse =
        |message: &str| json!([{"text": "fine", "fail": {"status": 400, "message": message, "times": 1}}]);
    for (api, message, left_out) in [
        (Api::Chat, "stream_options: extra fields not permitted", "stream_options"),
        (Api::Responses, "Encrypted content is not supported with this model.", "include"),
    ] {
        let endpoint = scripted(refuse(message)).await;
        let model = provider(api, &endpoint);
        assert_eq!(ask(&model, &prompt("x")).await.0.parts, text("fine"), "{api:?}");
        ask(&model, &prompt("y")).await;
        let has: Vec<_> =
            endpoint.requests().iter().map(|request| !request.body[left_out].is_null()).collect();
        assert_eq!(has, [true, false, false]);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays() {
    let other = scripted(json!([{"text": "elsewhere"}])).await;
    let location = format!("{}/chat/completions", other.base_url());
    let fail = json!({"status": 307, "headers": {"location": location}});
    let endpoint = scripted(json!([{"text": "x", "fail": fail}])).await;
    let error = ask(&provider(Api::Chat, &endpoint), &prompt("x")).await.1.unwrap();
    assert!(error.kind == ModelErrorKind::Refused && error.message.contains("redirects"), "{error}");
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn garbage_from_an_endpoint_is_an_error_and_not_an_answer() {
    for (raw, kind) in [
        ("<html>welcome</html>", ModelErrorKind::Refused),
        (
            "{\"error\": {\"type\": \"invalid_request_error\", \"message\": \"no such model\"}}",
            ModelErrorKind::Refused,
        ),
    ] {
        let endpoint = scripted(json!([{"raw": raw}])).await;
        for api in APIS {
            let (stored, error) = ask(&provider(api, &endpoint), &prompt("x")).await;
            assert_eq!((stored.parts.len(), error.map(|error| error.kind)), (0, Some(kind)), "{api:?} {raw}");
        }
    }
}

#[tokio::test]
async fn ending_the_stream_ends_the_call() {
    let endpoint = scripted(json!([{"text": "begun {{hold}}never"}])).await;
    let mut stream = provider(Api::Messages, &endpoint).call(&prompt("x")).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text { .. }))));
    let waits = |count| {
        let endpoint = &endpoint;
        async move {
            while endpoint.waiting() != count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    waits(1).await;
    drop(stream);
    waits(0).await;
}
