//! OAuth: a client that knows only the address gets a token that a person allowed, and no other.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headwater_tests::http::{self, Response, error_code, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const CALLBACK: &str = "http://127.0.0.1:7777/callback";
const VERIFIER: &str = "a-verifier-that-has-at-least-forty-three-characters";

/// A client without a token.
struct Client {
    address: String,
    id: String,
}

impl Client {
    async fn register(server: &TestServer, body: &Value) -> Result<Self> {
        let address = server.api().address().to_owned();
        let registered = json_of(&post_json(&address, "/oauth/register", body).await?, 201)?;
        assert_eq!(registered["token_endpoint_auth_method"], "none");
        Ok(Self { address, id: text(&registered["client_id"]) })
    }

    /// The query of the page that the person opens.
    fn query(&self, changes: &[(&str, &str)]) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER.as_bytes()));
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", CALLBACK),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", "a state & more"),
        ];
        pairs.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
        pairs.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    async fn token(&self, pairs: &[(&str, &str)]) -> Result<Response> {
        let mut all = vec![("client_id", self.id.as_str())];
        all.retain(|(name, _)| !pairs.iter().any(|(changed, _)| changed == name));
        all.extend(pairs);
        post_form(&self.address, "/oauth/token", &all).await
    }

    async fn redeem(&self, code: &str) -> Result<Response> {
        let pairs = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        self.token(&[&pairs[..], &[("redirect_uri", CALLBACK)]].concat()).await
    }

    async fn refresh(&self, token: &str) -> Result<Response> {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }
}

