//! Rules that a person adds by an answer last.

use anyhow::{Result, ensure};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::client::{HttpClient, STATELESS};

/// A client of 2026 that asks, in this session.
async fn client(api: &Api, session: &str) -> Result<HttpClient> {
    let mut client = HttpClient::with(api, STATELESS, json!({"elicitation": {"form": {}}})).await?;
    client.headers =
        vec![("headwater-session", session.to_owned()), ("headwater-approvals", "unless-trusted".to_owned())];
    Ok(client)
}

fn touch(name: &str) -> Value {
    json!({"cmd": format!("touch {name}"), "prefix_rule": ["touch"]})
}

/// Answers a question with "Always allow"; the call is repeated with these arguments.
async fn always(client: &HttpClient, asked: &Value, arguments: &Value) -> Result<Value> {
    ensure!(asked["resultType"] == "input_required", "{asked}");
    let content = json!({"action": "accept", "content": {"decision": "allow_always"}});
    let params = json!({
        "name": "exec_command", "arguments": arguments, "requestState": asked["requestState"],
        "inputResponses": {"consent": content},
    });
    client.result("tools/call", params).await
}

async fn is_asked(client: &HttpClient, name: &str) -> Result<bool> {
    let result = client.call("exec_command", &touch(name)).await?;
    let asked = result["resultType"] == "input_required";
    ensure!(asked || result["structuredContent"]["exit_code"] == 0, "{result}");
    Ok(asked)
}

#[tokio::test]
async fn a_rule_survives_a_restart_and_holds_in_its_session_for_the_agents_of_its_owner() -> Result<()> {
    let mut server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let (one, two) = (ann.session(&json!({"name": "one"})).await?, ann.session(&json!({})).await?);
    let member = format!("/v1/sessions/{one}/members/bob");
    assert_eq!(ann.put(&member, &json!({"role": "editor"})).await?.status, 200);
    let own = client(&ann, &one).await?;
    let asked = own.call("exec_command", &touch("a")).await?;
    let done = always(&own, &asked, &touch("a")).await?;
    assert_eq!(done["structuredContent"]["exit_code"], 0, "{done}");
    assert!(!is_asked(&own, "b").await?);

    server.kill_gateway().await?;
    assert!(!is_asked(&own, "c").await?, "it is kept");
    // In another directory, in another session, for another user: the person is asked.
    let elsewhere = own.call("exec_command", &json!({"cmd": "touch d", "workdir": "/tmp"})).await?;
    assert_eq!(elsewhere["resultType"], "input_required", "{elsewhere}");
    assert!(is_asked(&client(&ann, &two).await?, "d").await?);
    assert!(is_asked(&client(&bob, &one).await?, "d").await?);
    assert_eq!(ann.run_in(&one, "ls").await?, "a\nb\nc\n");
    Ok(())
}

#[tokio::test]
async fn an_answer_adds_no_rule_to_another_session_than_that_of_its_question() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let (one, two) = (api.session(&json!({})).await?, api.session(&json!({})).await?);
    let (first, second) = (client(&api, &one).await?, client(&api, &two).await?);
    let asked = first.call("exec_command", &touch("a")).await?;
    let elsewhere = always(&second, &asked, &touch("a")).await?;
    assert!(elsewhere["isError"] == true || elsewhere["resultType"] == "input_required", "{elsewhere}");
    for session in [&one, &two] {
        assert_eq!(api.json(&format!("/v1/sessions/{session}/rules")).await?, json!({"items": []}));
    }
    assert!(is_asked(&second, "b").await? && is_asked(&first, "b").await?);
    Ok(())
}
