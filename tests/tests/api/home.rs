//! The page at `/`, where people sign in.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::{Response, error_code};

/// What browsers send.
const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

async fn page(server: &TestServer, headers: &[(&str, &str)]) -> Result<Response> {
    let headers: Vec<_> = [BROWSER].iter().chain(headers).copied().collect();
    server.anonymous().request("GET", "/", &headers, b"").await
}

#[tokio::test]
async fn a_browser_that_is_signed_out_gets_a_page_and_a_program_gets_json() -> Result<()> {
    let server = TestServer::small().await?;
    ensure!(error_code(&server.anonymous().get("/").await?, 401)? == "unauthenticated");
    let answer = server.api().get("/").await?;
    ensure!((answer.status, answer.header("location")) == (303, Some("/docs")), "{}", answer.head);
    let answer = page(&server, &[]).await?;
    ensure!(answer.status == 200, "{}", answer.head);
    ensure!(answer.header("content-type") == Some("text/html; charset=utf-8"), "{}", answer.head);
    let policy = answer.header("content-security-policy").context("no policy")?;
    for part in ["default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'", "form-action 'none'"]
    {
        ensure!(policy.contains(part), "{policy}");
    }
    ensure!(!policy.contains("unsafe-"), "{policy}");
    let text = answer.text();
    ensure!(text.contains("data-state=\"signed-out\""), "{text}");
    for outside in ["http://", "https://", "@import", "url(", "innerHTML", "eval(", "style=", "onclick"] {
        // The name space of SVG is not an address.
        ensure!(
            !text.replace("http://www.w3.org/2000/svg", "").contains(outside),
            "the page has `{outside}`"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_token_in_a_header_signs_a_browser_in_and_the_page_shows_it() -> Result<()> {
    let server = TestServer::small().await?;
    let login = server.api().get("/login").await?;
    ensure!(login.status == 303 && !login.head.contains(server.token()), "{}", login.head);
    let cookie = login.header("set-cookie").context("no cookie")?;
    let cookie = cookie.split(';').next().unwrap_or_default();
    let answer = page(&server, &[("Cookie", cookie)]).await?;
    ensure!(answer.text().contains("data-state=\"signed-in\""), "{}", answer.text());
    let wrong = server.api_with("hw_wrong").get("/login").await?;
    ensure!(error_code(&wrong, 401)? == "unauthenticated");
    // An old cookie is no obstacle: the page offers to sign in again.
    let answer = page(&server, &[("Cookie", "headwater_session=hwc_old")]).await?;
    ensure!(answer.status == 200 && answer.text().contains("data-state=\"signed-out\""), "{}", answer.head);
    Ok(())
}
