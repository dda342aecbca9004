//! API tokens: named, scoped, bound to sessions, never mightier than what made them.

use anyhow::{Result, ensure};
use headwater_tests::Api;
use headwater_tests::host::eventually;
use headwater_tests::http::{json_of, text};
use serde_json::{Value, json};

use crate::accounts::{me_status, server, user, waiting};

async fn create(api: &Api, body: &Value) -> Result<(String, Api)> {
    let made = json_of(&api.post("/v1/tokens", body).await?, 201)?;
    Ok((text(&made["id"]), Api::new(api.address(), &text(&made["token"]))))
}

async fn status(api: &Api, method: &str, path: &str, body: &Value) -> Result<u16> {
    Ok(api.send(method, path, &[], body).await?.status)
}

#[tokio::test]
async fn everybody_manages_their_own_tokens_and_operators_all() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let (id, token) = create(&ann, &json!({"name": "ci"})).await?;
    let list = async |api: &Api| api.json("/v1/tokens").await;
    let info = list(&ann).await?;
    ensure!(info["items"][0]["id"] == id && info["items"][0]["name"] == "ci", "{info}");
    ensure!(!info.to_string().contains(token.token()), "a secret is shown twice");
    ensure!(list(&bob).await?["items"] == json!([]), "bob sees ann's token");
    ensure!(list(&server.api()).await?.to_string().contains(&id), "an operator does not see it");
    let used = async || {
        let _ = me_status(&token).await;
        list(&ann).await.is_ok_and(|info| !info["items"][0]["last_used_at"].is_null())
    };
    eventually("the use of a token is noted", used).await?;
    let path = format!("/v1/tokens/{id}");
    ensure!(status(&bob, "DELETE", &path, &Value::Null).await? == 404, "bob revokes ann's token");
    ensure!(me_status(&token).await? == 200);
    ensure!(status(&ann, "DELETE", &path, &Value::Null).await? == 204);
    ensure!(me_status(&token).await? == 401, "a revoked token is taken");
    for page in 0..3 {
        create(&ann, &json!({"name": format!("{page}")})).await?;
    }
    let first = json_of(&ann.get("/v1/tokens?limit=3").await?, 200)?;
    let next = format!("/v1/tokens?limit=3&cursor={}", text(&first["next_cursor"]));
    let second = json_of(&ann.get(&next).await?, 200)?;
    ensure!(first["items"].as_array().map(Vec::len) == Some(3), "{first}");
    ensure!(
        second["items"].as_array().map(Vec::len) == Some(1) && second["next_cursor"].is_null(),
        "{second}"
    );
    Ok(())
}

#[tokio::test]
async fn no_token_creates_one_with_more_rights_than_its_own() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let one = ann.session(&json!({})).await?;
    let (_, files) = create(&ann, &json!({"scopes": ["files:read", "tokens:write"]})).await?;
    let (_, bound) = create(&ann, &json!({"sessions": [one]})).await?;
    let (_, short) = create(&ann, &json!({"expires_in_ms": 3_600_000})).await?;
    let (_, reader) = create(&ann, &json!({"role": "reader"})).await?;
    for (what, by, body, expected) in [
        ("a higher role", &ann, json!({"role": "admin"}), 403),
        ("another owner", &ann, json!({"owner": "bob"}), 403),
        ("another scope", &files, json!({"scopes": ["executions:write"]}), 403),
        ("more of a scope", &files, json!({"scopes": ["files:write"]}), 403),
        ("any token by one that is bound", &bound, json!({}), 403),
        ("any token by a reader", &reader, json!({}), 403),
        ("another's session", &ann, json!({"sessions": ["ses_00000000000000000000000000000000"]}), 404),
        ("an unknown scope", &ann, json!({"scopes": ["everything"]}), 400),
        ("no session at all", &ann, json!({"sessions": []}), 400),
        ("the same scope", &files, json!({"scopes": ["files:read"]}), 201),
    ] {
        let got = status(by, "POST", "/v1/tokens", &body).await?;
        ensure!(got == expected, "{what}: {got}");
    }
    let made = json_of(&files.post("/v1/tokens", &json!({})).await?, 201)?;
    ensure!(made["scopes"] == json!(["files:read", "tokens:write"]), "its scopes are lost: {made}");
    let made = json_of(&short.post("/v1/tokens", &json!({})).await?, 201)?;
    ensure!(!made["expires_at"].is_null(), "it outlives what made it: {made}");
    let (patch, none) = (json!({"role": "reader"}), Value::Null);
    json_of(&server.api().patch("/v1/users/ann", &patch).await?, 200)?;
    ensure!(status(&short, "POST", "/v1/sessions", &json!({})).await? == 403, "it is mightier than ann");
    json_of(&server.api().send("DELETE", "/v1/users/ann", &[], &none).await?, 204)?;
    ensure!(me_status(&short).await? == 401, "it outlives ann");
    Ok(())
}

