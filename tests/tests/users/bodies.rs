//! A request body that is still arriving ends with the credential that admitted it.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::PATIENCE;
use headwater_tests::http::{self, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::accounts::{Shared, server, shared, user, waiting};

/// A request that was admitted, with the first chunk of its body; more may follow.
async fn begun(api: &Api, line: &str, chunk: &str) -> Result<TcpStream> {
    let (address, token) = (api.address(), api.token());
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    // The server says so when the handler reads: the request was admitted.
    let mut info = Vec::new();
    while !info.ends_with(b"\r\n\r\n") {
        info.push(tokio::time::timeout(PATIENCE, stream.read_u8()).await??);
    }
    ensure!(info.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&info));
    stream.write_all(chunked(chunk).as_bytes()).await?;
    Ok(stream)
}

fn chunked(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// Creates a token of this user; its id and access with it.
async fn token(server: &TestServer, api: &Api) -> Result<(String, Api)> {
    let made = json_of(&api.post("/v1/tokens", &json!({})).await?, 201)?;
    Ok((text(&made["id"]), server.api_with(&text(&made["token"]))))
}

#[tokio::test]
async fn input_that_comes_after_its_token_was_revoked_does_not_reach_the_program() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let id = waiting(&ann, &ann.session(&json!({})).await?).await?;
    let (revoked, secret) = token(&server, &ann).await?;
    let stdin = format!("/v1/executions/{id}/stdin");
    let mut stream = begun(&secret, &format!("POST {stdin}"), "before\n").await?;
    ann.until_printed(&id, "before").await?;
    json_of(&ann.delete(&format!("/v1/tokens/{revoked}")).await?, 204)?;
    let answer = http::read(&mut stream, true).await.context("the request goes on")?;
    ensure!(answer.status == 400, "{}: {}", answer.status, answer.text());
    // The server may have closed the connection.
    let _ = stream.write_all(chunked("after\n").as_bytes()).await;
    ann.write_input(
        &id, b"last
",
    )
    .await?;
    ann.until_printed(&id, "last").await?;
    let info = ann.output(&id, "stdout").await?;
    ensure!(!info.contains("after"), "what was revoked typed: {info}");
    Ok(())
}

#[tokio::test]
async fn a_file_and_an_archive_that_arrive_while_their_token_is_revoked_are_refused() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let files = format!("/v1/sessions/{}/files", ann.session(&json!({})).await?);
    for path in [format!("{files}/content?path=a.txt"), format!("{files}/archive")] {
        let (revoked, secret) = token(&server, &ann).await?;
        let mut stream = begun(&secret, &format!("PUT {path}"), "some bytes").await?;
        json_of(&ann.delete(&format!("/v1/tokens/{revoked}")).await?, 204)?;
        let answer = http::read(&mut stream, true).await.with_context(|| path.clone())?;
        ensure!(answer.status == 400, "{path}: {}: {}", answer.status, answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn input_of_a_removed_editor_is_refused() -> Result<()> {
    let server = server("").await?;
    let Shared { ann, bob, execution: id, member, .. } = shared(&server, "editor").await?;
    let line = format!("POST /v1/executions/{id}/stdin");
    let mut stream = begun(&bob, &line, "before\n").await?;
    ann.until_printed(&id, "before").await?;
    json_of(&ann.delete(&member).await?, 204)?;
    let answer = http::read(&mut stream, true).await.context("the request goes on")?;
    ensure!(answer.status == 400, "{}: {}", answer.status, answer.text());
    Ok(())
}
