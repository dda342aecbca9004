//! The route table for members and links of a session (a viewer, an editor, links to read and to write) and for a user
//! that signed in with a password.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::http::Response;

use crate::route_permissions::{For, Routes, TABLE, admitted};

/// A member or a link of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    Viewer,
    Editor,
    ReadLink,
    WriteLink,
}

impl Actor {
    fn is_link(self) -> bool {
        matches!(self, Self::ReadLink | Self::WriteLink)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Editor | Self::WriteLink)
    }
}

/// Whether a row is about the session.
fn is_shared(path: &str, body: &str) -> bool {
    // A conversation has members and links of its own.
    if path.starts_with("/v1/conversations/{id}") || path.starts_with("/v1/chat/") {
        return false;
    }
    path.contains("{id}") || path.contains("{execution_id}") || body.contains("SESSION")
}

/// Links are for one session: they show nothing of other users and nothing across sessions.
fn is_closed_to_links(path: &str) -> bool {
    path.contains("/members")
        || path.contains("{conversation_id}")
        || path == "/v1/conversations"
        || path.starts_with("/v1/chat/")
        || path.starts_with("/v1/audit")
        || path.ends_with("/fork") // makes a session
}

/// Whether the request was admitted. A 404 for something that is gone by now is not a refusal: a refusal names the session.
fn is_admitted(routes: &Routes, answer: &Response) -> bool {
    let info = answer.json().map(|info| info["error"]["message"].to_string()).unwrap_or_default();
    let names_it = info.contains(&routes.session) || info.contains(&routes.execution);
    admitted(answer.status) || (answer.status == 404 && !names_it)
}

fn fits(routes: &Routes, actor: Actor, row: (&str, &str, For, &str), answer: &Response) -> bool {
    let (_, path, who, body) = row;
    let closed = actor.is_link() && is_closed_to_links(path);
    match who {
        For::All => true,
        For::Users => {
            if closed {
                answer.status == 403
            } else {
                admitted(answer.status)
            }
        }
        For::Writers if actor.is_link() => answer.status == 403,
        For::Writers => admitted(answer.status),
        // With their session links have ended.
        For::Admins if actor.is_link() && answer.status == 401 => row.0 == "DELETE",
        For::Owner | For::OwnerWrites | For::OwnerOnly if !is_shared(path, body) => answer.status == 404,
        For::Owner => {
            if closed {
                answer.status == 403
            } else {
                is_admitted(routes, answer)
            }
        }
        For::OwnerWrites if actor.writes() && !closed => is_admitted(routes, answer),
        For::Admins | For::OwnerWrites | For::OwnerOnly => answer.status == 403,
    }
}

/// Checks a row of the table for a member or a link.
async fn check(routes: &Routes, actor: Actor, token: &str, row: (&str, &str, For, &str)) -> Result<()> {
    let (method, path, _, body) = row;
    let answer = routes.ask(method, path, token, body).await?;
    let status = answer.status;
    ensure!(fits(routes, actor, row, &answer), "{method} {path}: {actor:?}: {status} {}", answer.text());
    Ok(())
}

async fn sign_in(routes: &Routes) -> Result<String> {
    let body = r#"{"name":"Ann","password":"correct horse"}"#;
    let info = routes.ask("POST", "/v1/login", "", body).await?.json()?;
    Ok(info["access_token"].as_str().with_context(|| format!("{info}"))?.to_owned())
}

#[tokio::test]
async fn every_route_admits_members_links_and_signed_in_users_as_the_table_says() -> Result<()> {
    let server = TestServer::start().await?;
    let ann = server.make_token(&["--user", "ann"])?;
    let (vera, ed) = (server.make_token(&["--user", "vera"])?, server.make_token(&["--user", "ed"])?);
    let routes = Routes::new(server, &ann).await?;
    for (name, role) in [("vera", "viewer"), ("ed", "editor")] {
        let body = format!(r#"{{"role":"{role}"}}"#);
        let put = routes.ask("PUT", &format!("/v1/sessions/{{id}}/members/{name}"), &ann, &body).await?;
        ensure!(put.status == 200, "{}", put.text());
    }
    let mut links = Vec::new();
    for access in ["read", "write"] {
        let body = format!(r#"{{"access":"{access}"}}"#);
        let made = routes.ask("POST", "/v1/sessions/{id}/shares", &ann, &body).await?.json()?;
        links.push(made["token"].as_str().context("no link")?.to_owned());
    }
    let jwt = sign_in(&routes).await?;
    let admin = routes.server.token().to_owned();
    let actors = [
        (Actor::Viewer, &vera),
        (Actor::ReadLink, &links[0]),
        (Actor::Editor, &ed),
        (Actor::WriteLink, &links[1]),
    ];
    for row in TABLE.iter().copied() {
        let (method, path, who, body) = row;
        // Those that may write come after the owner, so that they remove nothing before it.
        let (looking, writing) = actors.split_at(if who == For::OwnerOnly { 4 } else { 2 });
        for (actor, token) in looking {
            check(&routes, *actor, token, row).await?;
        }
        let owner = if who == For::Admins { &admin } else { &jwt };
        // This sign-in is not used again.
        let passing = if path == "/v1/logout" { sign_in(&routes).await? } else { owner.clone() };
        let answer = routes.ask(method, path, &passing, body).await?;
        let fits_owner = who == For::All || admitted(answer.status);
        ensure!(fits_owner, "{method} {path}: signed in: {} {}", answer.status, answer.text());
        for (actor, token) in writing {
            check(&routes, *actor, token, row).await?;
        }
    }
    Ok(())
}
