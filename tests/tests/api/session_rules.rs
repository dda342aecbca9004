//! The rules of a session, which only an answer of a person adds.

use anyhow::{Context, Result, ensure};
use headwater_tests::http::error_code;
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

/// Sends a call of `exec_command` in a session to `/mcp`, as a client that asks its person.
async fn call(api: &Api, session: &str, mut params: Value) -> Result<Value> {
    let meta = "io.modelcontextprotocol";
    params["name"] = json!("exec_command");
    params["_meta"] = json!({
        format!("{meta}/protocolVersion"): "2026-07-28",
        format!("{meta}/clientInfo"): {"name": "rules", "version": "1"},
        format!("{meta}/clientCapabilities"): {"elicitation": {"form": {}}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "exec_command"),
        ("headwater-session", session),
        ("headwater-approvals", "unless-trusted"),
    ];
    let response = api.request("POST", "/mcp", &headers, message.to_string().as_bytes()).await?;
    let text = response.text();
    let lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let answers = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answers.into_iter().find(|message| message["id"] == 7).with_context(|| text.clone())?;
    Ok(answer["result"].clone())
}

/// The person answers the question about a command of this program with "Always allow".
pub(crate) async fn allow_always(api: &Api, session: &str, program: &str) -> Result<()> {
    let arguments = json!({"cmd": format!("{program} allowed"), "prefix_rule": [program]});
    let asked = call(api, session, json!({"arguments": arguments})).await?;
    ensure!(asked["resultType"] == "input_required", "{asked}");
    let content = json!({"action": "accept", "content": {"decision": "allow_always"}});
    let answer = json!({
        "arguments": arguments, "requestState": asked["requestState"], "inputResponses": {"consent": content},
    });
    let done = call(api, session, answer).await?;
    ensure!(done["structuredContent"]["exit_code"] == 0, "{done}");
    Ok(())
}

#[tokio::test]
async fn the_rules_of_a_session_are_listed_and_removed_and_a_person_is_asked_again() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let session = ann.session(&json!({})).await?;
    let rules = format!("/v1/sessions/{session}/rules");
    assert_eq!(ann.json(&rules).await?, json!({"items": []}));
    allow_always(&ann, &session, "touch").await?;
    let listed = ann.json(&rules).await?;
    let rule = &listed["items"][0];
    assert_eq!(
        (&rule["prefix"], &rule["workdir"], &rule["user"], &rule["grants"]),
        (&json!(["touch"]), &json!("/workspace"), &json!("ann"), &json!({}))
    );
    let touch = json!({"arguments": {"cmd": "touch another"}});
    assert_eq!(call(&ann, &session, touch.clone()).await?["structuredContent"]["exit_code"], 0);
    // Nothing adds a rule but the answer, whoever sends it.
    let body = json!({"prefix": ["rm"], "action": "allow"});
    assert_eq!(error_code(&ann.post(&rules, &body).await?, 405)?, "method_not_allowed");
    // Members see them only with write access, and others see nothing.
    assert_eq!(error_code(&bob.get(&rules).await?, 404)?, "not_found");
    let one = format!("{rules}/{}", rule["number"]);
    assert_eq!(error_code(&bob.delete(&one).await?, 404)?, "not_found");
    for (role, status) in [("viewer", 403), ("editor", 200)] {
        let member = format!("/v1/sessions/{session}/members/bob");
        assert_eq!(ann.put(&member, &json!({"role": role})).await?.status, 200);
        assert_eq!(bob.get(&rules).await?.status, status, "{role}");
    }
    // An editor's agents are asked all the same: the rule is ann's.
    assert_eq!(call(&bob, &session, touch.clone()).await?["resultType"], "input_required");

    for unknown in ["999999", "-1", "x", "99999999999999999999"] {
        let answer = ann.delete(&format!("{rules}/{unknown}")).await?;
        assert_eq!(error_code(&answer, 404)?, "not_found", "{unknown}");
    }
    assert_eq!(ann.delete(&one).await?.status, 204);
    assert_eq!(error_code(&ann.delete(&one).await?, 404)?, "not_found");
    assert_eq!(ann.json(&rules).await?, json!({"items": []}));
    assert_eq!(call(&ann, &session, touch).await?["resultType"], "input_required");
    Ok(())
}