#[tokio::test]
async fn a_scope_opens_its_area_and_nothing_else() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let one = ann.session(&json!({})).await?;
    let execution = waiting(&ann, &one).await?;
    let (_, looks) = create(&ann, &json!({"scopes": ["executions:read"]})).await?;
    let (_, admins) = create(&server.api(), &json!({"role": "admin", "scopes": ["sessions:read"]})).await?;
    let (start, at) = (format!("/v1/sessions/{one}/executions"), format!("/v1/executions/{execution}"));
    for (token, method, path, body, expected) in [
        (&looks, "GET", "/v1/me".to_owned(), Value::Null, 200),
        (&looks, "GET", at.clone(), Value::Null, 200),
        (&looks, "GET", "/v1/executions".into(), Value::Null, 200),
        (&looks, "POST", start, json!({"shell": "true"}), 403),
        (&looks, "POST", format!("{at}/cancel"), json!({}), 403),
        (&looks, "GET", format!("/v1/sessions/{one}"), Value::Null, 403),
        (&looks, "GET", "/v1/sessions".into(), Value::Null, 403),
        (&looks, "POST", "/v1/tokens".into(), json!({}), 403),
        (&looks, "GET", "/v1/tokens".into(), Value::Null, 403),
        (&admins, "GET", format!("/v1/sessions/{one}"), Value::Null, 200),
        (&admins, "GET", "/metrics".into(), Value::Null, 403),
        (&admins, "GET", "/v1/users".into(), Value::Null, 403),
        (&admins, "POST", "/v1/users".into(), json!({"name": "eve"}), 403),
        (&admins, "DELETE", format!("/v1/sessions/{one}"), Value::Null, 403),
    ] {
        let got = status(token, method, &path, &body).await?;
        ensure!(got == expected, "{method} {path}: {got} instead of {expected}");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_bound_to_a_session_sees_no_other() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let (one, other) = (ann.session(&json!({})).await?, ann.session(&json!({})).await?);
    let (here, there) = (waiting(&ann, &one).await?, waiting(&ann, &other).await?);
    let (_, bound) = create(&ann, &json!({"sessions": [one]})).await?;
    for (method, path, body, expected) in [
        ("GET", format!("/v1/sessions/{one}"), Value::Null, 200),
        ("GET", format!("/v1/sessions/{other}"), Value::Null, 404),
        ("GET", format!("/v1/executions/{here}"), Value::Null, 200),
        ("GET", format!("/v1/executions/{there}"), Value::Null, 404),
        ("POST", "/v1/sessions".into(), json!({}), 403),
        ("POST", "/v1/executions".into(), json!({"shell": "true"}), 403),
        ("GET", "/v1/conversations/x/events".into(), Value::Null, 403),
        ("DELETE", format!("/v1/sessions/{one}"), Value::Null, 403),
        ("POST", format!("/v1/sessions/{one}/shares"), json!({"access": "write"}), 403),
    ] {
        let got = status(&bound, method, &path, &body).await?;
        ensure!(got == expected, "{method} {path}: {got} instead of {expected}");
    }
    for (path, seen, unseen) in [("/v1/sessions", &one, &other), ("/v1/executions", &here, &there)] {
        let info = bound.get(path).await?.text();
        ensure!(info.contains(seen.as_str()) && !info.contains(unseen.as_str()), "{path}: {info}");
    }
    Ok(())
}
