//! Browsers: cookies, what a cookie alone does not do, and pages of other origins.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::{Response, json_of, text};
use serde_json::{Value, json};

use crate::accounts::{PASSWORD, add_user, behind_proxy, server, user, waiting};

/// The cookie as a browser sends it back.
fn cookie_of(answer: &Response) -> Result<String> {
    let set = answer.header("set-cookie").context("no cookie")?;
    Ok(set.split(';').next().unwrap_or_default().to_owned())
}

/// Asks who the owner of this cookie is.
async fn with_cookie(server: &TestServer, cookie: &str) -> Result<Response> {
    server.anonymous().request("GET", "/v1/me", &[("Cookie", cookie)], b"").await
}

/// Signs in as a browser does; its cookie.
async fn browser(server: &TestServer) -> Result<String> {
    add_user(server, "ann", "member").await?;
    let body = json!({"name": "ann", "password": PASSWORD, "cookie": true});
    let answer = server.anonymous().send("POST", "/v1/login", &[], &body).await?;
    let info = json_of(&answer, 200)?;
    ensure!(info["access_token"].is_null() && info["refresh_token"].is_null(), "{info}");
    let set = answer.header("set-cookie").context("no cookie")?;
    for part in ["headwater_session=hwc_", "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        ensure!(set.contains(part), "{set}");
    }
    ensure!(!set.contains("Secure"), "the test is not over TLS: {set}");
    cookie_of(&answer)
}

#[tokio::test]
async fn a_cookie_is_a_separate_secret_and_signing_out_ends_it() -> Result<()> {
    let server = server("").await?;
    let cookie = browser(&server).await?;
    let me = json_of(&with_cookie(&server, &cookie).await?, 200)?;
    ensure!(me["owner"] == "ann" && me["credential"] == "cookie", "{me}");
    let value = cookie.split_once('=').context("no value")?.1;
    let status = server.api_with(value).get("/v1/me").await?.status;
    ensure!(status == 401, "a cookie is a token: {status}");
    let first = server.anonymous().get(&format!("/login?token={}", server.token())).await?;
    ensure!(first.status == 303 && !first.head.contains(server.token()), "{}", first.head);
    let first = cookie_of(&first)?;
    let me = json_of(&with_cookie(&server, &first).await?, 200)?;
    ensure!(me["owner"] == "admin", "{me}");
    let origin = server.url();
    let out = [("Cookie", cookie.as_str()), ("Origin", &origin)];
    let gone = server.anonymous().send("POST", "/v1/logout", &out, &Value::Null).await?;
    ensure!(gone.status == 204 && gone.head.contains("Max-Age=0"), "{}", gone.head);
    let status = with_cookie(&server, &cookie).await?.status;
    ensure!(status == 401, "it is taken after signing out: {status}");
    Ok(())
}

#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_this_host() -> Result<()> {
    let plain = server("").await?;
    add_user(&plain, "ann", "member").await?;
    let body = json!({"name": "ann", "password": PASSWORD, "cookie": true});
    let answer =
        plain.anonymous().send("POST", "/v1/login", &[("X-Forwarded-Proto", "https")], &body).await?;
    let set = answer.header("set-cookie").context("no cookie")?;
    ensure!(set.starts_with("headwater_session="), "an untrusted proxy is believed: {set}");
    let server = behind_proxy("").await?;
    add_user(&server, "ann", "member").await?;
    let tls = ("X-Forwarded-Proto", "https");
    let answer = server.anonymous().send("POST", "/v1/login", &[tls], &body).await?;
    let set = answer.header("set-cookie").context("no cookie")?;
    ensure!(set.starts_with("__Host-headwater_session=") && set.ends_with("; Secure"), "{set}");
    let cookie = cookie_of(&answer)?;
    let status =
        server.anonymous().send("GET", "/v1/me", &[tls, ("Cookie", &cookie)], &Value::Null).await?.status;
    ensure!(status == 200, "{status}");
    let planted = cookie.trim_start_matches("__Host-").to_owned();
    let status =
        server.anonymous().send("GET", "/v1/me", &[tls, ("Cookie", &planted)], &Value::Null).await?.status;
    ensure!(status == 401, "a cookie that another host can set is taken: {status}");
    Ok(())
}

