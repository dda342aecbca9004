//! What ends takes its open streams along: signing out, being disabled, another password, a membership, a link.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_tests::{Received, Socket, SseStream, TestServer};
use serde_json::{Value, json};

use crate::ground::{add_user, ask, good, server, session, sign_in, text, user, waiting};
use crate::shares::link;

/// An execution's events and its socket, open.
struct Streams {
    events: SseStream,
    socket: Socket,
}

impl Streams {
    async fn open(server: &TestServer, token: &str, execution: &str) -> Result<Self> {
        let path = format!("/v1/executions/{execution}");
        let events = SseStream::open_as(server, token, &format!("{path}/events"), &[], "").await?;
        Ok(Self { events, socket: Socket::open_with(server, &format!("{path}/attach"), token).await? })
    }

    /// Waits until both have ended, the socket with a reason.
    async fn end(mut self) -> Result<()> {
        let both = async {
            while self.events.next().await?.is_some() {}
            loop {
                if let Received::Close(code, _) = self.socket.next().await? {
                    ensure!(code == 1008, "the socket closed with {code}");
                    return Ok(());
                }
            }
        };
        tokio::time::timeout(Duration::from_mins(1), both).await.context("a stream goes on")?
    }
}

#[tokio::test]
async fn signing_out_ends_the_streams_of_this_sign_in_and_no_others() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let again = crate::ground::text(&crate::ground::sign_in(&server, "ann").await?["access_token"])?;
    let id = waiting(&server, &ann, &session(&server, &ann).await?).await?;
    let streams = Streams::open(&server, &ann, &id).await?;
    let mut other = Socket::open_with(&server, &format!("/v1/executions/{id}/attach"), &again).await?;
    good(&ask(&server, &ann, "POST", "/v1/logout", &Value::Null).await?, 204)?;
    streams.end().await?;
    other.send(0x10, b"still here\n").await?;
    loop {
        match other.next().await? {
            Received::Output(_, _, bytes) if String::from_utf8_lossy(&bytes).contains("still here") => break,
            Received::Close(code, reason) => anyhow::bail!("the other sign-in ended: {code} {reason}"),
            _ => {}
        }
    }
    good(&ask(&server, &again, "POST", "/v1/logout", &json!({"everywhere": true})).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn a_disabled_user_and_one_with_another_password_lose_their_streams() -> Result<()> {
    let server = server("").await?;
    for (name, change) in [("ann", json!({"disabled": true})), ("bob", json!({"password": "another horse"}))]
    {
        let jwt = user(&server, name).await?;
        let id = waiting(&server, &jwt, &session(&server, &jwt).await?).await?;
        let streams = Streams::open(&server, &jwt, &id).await?;
        let path = format!("/v1/users/{name}");
        good(&ask(&server, server.token(), "PATCH", &path, &change).await?, 200)?;
        streams.end().await?;
        let status = ask(&server, &jwt, "GET", "/v1/me", &Value::Null).await?.status;
        ensure!(status == 401, "{name}: {status}");
    }
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_membership_and_of_a_link_ends_their_streams() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let one = session(&server, &ann).await?;
    let id = waiting(&server, &ann, &one).await?;
    let member = format!("/v1/sessions/{one}/members/bob");
    good(&ask(&server, &ann, "PUT", &member, &json!({"role": "viewer"})).await?, 200)?;
    let (share, token) = link(&server, &ann, &one, "read").await?;
    let (of_bob, of_link) =
        (Streams::open(&server, &bob, &id).await?, Streams::open(&server, &token, &id).await?);
    good(&ask(&server, &ann, "DELETE", &member, &Value::Null).await?, 204)?;
    of_bob.end().await?;
    let path = format!("/v1/sessions/{one}/shares/{share}");
    good(&ask(&server, &ann, "DELETE", &path, &Value::Null).await?, 204)?;
    of_link.end().await?;
    let status = ask(&server, &bob, "GET", "/v1/me", &Value::Null).await?.status;
    ensure!(status == 200, "bob himself is refused: {status}");
    Ok(())
}

#[tokio::test]
async fn an_editor_that_becomes_a_viewer_loses_the_socket_it_could_type_into() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let one = session(&server, &ann).await?;
    let id = waiting(&server, &ann, &one).await?;
    let member = format!("/v1/sessions/{one}/members/bob");
    good(&ask(&server, &ann, "PUT", &member, &json!({"role": "editor"})).await?, 200)?;
    let mut socket = Socket::open_with(&server, &format!("/v1/executions/{id}/attach"), &bob).await?;
    good(&ask(&server, &ann, "PUT", &member, &json!({"role": "viewer"})).await?, 200)?;
    loop {
        if let Received::Close(code, _) = socket.next().await? {
            ensure!(code == 1008, "{code}");
            return Ok(());
        }
    }
}

#[tokio::test]
async fn a_user_that_loses_a_role_loses_its_open_sockets() -> Result<()> {
    let server = server("").await?;
    for (name, from, to) in
        [("ann", "member", "reader"), ("bob", "admin", "member"), ("eve", "admin", "reader")]
    {
        add_user(&server, name, from).await?;
        let jwt = text(&sign_in(&server, name).await?["access_token"])?;
        let id = waiting(&server, &jwt, &session(&server, &jwt).await?).await?;
        let streams = Streams::open(&server, &jwt, &id).await?;
        let path = format!("/v1/users/{name}");
        good(&ask(&server, server.token(), "PATCH", &path, &json!({"role": to})).await?, 200)?;
        streams.end().await.with_context(|| format!("{from} to {to}"))?;
        let status = ask(&server, &jwt, "GET", "/v1/me", &Value::Null).await?.status;
        ensure!(status == 200, "{name} is refused: {status}");
    }
    Ok(())
}