async fn post_json(address: &str, path: &str, body: &Value) -> Result<Response> {
    http::request(address, "POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
        .await
}

async fn post_form(address: &str, path: &str, pairs: &[(&str, &str)]) -> Result<Response> {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    http::request(address, "POST", path, &headers, body.as_bytes()).await
}

/// What the person's page is sent to, as the parameters of its address.
async fn decide(person: &Api, query: &str, allow: bool) -> Result<Vec<(String, String)>> {
    let answer =
        json_of(&person.post("/oauth/consent", &json!({"query": query, "allow": allow})).await?, 200)?;
    let address = text(&answer["redirect_to"]);
    let (before, query) = address.split_once('?').context("no parameters")?;
    assert_eq!(before, CALLBACK);
    Ok(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
}

fn value(pairs: &[(String, String)], name: &str) -> Option<String> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
}

async fn allowed(person: &Api, client: &Client) -> Result<String> {
    value(&decide(person, &client.query(&[]), true).await?, "code").context("no code")
}

fn is_refused(response: &Response, code: &str) {
    let body = response.json().unwrap_or_default();
    assert!(response.status == 400 || response.status == 401, "{} {body}", response.status);
    assert_eq!(body["error"], code, "{body}");
    assert!(!text(&body["error_description"]).is_empty());
}

fn registration() -> Value {
    json!({"client_name": "An editor", "redirect_uris": ["http://127.0.0.1/callback"], "software_id": "ignored"})
}

#[tokio::test]
async fn a_client_that_knows_only_the_address_gets_a_token_that_a_person_allowed() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let address = ann.address();
    let refused = http::request(address, "POST", "/mcp", &[], b"{}").await?;
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").unwrap_or_default().to_owned();
    let metadata = challenge.split('"').nth(1).context("no address of metadata")?;
    let path = metadata.strip_prefix(&format!("http://{address}")).context("another server")?;
    let resource = json_of(&http::request(address, "GET", path, &[], b"").await?, 200)?;
    assert_eq!(resource["resource"], format!("http://{address}/mcp"));
    assert_eq!(resource["authorization_servers"], json!([format!("http://{address}")]));
    let found = http::request(address, "GET", "/.well-known/oauth-authorization-server", &[], b"").await?;
    let found = json_of(&found, 200)?;
    assert_eq!(found["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(found["issuer"], format!("http://{address}"));
    for name in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"] {
        assert!(text(&found[name]).starts_with(&format!("http://{address}/oauth/")), "{name}");
    }

    let client = Client::register(&server, &registration()).await?;
    let page =
        http::request(address, "GET", &format!("/oauth/authorize?{}", client.query(&[])), &[], b"").await?;
    assert!(page.status == 200 && page.text().contains("Connect a program"));
    assert!(!page.text().contains("An editor"), "nothing of the request is in the page");
    let shown = ann.post("/oauth/consent", &json!({"query": client.query(&[])})).await?;
    let shown = json_of(&shown, 200)?;
    assert_eq!((&shown["client_name"], &shown["owner"]), (&json!("An editor"), &json!("ann")));
    assert_eq!(shown["redirect_to_host"], "a program on this machine");
    let answer = decide(&ann, &client.query(&[]), true).await?;
    assert_eq!(value(&answer, "state").as_deref(), Some("a state & more"));
    assert_eq!(value(&answer, "iss"), Some(format!("http://{address}")));
    let given = json_of(&client.redeem(&value(&answer, "code").context("no code")?).await?, 200)?;
    assert_eq!((&given["token_type"], &given["expires_in"]), (&json!("Bearer"), &json!(3600)));

    let program = Api::new(address, &text(&given["access_token"]));
    let session = program.session(&json!({})).await?;
    assert_eq!(ann.json(&format!("/v1/sessions/{session}")).await?["owner"], "ann");
    assert_eq!(error_code(&program.post("/v1/tokens", &json!({})).await?, 403)?, "forbidden");
    let listed = ann.json("/v1/tokens").await?;
    let listed =
        listed["items"].as_array().context("no list")?.iter().find(|one| one["name"] == "An editor").cloned();
    let listed = listed.context("the token is not listed")?;

    let renewed = json_of(&client.refresh(&text(&given["refresh_token"])).await?, 200)?;
    assert_eq!(program.get("/v1/me").await?.status, 401, "the secret before is not valid any more");
    let program = Api::new(address, &text(&renewed["access_token"]));
    assert_eq!(program.get("/v1/me").await?.status, 200);
    json_of(&ann.delete(&format!("/v1/tokens/{}", text(&listed["id"]))).await?, 204)?;
    assert_eq!(program.get("/v1/me").await?.status, 401);
    is_refused(&client.refresh(&text(&renewed["refresh_token"])).await?, "invalid_grant");
    Ok(())
}

#[tokio::test]
async fn a_code_is_redeemed_once_by_its_client_with_its_verifier() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let client = Client::register(&server, &registration()).await?;
    let other = Client::register(&server, &json!({"redirect_uris": ["http://127.0.0.1/callback"]})).await?;
    let code = allowed(&ann, &client).await?;
    is_refused(&other.redeem(&code).await?, "invalid_grant");
    let base = [("grant_type", "authorization_code"), ("code", code.as_str())];
    let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
    is_refused(&client.token(&with(&[])).await?, "invalid_request");
    is_refused(
        &client
            .token(&with(&[("code_verifier", "another-verifier-that-has-enough-characters-in-it")]))
            .await?,
        "invalid_grant",
    );
    let elsewhere = with(&[("code_verifier", VERIFIER), ("redirect_uri", "http://127.0.0.1:1/callback")]);
    is_refused(&client.token(&elsewhere).await?, "invalid_grant");
    let target = with(&[("code_verifier", VERIFIER), ("resource", "https://elsewhere.example/mcp")]);
    is_refused(&client.token(&target).await?, "invalid_target");
    is_refused(&client.token(&[("grant_type", "password")]).await?, "unsupported_grant_type");
    is_refused(
        &client.token(&[("grant_type", "refresh_token"), ("client_id", "made.up.id")]).await?,
        "invalid_client",
    );
    let given = json_of(&client.redeem(&code).await?, 200)?;
    let program = Api::new(ann.address(), &text(&given["access_token"]));
    assert_eq!(program.get("/v1/me").await?.status, 200);
    // Whoever sends the code again has read it: what it gave is taken back.
    is_refused(&client.redeem(&code).await?, "invalid_grant");
    assert_eq!(program.get("/v1/me").await?.status, 401);
    is_refused(&client.refresh(&text(&given["refresh_token"])).await?, "invalid_grant");
    Ok(())
}

