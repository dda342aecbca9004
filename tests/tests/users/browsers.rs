//! Browsers: cookies, what a cookie alone does not do, and pages of other origins.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::raw::{self, Raw};
use serde_json::{Value, json};

use crate::ground::{PASSWORD, add_user, behind_proxy, good, server, session, user, waiting, with};

/// What a browser would send back.
fn cookie_of(answer: &Raw) -> Result<String> {
    let set = answer.header("set-cookie").context("no cookie")?;
    Ok(set.split(';').next().unwrap_or_default().to_owned())
}

async fn browser(server: &TestServer) -> Result<String> {
    add_user(server, "ann", "member").await?;
    let body = json!({"name": "ann", "password": PASSWORD, "cookie": true});
    let answer = with(server, "POST", "/v1/login", &[], &body).await?;
    let told = good(&answer, 200)?;
    ensure!(told["access_token"].is_null() && told["refresh_token"].is_null(), "{told}");
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
    let me = good(&with(&server, "GET", "/v1/me", &[("Cookie", &cookie)], &Value::Null).await?, 200)?;
    ensure!(me["owner"] == "ann" && me["credential"] == "cookie", "{me}");
    let value = cookie.split_once('=').context("no value")?.1;
    let bearer = format!("Bearer {value}");
    let status = with(&server, "GET", "/v1/me", &[("Authorization", &bearer)], &Value::Null).await?.status;
    ensure!(status == 401, "a cookie is a token: {status}");
    let first = with(&server, "GET", &format!("/login?token={}", server.token()), &[], &Value::Null).await?;
    ensure!(first.status == 303 && !first.head.contains(server.token()), "{}", first.head);
    let first = cookie_of(&first)?;
    let me = good(&with(&server, "GET", "/v1/me", &[("Cookie", &first)], &Value::Null).await?, 200)?;
    ensure!(me["owner"] == "admin", "{me}");
    let origin = server.url();
    let out = [("Cookie", cookie.as_str()), ("Origin", &origin)];
    let gone = with(&server, "POST", "/v1/logout", &out, &Value::Null).await?;
    ensure!(gone.status == 204 && gone.head.contains("Max-Age=0"), "{}", gone.head);
    let status = with(&server, "GET", "/v1/me", &[("Cookie", &cookie)], &Value::Null).await?.status;
    ensure!(status == 401, "it is taken after signing out: {status}");
    Ok(())
}

#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_this_host() -> Result<()> {
    let plain = server("").await?;
    add_user(&plain, "ann", "member").await?;
    let body = json!({"name": "ann", "password": PASSWORD, "cookie": true});
    let answer = with(&plain, "POST", "/v1/login", &[("X-Forwarded-Proto", "https")], &body).await?;
    let set = answer.header("set-cookie").context("no cookie")?;
    ensure!(set.starts_with("headwater_session="), "whoever is not trusted is believed: {set}");
    let server = behind_proxy("").await?;
    add_user(&server, "ann", "member").await?;
    let tls = ("X-Forwarded-Proto", "https");
    let answer = with(&server, "POST", "/v1/login", &[tls], &body).await?;
    let set = answer.header("set-cookie").context("no cookie")?;
    ensure!(set.starts_with("__Host-headwater_session=") && set.ends_with("; Secure"), "{set}");
    let cookie = cookie_of(&answer)?;
    let status = with(&server, "GET", "/v1/me", &[tls, ("Cookie", &cookie)], &Value::Null).await?.status;
    ensure!(status == 200, "{status}");
    let planted = cookie.trim_start_matches("__Host-").to_owned();
    let status = with(&server, "GET", "/v1/me", &[tls, ("Cookie", &planted)], &Value::Null).await?.status;
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
        Ok(with(&server, "POST", "/v1/sessions", &headers, &json!({})).await?.status)
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
    let id = waiting(&server, server.token(), &session(&server, server.token()).await?).await?;
    let cookie = cookie_of(
        &with(&server, "GET", &format!("/login?token={}", server.token()), &[], &Value::Null).await?,
    )?;
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
        let answer = raw::head(server.address(), "GET", &path, &headers, b"").await?;
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
        let got = with(&server, "GET", "/v1/me", &headers, &Value::Null).await?.status;
        ensure!(got == status, "{site} {mode}: {got}");
    }
    Ok(())
}

#[tokio::test]
async fn pages_of_named_origins_may_read_answers_and_others_may_not() -> Result<()> {
    let config = "pool = 1\n[server]\norigins = [\"https://app.example\"]\n";
    let options = headwater_tests::ServerOptions { config: Some(config.into()), ..Default::default() };
    let server = TestServer::with(options).await?;
    let preflight = async |origin: &str| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        raw::request(server.address(), "OPTIONS", "/v1/sessions", &headers, b"").await
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
    let bearer = format!("Bearer {}", server.token());
    for (token, status) in [(bearer.as_str(), 200), ("Bearer hw_x", 401)] {
        let headers = [("Authorization", token), ("Origin", "https://app.example")];
        let answer = with(&server, "GET", "/v1/me", &headers, &Value::Null).await?;
        ensure!(answer.status == status, "{}", answer.head);
        let allowed = answer.header("access-control-allow-origin");
        ensure!(allowed == Some("https://app.example"), "also errors can be read: {}", answer.head);
    }
    let plain = with(&server, "GET", "/v1/me", &[("Authorization", &bearer)], &Value::Null).await?;
    ensure!(!plain.head.to_lowercase().contains("access-control"), "{}", plain.head);
    Ok(())
}

#[tokio::test]
async fn tickets_of_users_open_one_stream_once() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let id = waiting(&server, &ann, &session(&server, &ann).await?).await?;
    let path = |token: &str| format!("/v1/executions/{id}/events?token={token}");
    let bearer = format!("Bearer {ann}");
    let made = with(&server, "POST", "/v1/tickets", &[("Authorization", &bearer)], &Value::Null).await?;
    let ticket = crate::ground::text(&good(&made, 201)?["ticket"])?;
    let open = async |token: &str| raw::head(server.address(), "GET", &path(token), &[], b"").await;
    ensure!(open(&ticket).await?.status == 200);
    ensure!(open(&ticket).await?.status == 401, "a ticket was good twice");
    let refused = open(&ann).await?;
    ensure!(refused.status == 401, "a JWT in the address opens a stream: {}", refused.head);
    let elsewhere = format!("/v1/me?token={ann}");
    ensure!(raw::request(server.address(), "GET", &elsewhere, &[], b"").await?.status == 401);
    ensure!(!server.log().contains(&ann) && !server.log().contains(&ticket), "a secret is in the log");
    Ok(())
}
