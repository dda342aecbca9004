//! Tickets: one opens a stream, resumes it over restarts of the server, and is valid for nothing else.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::http::{self, Response, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::accounts::{server, signed_in, user, waiting};
use crate::shares::link;

const SOCKET: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];
const RESUME: [(&str, &str); 1] = [("Last-Event-ID", "start")];

async fn ticket(api: &Api) -> Result<String> {
    Ok(text(&json_of(&api.post("/v1/tickets", &Value::Null).await?, 201)?["ticket"]))
}

/// The head of the answer to a GET of this path with this ticket.
async fn open(server: &TestServer, path: &str, ticket: &str, headers: &[(&str, &str)]) -> Result<Response> {
    let mark = if path.contains('?') { '&' } else { '?' };
    server.anonymous().head("GET", &format!("{path}{mark}token={ticket}"), headers, &Value::Null).await
}

async fn status(server: &TestServer, path: &str, ticket: &str, headers: &[(&str, &str)]) -> Result<u16> {
    Ok(open(server, path, ticket, headers).await?.status)
}

#[tokio::test]
async fn a_ticket_resumes_the_stream_that_it_opened_even_after_the_server_was_killed() -> Result<()> {
    let mut server = server("").await?;
    let ann = user(&server, "ann").await?;
    let home = ann.session(&json!({})).await?;
    let id = waiting(&ann, &home).await?;
    let paths = [
        format!("/v1/executions/{id}/events?until=closed"),
        format!("/v1/sessions/{home}/events"),
        format!("/v1/sessions/{home}/files/watch"),
        "/v1/conversations/talk/events".to_owned(),
        "/tool-progress/talk".to_owned(),
    ];
    let mut tickets = Vec::new();
    for path in &paths {
        let ticket = ticket(&ann).await?;
        ensure!(status(&server, path, &ticket, &[]).await? == 200, "{path}");
        ensure!(status(&server, path, &ticket, &[]).await? == 401, "{path}: it opened the stream twice");
        ensure!(status(&server, path, &ticket, &RESUME).await? == 200, "{path}: it does not resume");
        tickets.push(ticket);
    }
    server.kill();
    server.start_again().await?;
    for (path, ticket) in paths.iter().zip(&tickets) {
        for _ in 0..2 {
            let resumed = status(&server, path, ticket, &RESUME).await?;
            ensure!(resumed == 200, "{path}: {resumed} after a restart");
        }
        ensure!(status(&server, path, ticket, &[]).await? == 401, "{path}: it opened the stream again");
    }
    let store = std::fs::read(server.data().join("store.db"))?;
    ensure!(!headwater_tests::host::contains(&store, tickets[0].as_bytes()), "the store holds a ticket");
    Ok(())
}

#[tokio::test]
async fn a_stream_of_a_ticket_begins_with_an_id_so_that_a_client_has_one_to_come_back_with() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let id = waiting(&ann, &ann.session(&json!({})).await?).await?;
    let first = async |headers: &[(&str, &str)], ticket: &str| -> Result<String> {
        let path = format!("/v1/executions/{id}/events?token={ticket}");
        let mut stream = server.anonymous().open("GET", &path, headers, &Value::Null).await?;
        let mut got = http::read(&mut stream, false).await?;
        while !got.text().contains("event: started") && !got.text().contains("retry: 1000") {
            ensure!(stream.read_buf(&mut got.body).await? > 0, "it ended");
        }
        Ok(got.text())
    };
    let ticket = ticket(&ann).await?;
    let opened = first(&[], &ticket).await?;
    let (id_at, retry_at) = (opened.find("id: start\n\n"), opened.find("retry: 1000"));
    ensure!(id_at.is_some() && id_at < retry_at, "{opened}");
    let resumed = first(&RESUME, &ticket).await?;
    ensure!(!resumed.contains("id: start"), "it would move the position: {resumed}");
    Ok(())
}

#[tokio::test]
async fn a_ticket_is_refused_for_any_other_stream_or_route() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let home = ann.session(&json!({})).await?;
    let (id, other) = (waiting(&ann, &home).await?, waiting(&ann, &home).await?);
    let ticket = ticket(&ann).await?;
    let own = format!("/v1/executions/{id}/events?streams=stdout");
    ensure!(status(&server, &own, &ticket, &[]).await? == 200);
    let mut socket = SOCKET.to_vec();
    socket.extend(RESUME);
    for (path, headers) in [
        (format!("/v1/executions/{other}/events?streams=stdout"), &RESUME[..]),
        (format!("/v1/executions/{id}/events?streams=stderr"), &RESUME[..]),
        (format!("/v1/executions/{id}/events"), &RESUME[..]),
        (format!("/v1/sessions/{home}/events"), &RESUME[..]),
        (format!("/v1/executions/{id}/attach?after=0"), &socket[..]),
        (format!("/v1/sessions/{home}/terminal?after=0"), &socket[..]),
        ("/v1/me".to_owned(), &RESUME[..]),
        (own.clone(), &[]),
        (own.clone(), &[("Last-Event-ID", " ")]),
    ] {
        let got = status(&server, &path, &ticket, headers).await?;
        ensure!(got == 401, "{path} answered {got}");
    }
    let guess = format!("{}0", &ticket[..ticket.len() - 1]);
    ensure!(status(&server, &own, &guess, &RESUME).await? == 401 || guess == ticket, "a guess is taken");
    // The other spelling of the same path is the same stream, and a resume may move on.
    let spelled = own.replace("/v1/", "/api/v1/") + "&after=1&tail=5";
    ensure!(status(&server, &spelled, &ticket, &RESUME).await? == 200);
    Ok(())
}

