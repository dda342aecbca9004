//! The page at `/`: the web app, or in a binary without it a small page. Tests of the app itself are in `web/tests`.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::{Response, error_code};

/// What browsers send.
const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

async fn page(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Result<Response> {
    let headers: Vec<_> = [BROWSER].iter().chain(headers).copied().collect();
    server.anonymous().request("GET", path, &headers, b"").await
}

/// The policy of a page, which must be a page that runs only our own scripts.
fn policy(page: &Response) -> Result<&str> {
    ensure!(page.status == 200, "{}", page.head);
    ensure!(page.header("content-type") == Some("text/html; charset=utf-8"), "{}", page.head);
    let policy = page.header("content-security-policy").context("no policy")?;
    for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"] {
        ensure!(policy.contains(part), "{policy}");
    }
    let scripts =
        policy.split(';').find(|part| part.trim().starts_with("script-src")).context("no scripts")?;
    ensure!(!scripts.contains("unsafe-") && !scripts.contains('*') && !scripts.contains("http"), "{scripts}");
    Ok(policy)
}

#[tokio::test]
async fn a_browser_gets_a_page_and_a_program_gets_json() -> Result<()> {
    let server = TestServer::small().await?;
    ensure!(error_code(&server.anonymous().get("/").await?, 401)? == "unauthenticated");
    let answer = server.api().get("/").await?;
    ensure!((answer.status, answer.header("location")) == (303, Some("/docs")), "{}", answer.head);
    policy(&page(&server, "/", &[]).await?)?;
    // An old cookie is no obstacle: the page offers to sign in again.
    policy(&page(&server, "/", &[("Cookie", "headwater_session=hwc_old")]).await?)?;
    // The page where a program is let in is small, and works without the app.
    let consent = page(&server, "/oauth/authorize", &[]).await?;
    ensure!(policy(&consent)?.contains("script-src 'sha256-"), "{}", consent.head);
    for outside in ["http://", "https://", "@import", "url(", "innerHTML", "eval(", "style=", "onclick"] {
        // The name space of SVG is not an address.
        let text = consent.text().replace("http://www.w3.org/2000/svg", "");
        ensure!(!text.contains(outside), "the page has `{outside}`");
    }
    Ok(())
}

#[tokio::test]
async fn a_token_in_a_header_signs_a_browser_in_and_opens_a_page_of_this_server_only() -> Result<()> {
    let server = TestServer::small().await?;
    let login = server.api().get("/login").await?;
    ensure!(login.status == 303 && !login.head.contains(server.token()), "{}", login.head);
    ensure!(login.header("location") == Some("/"), "{}", login.head);
    let cookie = login.header("set-cookie").context("no cookie")?;
    let cookie = cookie.split(';').next().unwrap_or_default();
    let me = server.anonymous().request("GET", "/v1/me", &[("Cookie", cookie)], b"").await?;
    ensure!(me.status == 200, "{}", me.text());
    let wrong = server.api_with("hw_wrong").get("/login").await?;
    ensure!(error_code(&wrong, 401)? == "unauthenticated");
    let next = server.api().get("/login?next=/executions/exe_1%23L3").await?;
    ensure!(next.header("location") == Some("/executions/exe_1#L3"), "{}", next.head);
    for elsewhere in ["//evil.example/", "https://evil.example", "/%5Cevil.example", "/a%0D%0AX-Y:%20z"] {
        let answer = server.api().get(&format!("/login?next={elsewhere}")).await?;
        ensure!(error_code(&answer, 400)? == "invalid_request", "{elsewhere}");
        ensure!(answer.header("set-cookie").is_none(), "{}", answer.head);
    }
    Ok(())
}

#[tokio::test]
async fn assets_of_the_app_are_compressed_and_kept_and_unknown_ones_are_an_error() -> Result<()> {
    let server = TestServer::small().await?;
    let home = page(&server, "/", &[]).await?.text();
    let Some((_, rest)) = home.split_once("src=\"/assets/") else {
        ensure!(home.contains("data-state=\"signed-out\""), "neither the app nor the small page: {home}");
        return Ok(());
    };
    let script = format!("/assets/{}", rest.split('"').next().unwrap_or_default());
    let mut sizes = Vec::new();
    for (takes, encoding) in [("gzip, br", Some("br")), ("gzip", Some("gzip")), ("", None)] {
        let headers = [("Accept-Encoding", takes)];
        let answer = server.anonymous().request("GET", &script, &headers, b"").await?;
        ensure!((answer.status, answer.header("content-encoding")) == (200, encoding), "{}", answer.head);
        ensure!(answer.header("content-type") == Some("text/javascript; charset=utf-8"), "{}", answer.head);
        let caching = answer.header("cache-control").unwrap_or_default();
        ensure!(caching.contains("immutable"), "{caching}");
        sizes.push(answer.body.len());
    }
    ensure!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
    // Deep links are the app; its page is not kept.
    for path in
        ["/sessions/dev", "/history?state=running", "/executions/exe_00000000000000000000000000000000"]
    {
        let answer = page(&server, path, &[]).await?;
        policy(&answer)?;
        ensure!(answer.header("cache-control") == Some("no-cache"), "{}", answer.head);
    }
    for path in ["/assets/none.js", "/assets/../index.html", "/assets/%2e%2e/index.html"] {
        let answer = server.anonymous().get(path).await?;
        ensure!(answer.status == 404 || answer.status == 401, "{path}: {}", answer.head);
    }
    Ok(())
}
