//! The page that shows the API.

use anyhow::{Context, Result};
use headwater_tests::TestServer;

#[tokio::test]
async fn the_docs_page_loads_only_its_own_style_and_script() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let page = api.get("/docs").await?;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").context("no policy")?;
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe-"), "{policy}");
    let (style, script) = (api.get("/docs/style.css").await?, api.get("/docs/script.js").await?);
    assert_eq!((style.status, style.header("content-type")), (200, Some("text/css; charset=utf-8")));
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    let page = page.text();
    for inline in ["<style", "style=", "onclick", "<script>"] {
        assert!(!page.contains(inline), "the page has `{inline}`");
    }
    assert_eq!(page.matches("src=").count(), 1, "one script");
    assert!(page.contains("src=\"/docs/script.js\"") && page.contains("href=\"/docs/style.css\""));
    for text in [page, style.text(), script.text()] {
        for outside in ["http://", "https://", "@import", ": url(", "innerHTML", "eval(", ".style."] {
            assert!(!text.contains(outside), "the page has `{outside}`");
        }
    }
    Ok(())
}
