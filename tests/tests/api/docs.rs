//! The page that shows the API.

use anyhow::{Context, Result};
use headwater_tests::TestServer;

use crate::calls::get;

#[tokio::test]
async fn the_page_is_one_file_that_loads_nothing_from_elsewhere() -> Result<()> {
    let server = TestServer::start().await?;
    let page = get(&server, "/docs").await?;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").context("no policy")?;
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
    let text = page.text();
    for outside in ["http://", "https://", "src=", "@import", ": url(", "innerHTML", "eval("] {
        assert!(!text.contains(outside), "the page has `{outside}`");
    }
    Ok(())
}
