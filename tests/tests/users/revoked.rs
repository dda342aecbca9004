//! What ends takes its open streams along: signing out, being disabled, another password, a membership, a link.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::PATIENCE;
use headwater_tests::http::json_of;
use headwater_tests::{Api, Received, Socket, SseStream};
use serde_json::{Value, json};

use crate::accounts::{Shared, add_user, server, shared, signed_in, user, waiting};
use crate::shares::link;

/// An execution's events and its socket, open.
struct Streams {
    events: SseStream,
    socket: Socket,
}

impl Streams {
    async fn open(api: &Api, execution: &str) -> Result<Self> {
        let path = format!("/v1/executions/{execution}");
        let events = api.stream(&format!("{path}/events")).await?;
        Ok(Self { events, socket: api.socket(&format!("{path}/attach")).await? })
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
        tokio::time::timeout(PATIENCE, both).await.context("a stream goes on")?
    }
}

#[tokio::test]
async fn signing_out_ends_the_streams_of_this_sign_in_and_no_others() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let again = signed_in(&server, "ann").await?;
    let id = waiting(&ann, &ann.session(&json!({})).await?).await?;
    let streams = Streams::open(&ann, &id).await?;
    let mut other = again.socket(&format!("/v1/executions/{id}/attach")).await?;
    json_of(&ann.post("/v1/logout", &Value::Null).await?, 204)?;
    streams.end().await?;
    other.send(0x10, b"still here\n").await?;
    loop {
        match other.next().await? {
            Received::Output(_, _, bytes) if String::from_utf8_lossy(&bytes).contains("still here") => break,
            Received::Close(code, reason) => anyhow::bail!("the other sign-in ended: {code} {reason}"),
            _ => {}
        }
    }
    json_of(&again.post("/v1/logout", &json!({"everywhere": true})).await?, 204)?;
    Ok(())
}

#[tokio::test]
async fn a_disabled_user_and_one_with_another_password_lose_their_streams() -> Result<()> {
    let server = server("").await?;
    for (name, change) in [("ann", json!({"disabled": true})), ("bob", json!({"password": "another horse"}))]
    {
        let jwt = user(&server, name).await?;
        let id = waiting(&jwt, &jwt.session(&json!({})).await?).await?;
        let streams = Streams::open(&jwt, &id).await?;
        let path = format!("/v1/users/{name}");
        json_of(&server.api().patch(&path, &change).await?, 200)?;
        streams.end().await?;
        let status = jwt.get("/v1/me").await?.status;
        ensure!(status == 401, "{name}: {status}");
    }
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_membership_and_of_a_link_ends_their_streams() -> Result<()> {
    let server = server("").await?;
    let Shared { ann, bob, session: one, execution: id, member } = shared(&server, "viewer").await?;
    let (share, token) = link(&ann, &one, "read").await?;
    let (of_bob, of_link) = (Streams::open(&bob, &id).await?, Streams::open(&token, &id).await?);
    json_of(&ann.delete(&member).await?, 204)?;
    of_bob.end().await?;
    let path = format!("/v1/sessions/{one}/shares/{share}");
    json_of(&ann.delete(&path).await?, 204)?;
    of_link.end().await?;
    let status = bob.get("/v1/me").await?.status;
    ensure!(status == 200, "bob himself is refused: {status}");
    Ok(())
}

#[tokio::test]
async fn an_editor_that_becomes_a_viewer_loses_the_socket_it_could_type_into() -> Result<()> {
    let server = server("").await?;
    let Shared { ann, bob, execution: id, member, .. } = shared(&server, "editor").await?;
    let mut socket = bob.socket(&format!("/v1/executions/{id}/attach")).await?;
    json_of(&ann.put(&member, &json!({"role": "viewer"})).await?, 200)?;
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
        let jwt = signed_in(&server, name).await?;
        let id = waiting(&jwt, &jwt.session(&json!({})).await?).await?;
        let streams = Streams::open(&jwt, &id).await?;
        let path = format!("/v1/users/{name}");
        json_of(&server.api().patch(&path, &json!({"role": to})).await?, 200)?;
        streams.end().await.with_context(|| format!("{from} to {to}"))?;
        let status = jwt.get("/v1/me").await?.status;
        ensure!(status == 200, "{name} is refused: {status}");
    }
    Ok(())
}
