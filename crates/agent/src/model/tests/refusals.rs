//! What refusals, errors inside answers and answers in other forms mean.

use serde_json::json;

use super::*;

#[test]
fn a_refusal_is_of_the_kind_that_decides_what_can_be_done() {
    use ModelErrorKind::{ContextTooLong, Overloaded, RateLimited, Refused, Unauthorized};
    let error = |code: &str, message: &str| json!({"error": {"code": code, "message": message}}).to_string();
    for (status, body, kind) in [
        (401, error("invalid_api_key", "no"), Unauthorized),
        (403, String::new(), Unauthorized),
        (404, "404 page not found".to_owned(), Refused),
        (400, error("context_length_exceeded", "x"), ContextTooLong),
        (400, error("", "This model's maximum context length is 8192 tokens."), ContextTooLong),
        (400, json!({"error": "the prompt is too long: 9 tokens"}).to_string(), ContextTooLong),
        (413, String::new(), ContextTooLong),
        (429, error("rate_limit_exceeded", "slow down"), RateLimited),
        (429, error("insufficient_quota", "pay"), Refused),
        (500, "<html>".to_owned(), Overloaded),
        (529, json!({"type": "error", "error": {"type": "overloaded_error"}}).to_string(), Overloaded),
    ] {
        let fault = Fault::refusal(status, body.as_bytes(), None);
        assert_eq!(fault.kind, kind, "{status} {body}");
    }
}

#[test]
fn an_error_says_what_happened_and_what_to_do_in_one_line() {
    let long = format!("first line.\nsecond \u{1b}[31mline {}", "x".repeat(1000));
    let body = json!({"error": {"message": long}}).to_string();
    let error = Fault::refusal(400, body.as_bytes(), None).into_error("m", &key::Secrets::default());
    let text = error.to_string();
    assert!(text.starts_with("the model `m` refuses the request: first line. second [31mline x"), "{text}");
    assert!(text.ends_with("…; check `api`, `base_url` and `model` of the configuration"), "{text}");
    assert!(text.chars().count() < 450 && !text.chars().any(char::is_control), "{text}");
}

#[test]
fn an_error_inside_an_answer_ends_it_after_what_came_before() {
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: {\"error\":{\"message\":\"gone\",\"code\":502}}\n\n";
    let responses = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hello\"}\n\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"gone\"}}}\n\n";
    let messages = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hello\"}}\n\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"gone\"}}\n\n";
    for (api, text) in APIS.into_iter().zip([chat, responses, messages]) {
        let (stored, fault) = decode(api, [text.as_bytes()]);
        assert_eq!((stored.parts, stored.finish), (vec!["text: Hello".to_owned()], None), "{api:?}");
        let fault = fault.unwrap();
        assert!(fault.kind == ModelErrorKind::Overloaded && fault.mentions(&["gone"]), "{fault:?}");
    }
    let limit = r#"data: {"type":"error","code":"rate_limit_exceeded","message":"slow down"}"#;
    let (_, fault) = decode(Api::Responses, [limit.as_bytes(), b"\n\n"]);
    assert_eq!(fault.unwrap().kind, ModelErrorKind::RateLimited);
}

#[test]
fn garbage_and_web_pages_and_endless_lines_are_refused() {
    let endless = vec![b'x'; 1 << 20];
    for api in APIS {
        let kind = |pieces: &[&[u8]]| decode(api, pieces.iter().copied()).1.map(|fault| fault.kind);
        assert_eq!(kind(&[b"<html>"]), Some(ModelErrorKind::Refused));
        assert_eq!(kind(&[b"data: {\"a\n\n"]), Some(ModelErrorKind::BrokenOff));
        assert_eq!(kind(&[b"{\"choices\": "]), Some(ModelErrorKind::BrokenOff));
        assert_eq!(kind(&[b"{}"]), Some(ModelErrorKind::BrokenOff));
        assert_eq!(kind(&[]), Some(ModelErrorKind::BrokenOff));
        let line = std::iter::once(b"data: ".as_slice()).chain(std::iter::repeat_n(endless.as_slice(), 33));
        assert_eq!(decode(api, line).1.map(|fault| fault.kind), Some(ModelErrorKind::BrokenOff));
    }
}

#[test]
fn calls_that_endpoints_number_badly_are_told_apart() {
    let call = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{text}]}}}}]}}\n\n");
    let all = [
        call(r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#),
        call(r#"{"index":0,"id":"b","function":{"name":"x","arguments":{"k":1}}}"#),
        call(r#"{"id":"b","function":{"name":"y","arguments":"{"}}"#),
        call(r#"{"function":{"arguments":"}"}}"#),
        call(r#"{"index":7,"id":"a","function":{"name":"z"}}"#),
        "data: [DONE]\n\n".to_owned(),
    ];
    let (stored, fault) = decode(Api::Chat, all.iter().map(String::as_bytes));
    assert_eq!(fault, None);
    // `b` goes on without its index; an id that is in use is replaced.
    assert_eq!(stored.parts, ["a x {}", "b x {\"k\":1}{}", "made-up z {}"]);
    assert_eq!(stored.finish, Some(FinishReason::ToolCalls));
}

#[test]
fn an_id_that_the_conversation_has_already_is_replaced() {
    let call =
        |id: &str| Item::ToolCall { id: id.to_owned(), name: "x".to_owned(), arguments: "{}".to_owned() };
    let prompt = Prompt { items: vec![call("call_0")], ..Prompt::default() };
    let mut ids = CallIds::of(&prompt);
    let all = [Some("call_0"), Some("call_1"), Some("call_1"), Some(""), None].map(|id| ids.unique(id));
    assert_eq!(all[1], "call_1");
    let different: std::collections::BTreeSet<_> =
        all.iter().chain([&"call_0".to_owned()]).cloned().collect();
    assert_eq!(different.len(), 6, "{all:?}");
}