#[tokio::test]
async fn a_cookie_alone_changes_nothing_and_opens_no_socket() -> Result<()> {
    let server = server("").await?;
    let cookie = browser(&server).await?;
    let own = server.url();
    let ask = async |more: &[(&str, &str)]| -> Result<u16> {
        let mut headers = vec![("Cookie", cookie.as_str())];
        headers.extend_from_slice(more);
        Ok(server.anonymous().send("POST", "/v1/sessions", &headers, &json!({})).await?.status)
    };
    for bad in [
        &[][..],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", "http://evil.example"), ("X-Headwater-CSRF", "1")],
    ] {
        ensure!(ask(bad).await? == 403, "{bad:?}");
    }
    for good in
        [&[("Origin", own.as_str())][..], &[("Sec-Fetch-Site", "same-origin")], &[("X-Headwater-CSRF", "1")]]
    {
        ensure!(ask(good).await? == 201, "{good:?}");
    }
    let id = waiting(&server.api(), &server.api().session(&json!({})).await?).await?;
    let cookie = cookie_of(&server.anonymous().get(&format!("/login?token={}", server.token())).await?)?;
    let path = format!("/v1/executions/{id}/attach");
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Cookie", cookie.as_str()),
    ];
    for (origin, status) in [(None, 403), (Some("http://evil.example"), 403), (Some(own.as_str()), 101)] {
        let mut headers = upgrade.to_vec();
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let answer = server.anonymous().head("GET", &path, &headers, &Value::Null).await?;
        ensure!(answer.status == status, "{origin:?}: {}", answer.status);
    }
    Ok(())
}

#[tokio::test]
async fn a_same_site_page_reads_nothing_with_a_cookie_unless_it_sends_its_origin() -> Result<()> {
    let server = server("").await?;
    let cookie = browser(&server).await?;
    for (site, mode, status) in [
        ("same-site", "no-cors", 403),
        ("cross-site", "no-cors", 403),
        ("same-site", "navigate", 200),
        ("same-origin", "no-cors", 200),
        ("none", "navigate", 200),
    ] {
        let headers = [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode)];
        let got = server.anonymous().send("GET", "/v1/me", &headers, &Value::Null).await?.status;
        ensure!(got == status, "{site} {mode}: {got}");
    }
    Ok(())
}

#[tokio::test]
async fn pages_of_named_origins_may_read_answers_and_others_may_not() -> Result<()> {
    let server = TestServer::configured("[server]\norigins = [\"https://app.example\"]\n").await?;
    let preflight = async |origin: &str| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        server.anonymous().request("OPTIONS", "/v1/sessions", &headers, b"").await
    };
    let answer = preflight("https://app.example").await?;
    ensure!(answer.status == 204, "{}", answer.head);
    ensure!(answer.header("access-control-allow-origin") == Some("https://app.example"), "{}", answer.head);
    ensure!(answer.header("access-control-allow-credentials") == Some("true"), "{}", answer.head);
    ensure!(answer.header("vary").is_some_and(|vary| vary.eq_ignore_ascii_case("origin")), "{}", answer.head);
    let headers = answer.header("access-control-allow-headers").unwrap_or_default();
    ensure!(headers.contains("authorization") && headers.contains("idempotency-key"), "{headers}");
    for origin in ["http://app.example", "https://app.example.evil.example", "https://evil.example", "null"] {
        let answer = preflight(origin).await?;
        ensure!(answer.status == 403, "{origin}: {}", answer.status);
        ensure!(!answer.head.to_lowercase().contains("access-control"), "{origin}: {}", answer.head);
    }
    for (api, status) in [(server.api(), 200), (server.api_with("hw_x"), 401)] {
        let answer = api.request("GET", "/v1/me", &[("Origin", "https://app.example")], b"").await?;
        ensure!(answer.status == status, "{}", answer.head);
        let allowed = answer.header("access-control-allow-origin");
        ensure!(allowed == Some("https://app.example"), "errors can be read too: {}", answer.head);
    }
    let plain = server.api().get("/v1/me").await?;
    ensure!(!plain.head.to_lowercase().contains("access-control"), "{}", plain.head);
    Ok(())
}

#[tokio::test]
async fn tickets_of_users_open_one_stream_once() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let id = waiting(&ann, &ann.session(&json!({})).await?).await?;
    let path = |token: &str| format!("/v1/executions/{id}/events?token={token}");
    let ticket = text(&json_of(&ann.post("/v1/tickets", &Value::Null).await?, 201)?["ticket"]);
    let ann = ann.token();
    let open = async |token: &str| server.anonymous().head("GET", &path(token), &[], &Value::Null).await;
    ensure!(open(&ticket).await?.status == 200);
    ensure!(open(&ticket).await?.status == 401, "a ticket was valid twice");
    let refused = open(ann).await?;
    ensure!(refused.status == 401, "a JWT in the address opens a stream: {}", refused.head);
    let elsewhere = format!("/v1/me?token={ann}");
    ensure!(server.anonymous().get(&elsewhere).await?.status == 401);
    ensure!(!server.log().contains(ann) && !server.log().contains(&ticket), "a secret is in the log");
    Ok(())
}