#[tokio::test]
async fn a_refresh_token_that_is_used_twice_ends_the_grant_and_a_revoked_one_too() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let client = Client::register(&server, &registration()).await?;
    let first = json_of(&client.redeem(&allowed(&ann, &client).await?).await?, 200)?;
    let second = json_of(&client.refresh(&text(&first["refresh_token"])).await?, 200)?;
    is_refused(&client.refresh(&text(&first["refresh_token"])).await?, "invalid_grant");
    let program = Api::new(ann.address(), &text(&second["access_token"]));
    assert_eq!(program.get("/v1/me").await?.status, 401, "the thief's token or the client's: both end");
    is_refused(&client.refresh(&text(&second["refresh_token"])).await?, "invalid_grant");

    let given = json_of(&client.redeem(&allowed(&ann, &client).await?).await?, 200)?;
    let refresh = text(&given["refresh_token"]);
    let revoked = post_form(ann.address(), "/oauth/revoke", &[("token", &refresh)]).await?;
    assert_eq!(revoked.status, 200);
    let program = Api::new(ann.address(), &text(&given["access_token"]));
    assert_eq!(program.get("/v1/me").await?.status, 401);
    is_refused(&client.refresh(&refresh).await?, "invalid_grant");
    assert_eq!(post_form(ann.address(), "/oauth/revoke", &[("token", "hwor_unknown")]).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_browser_is_never_sent_to_an_address_that_was_not_registered() -> Result<()> {
    let server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let address = ann.address().to_owned();
    for uri in ["http://evil.example/", "javascript:alert(1)", "/relative", "https://u:p@example.com/"] {
        let refused = post_json(&address, "/oauth/register", &json!({"redirect_uris": [uri]})).await?;
        is_refused(&refused, "invalid_redirect_uri");
    }
    is_refused(&post_json(&address, "/oauth/register", &json!({})).await?, "invalid_redirect_uri");
    is_refused(&post_json(&address, "/oauth/register", &json!([])).await?, "invalid_client_metadata");
    let client = Client::register(&server, &registration()).await?;
    let show = async |query: &str| ann.post("/oauth/consent", &json!({"query": query, "allow": true})).await;
    for changes in [
        [("redirect_uri", "https://evil.example/callback")],
        [("redirect_uri", "http://127.0.0.1:7777/other")],
        [("client_id", "unknown")],
        [("client_id", "")],
    ] {
        let answer = show(&client.query(&changes)).await?;
        assert!(matches!(answer.status, 400 | 401), "{changes:?}");
        assert!(answer.json()?["redirect_to"].is_null(), "{changes:?}");
    }
    is_refused(&show(&format!("{}&state=x", client.query(&[]))).await?, "invalid_request");
    // Other mistakes are the client's to learn of.
    for (changes, code) in [
        ([("response_type", "token")], "unsupported_response_type"),
        ([("code_challenge", "")], "invalid_request"),
        ([("code_challenge_method", "plain")], "invalid_request"),
        ([("resource", "https://elsewhere.example/mcp")], "invalid_target"),
        ([("scope", "tokens:write")], "invalid_scope"),
    ] {
        let answer = decide(&ann, &client.query(&changes), true).await?;
        assert_eq!(value(&answer, "error").as_deref(), Some(code), "{changes:?}");
        assert_eq!(value(&answer, "code"), None);
    }
    let declined = decide(&ann, &client.query(&[]), false).await?;
    assert_eq!(value(&declined, "error").as_deref(), Some("access_denied"));
    Ok(())
}

#[tokio::test]
async fn only_a_person_with_their_own_rights_can_connect_a_program() -> Result<()> {
    let server = TestServer::small().await?;
    let (admin, ann) = (server.api(), server.user("ann", "member")?);
    let client = Client::register(&server, &registration()).await?;
    let query = json!({"query": client.query(&[]), "allow": true});
    let address = ann.address();
    assert_eq!(post_json(address, "/oauth/consent", &query).await?.status, 401);
    for restricted in [
        json!({"scopes": ["files:read", "executions:write"]}),
        json!({"expires_in_ms": 60_000}),
        json!({"role": "reader"}),
        json!({"sessions": [ann.session(&json!({})).await?]}),
    ] {
        let token = json_of(&ann.post("/v1/tokens", &restricted).await?, 201)?;
        let limited = Api::new(address, &text(&token["token"]));
        assert_eq!(limited.post("/oauth/consent", &query).await?.status, 403, "{restricted}");
    }
    let other_site = [("origin", "https://evil.example"), ("content-type", "application/json")];
    let forged = ann.request("POST", "/oauth/consent", &other_site, query.to_string().as_bytes()).await?;
    assert_eq!(forged.status, 403);
    // An operator's program does not manage the server.
    let given = json_of(&client.redeem(&allowed(&admin, &client).await?).await?, 200)?;
    let program = Api::new(address, &text(&given["access_token"]));
    assert_eq!(program.json("/v1/me").await?["role"], "member");
    assert!(matches!(program.get("/v1/users").await?.status, 403));
    // Its id is not a credential.
    assert_eq!(Api::new(address, &client.id).get("/v1/me").await?.status, 401);
    Ok(())
}
