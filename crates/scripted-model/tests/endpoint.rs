//! The endpoint as its users see it.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use std::io::Read;
use std::process::{Command, Stdio};

use headwater_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

async fn start(script: Value) -> ScriptedModel {
    ScriptedModel::start(script.to_string().parse::<Script>().unwrap()).await.unwrap()
}

/// A client that needs no certificates: the endpoint is on this machine.
fn client() -> reqwest::Client {
    // Fails if another test has installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

async fn post(model: &ScriptedModel, path: &str, body: &Value) -> reqwest::Response {
    client().post(format!("{}{path}", model.base_url())).json(body).send().await.unwrap()
}

/// The data of all events.
async fn events(model: &ScriptedModel, path: &str, body: &Value) -> Vec<Value> {
    let text = post(model, path, body).await.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// The same question in the three dialects, after `answers` answers.
fn question(path: &str, answers: usize) -> Value {
    let mut said = vec![json!({"role": "user", "content": "hello"})];
    for number in 0..answers {
        said.push(json!({"role": "assistant", "content": format!("answer {number}")}));
        said.push(json!({"role": "user", "content": "more"}));
    }
    let name = if path == "/responses" { "input" } else { "messages" };
    json!({"model": "m", "stream": true, name: said})
}

const PATHS: [&str; 3] = ["/responses", "/chat/completions", "/messages"];

#[tokio::test]
async fn a_request_is_answered_by_its_turn_in_every_dialect() {
    let model = start(json!([
        {"text": "first turn"},
        {"text": "I look.", "reasoning": "hm", "tool_calls": [{"name": "look", "arguments": {"at": 1}}]},
    ]))
    .await;
    for path in PATHS {
        let first = events(&model, path, &question(path, 0)).await;
        assert!(!json!(first).to_string().contains("look"), "{path}: {first:?}");
        let second = json!(events(&model, path, &question(path, 1)).await).to_string();
        for part in ["hm", "I ", "look.", r#"\"at\":1"#, "call_"] {
            assert!(second.contains(part), "{path}: {part}: {second}");
        }
        let third = post(&model, path, &question(path, 2)).await;
        assert_eq!(third.status(), 400);
        assert!(third.text().await.unwrap().contains("script_ended"));
        let mut plain = question(path, 1);
        plain["stream"] = json!(false);
        let plain: Value = post(&model, path, &plain).await.json().await.unwrap();
        assert!(plain.to_string().contains("I look."), "{plain}");
    }
    assert_eq!(model.requests().len(), 12);
}

#[tokio::test]
async fn a_rule_answers_requests_that_match() {
    let model = start(json!({
        "rules": [{"when": {"last_user_contains": "more"}, "turns": [{"text": "since then"}]}],
        "turns": [{"text": "otherwise"}],
    }))
    .await;
    let text = |answers| {
        let model = &model;
        async move { json!(events(model, "/messages", &question("/messages", answers)).await).to_string() }
    };
    assert!(text(0).await.contains("otherwise"));
    assert!(text(3).await.contains("since "), "the answers after the last message count");
}

#[tokio::test]
async fn failures_and_breaks_happen_once_in_a_conversation_and_then_the_turn_is_answered() {
    let script = json!([{"text": "words and more words", "break_after_bytes": 200, "chunk_bytes": 7,
        "fail": {"status": 429, "retry_after": 2, "times": 2}}]);
    let model = start(script.clone()).await;
    for path in PATHS {
        model.set_script(script.to_string().parse().unwrap()); // forgets the failures
        for _ in 0..2 {
            let refused = post(&model, path, &question(path, 0)).await;
            assert_eq!(
                (refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()),
                (429, "2")
            );
        }
        let broken = post(&model, path, &question(path, 0)).await;
        assert!(broken.status().is_success() && broken.text().await.is_err());
        assert!(post(&model, path, &question(path, 0)).await.text().await.unwrap().contains("words"));
    }
}

#[tokio::test]
async fn a_held_answer_waits_in_the_middle_until_it_is_released() {
    let model = start(json!([{"text": "before {{hold}}after {{now_ms}} {{now_us}}"}])).await;
    let mut response = post(&model, "/chat/completions", &question("/chat/completions", 0)).await;
    let mut text = String::new();
    while !text.contains("before ") {
        text.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(!text.contains("after"));
    assert_eq!(model.release().await, 1);
    let rest = response.text().await.unwrap();
    assert!(rest.contains("after") && !rest.contains("now_"), "{rest}");
}

#[tokio::test]
async fn a_wrong_key_is_refused() {
    let model = start(json!({"key": "k", "turns": [{"text": "x"}]})).await;
    let client = client();
    let url = format!("{}/models", model.base_url());
    assert_eq!(client.get(&url).send().await.unwrap().status(), 401);
    for (name, value) in [("x-api-key", "k"), ("authorization", "Bearer k")] {
        assert_eq!(client.get(&url).header(name, value).send().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn the_binary_prints_its_address_and_is_controlled_over_http() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .arg(r#"[{"text": "x", "hold": true}]"#)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = [0_u8; 64];
    let length = child.stdout.as_mut().unwrap().read(&mut address).unwrap();
    let url = std::str::from_utf8(&address[..length]).unwrap().trim().to_owned();
    let client = client();
    let asked = tokio::spawn({
        let (client, url) = (client.clone(), format!("{url}/v1/messages"));
        async move { client.post(url).json(&question("/messages", 0)).send().await.unwrap().text().await.unwrap() }
    });
    let released = client.post(format!("{url}/control/release")).send().await.unwrap();
    assert_eq!(released.json::<Value>().await.unwrap(), json!({"released": 1}));
    assert!(asked.await.unwrap().contains("message_stop"));
    let got: Value =
        client.get(format!("{url}/control/requests")).send().await.unwrap().json().await.unwrap();
    assert_eq!((&got[0]["path"], &got[0]["body"]["model"]), (&json!("/v1/messages"), &json!("m")));
    let put = |text: &'static str| client.put(format!("{url}/control/script")).body(text).send();
    assert_eq!(put("[{\"txt\": 1}]").await.unwrap().status(), 400);
    assert_eq!(put("[]").await.unwrap().status(), 200);
    child.kill().unwrap();
    child.wait().unwrap();
}