#[tokio::test]
async fn a_ticket_resumes_its_socket_with_a_position_and_not_without() -> Result<()> {
    let mut server = server("").await?;
    let ann = user(&server, "ann").await?;
    let home = ann.session(&json!({})).await?;
    let id = waiting(&ann, &home).await?;
    let paths = [
        format!("/v1/executions/{id}/attach"),
        format!("/v1/sessions/{home}/terminal"),
        format!("/v1/sessions/{home}/files/watch"),
    ];
    let mut tickets = Vec::new();
    for path in &paths {
        let ticket = ticket(&ann).await?;
        ensure!(status(&server, path, &ticket, &SOCKET).await? == 101, "{path}");
        ensure!(status(&server, path, &ticket, &SOCKET).await? == 401, "{path}: it opened twice");
        tickets.push(ticket);
    }
    server.kill();
    server.start_again().await?;
    for (path, ticket) in paths.iter().zip(&tickets) {
        let after = format!("{path}?after=1");
        ensure!(status(&server, &after, ticket, &SOCKET).await? == 101, "{path}: it does not resume");
        ensure!(status(&server, path, ticket, &SOCKET).await? == 401, "{path}: it opened again");
        ensure!(status(&server, &after, ticket, &RESUME).await? == 401, "{path}: as events");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_whose_server_was_killed_before_it_answered_may_open_its_stream_again() -> Result<()> {
    let mut server = server("").await?;
    let ann = user(&server, "ann").await?;
    let id = waiting(&ann, &ann.session(&json!({})).await?).await?;
    let (path, other) =
        (format!("/v1/executions/{id}/events"), format!("/v1/executions/{id}/events?tail=1&until=exited"));
    let ticket = ticket(&ann).await?;
    ensure!(status(&server, &path, &ticket, &[]).await? == 200);
    server.kill();
    server.start_again().await?;
    ensure!(status(&server, &other, &ticket, &[]).await? == 401, "another stream");
    ensure!(status(&server, &path, &ticket, &[]).await? == 200, "it has no id to come back with");
    ensure!(status(&server, &path, &ticket, &[]).await? == 401, "once for each server");
    Ok(())
}

#[tokio::test]
async fn a_ticket_ends_with_the_credential_that_it_was_made_with() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let home = ann.session(&json!({})).await?;
    let id = waiting(&ann, &home).await?;
    let path = format!("/v1/executions/{id}/events");
    let opened = async |api: &Api| -> Result<String> {
        let ticket = ticket(api).await?;
        let opened = status(&server, &path, &ticket, &[]).await?;
        ensure!(opened == 200, "it opened nothing: {opened}");
        ensure!(status(&server, &path, &ticket, &RESUME).await? == 200, "it does not resume");
        Ok(ticket)
    };
    let ends = async |what: &str, ticket: &str| {
        let is_refused = async || {
            status(&server, &path, ticket, &RESUME).await.is_ok_and(|status| status == 401 || status == 404)
        };
        eventually(&format!("the ticket ends with {what}"), is_refused).await
    };
    let again = signed_in(&server, "ann").await?;
    let (first, second) = (opened(&ann).await?, opened(&again).await?);
    json_of(&again.post("/v1/logout", &Value::Null).await?, 204)?;
    ends("its sign-in", &second).await?;
    ensure!(status(&server, &path, &first, &RESUME).await? == 200, "another sign-in ended it");

    let made = json_of(&ann.post("/v1/tokens", &json!({"name": "x"})).await?, 201)?;
    let of_token = opened(&server.api_with(&text(&made["token"]))).await?;
    let revoke = format!("/v1/tokens/{}", text(&made["id"]));
    json_of(&ann.delete(&revoke).await?, 204)?;
    ends("its token", &of_token).await?;

    let (share, secret) = link(&ann, &home, "read").await?;
    let of_link = opened(&secret).await?;
    let path_of_link = format!("/v1/sessions/{home}/shares/{share}");
    json_of(&ann.delete(&path_of_link).await?, 204)?;
    ends("its link", &of_link).await?;

    let bob = user(&server, "bob").await?;
    let member = format!("/v1/sessions/{home}/members/bob");
    ann.put(&member, &json!({"role": "viewer"})).await?;
    let of_member = opened(&bob).await?;
    ann.delete(&member).await?;
    ends("the membership", &of_member).await?;

    json_of(&server.api().patch("/v1/users/ann", &json!({"disabled": true})).await?, 200)?;
    ends("its user", &first).await.context("a disabled user")?;
    Ok(())
}
