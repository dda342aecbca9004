//! A request's body that is still arriving ends with what let it in.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::raw;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::ground::{ask, good, server, session, text, user, waiting};

/// A request that was let in, with a first chunk of its body; more may come.
async fn begun(server: &TestServer, token: &str, line: &str, chunk: &str) -> Result<TcpStream> {
    let address = server.address();
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    // The server says so when the door reads: the request was let in.
    let mut told = Vec::new();
    while !told.ends_with(b"\r\n\r\n") {
        told.push(tokio::time::timeout(Duration::from_mins(1), stream.read_u8()).await??);
    }
    ensure!(told.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&told));
    stream.write_all(chunked(chunk).as_bytes()).await?;
    Ok(stream)
}

fn chunked(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A token of somebody; its id and its secret.
async fn token(server: &TestServer, by: &str) -> Result<(String, String)> {
    let made = good(&ask(server, by, "POST", "/v1/tokens", &json!({})).await?, 201)?;
    Ok((text(&made["id"])?, text(&made["token"])?))
}

async fn printed(server: &TestServer, token: &str, id: &str) -> Result<String> {
    Ok(ask(server, token, "GET", &format!("/v1/executions/{id}/output"), &Value::Null).await?.text())
}

async fn until_printed(server: &TestServer, token: &str, id: &str, word: &str) -> Result<()> {
    let is_there = async || printed(server, token, id).await.is_ok_and(|text| text.contains(word));
    eventually(&format!("`{word}` is printed"), is_there).await
}

#[tokio::test]
async fn input_that_comes_after_its_token_was_revoked_does_not_reach_the_program() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let id = waiting(&server, &ann, &session(&server, &ann).await?).await?;
    let (revoked, secret) = token(&server, &ann).await?;
    let stdin = format!("/v1/executions/{id}/stdin");
    let mut stream = begun(&server, &secret, &format!("POST {stdin}"), "before\n").await?;
    until_printed(&server, &ann, &id, "before").await?;
    good(&ask(&server, &ann, "DELETE", &format!("/v1/tokens/{revoked}"), &Value::Null).await?, 204)?;
    let answer = raw::read(&mut stream, true).await.context("the request goes on")?;
    ensure!(answer.status == 400, "{}: {}", answer.status, answer.text());
    // The server may have closed the connection.
    let _ = stream.write_all(chunked("after\n").as_bytes()).await;
    let bearer = format!("Bearer {ann}");
    let last =
        raw::request(server.address(), "POST", &stdin, &[("Authorization", &bearer)], b"last\n").await?;
    good(&last, 204)?;
    until_printed(&server, &ann, &id, "last").await?;
    let told = printed(&server, &ann, &id).await?;
    ensure!(!told.contains("after"), "what was revoked typed: {told}");
    Ok(())
}

#[tokio::test]
async fn a_file_and_an_archive_that_arrive_while_their_token_is_revoked_are_refused() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let files = format!("/v1/sessions/{}/files", session(&server, &ann).await?);
    for path in [format!("{files}/content?path=a.txt"), format!("{files}/archive")] {
        let (revoked, secret) = token(&server, &ann).await?;
        let mut stream = begun(&server, &secret, &format!("PUT {path}"), "some bytes").await?;
        good(&ask(&server, &ann, "DELETE", &format!("/v1/tokens/{revoked}"), &Value::Null).await?, 204)?;
        let answer = raw::read(&mut stream, true).await.with_context(|| path.clone())?;
        ensure!(answer.status == 400, "{path}: {}: {}", answer.status, answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn input_of_a_removed_editor_is_refused() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let one = session(&server, &ann).await?;
    let id = waiting(&server, &ann, &one).await?;
    let member = format!("/v1/sessions/{one}/members/bob");
    good(&ask(&server, &ann, "PUT", &member, &json!({"role": "editor"})).await?, 200)?;
    let line = format!("POST /v1/executions/{id}/stdin");
    let mut stream = begun(&server, &bob, &line, "before\n").await?;
    until_printed(&server, &ann, &id, "before").await?;
    good(&ask(&server, &ann, "DELETE", &member, &Value::Null).await?, 204)?;
    let answer = raw::read(&mut stream, true).await.context("the request goes on")?;
    ensure!(answer.status == 400, "{}: {}", answer.status, answer.text());
    Ok(())
}
