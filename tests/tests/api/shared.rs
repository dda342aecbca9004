//! The route table once more: for those with whom the owner shares a session (a viewer, an editor, links to look and to
//! write) and for a user that signed in with a password.

use anyhow::{Context, Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::raw::Raw;

use crate::table::{For, Scene, TABLE, let_through};

/// What somebody may do with the session that is shared with them.
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
    path.contains("{id}") || path.contains("{execution_id}") || body.contains("SESSION")
}

/// Links are for one session: they show nothing of anybody else, and nothing across sessions.
fn is_closed_to_links(path: &str) -> bool {
    path.contains("/members")
        || path.contains("{conversation_id}")
        || path.starts_with("/v1/audit")
        || path.ends_with("/fork") // makes a session
}

/// Whether an answer is one of who was let in. What is gone by now is no refusal: that names the session.
fn is_let_in(scene: &Scene, answer: &Raw) -> bool {
    let told = answer.json().map(|told| told["error"]["message"].to_string()).unwrap_or_default();
    let names_it = told.contains(&scene.session) || told.contains(&scene.execution);
    let_through(answer.status) || (answer.status == 404 && !names_it)
}

fn fits(scene: &Scene, actor: Actor, row: (&str, &str, For, &str), answer: &Raw) -> bool {
    let (_, path, who, body) = row;
    let closed = actor.is_link() && is_closed_to_links(path);
    match who {
        For::All => true,
        For::Users => {
            if closed {
                answer.status == 403
            } else {
                let_through(answer.status)
            }
        }
        For::Writers if actor.is_link() => answer.status == 403,
        For::Writers => let_through(answer.status),
        // With their session links have ended.
        For::Admins if actor.is_link() && answer.status == 401 => row.0 == "DELETE",
        For::Owner | For::OwnerWrites | For::OwnerOnly if !is_shared(path, body) => answer.status == 404,
        For::Owner => {
            if closed {
                answer.status == 403
            } else {
                is_let_in(scene, answer)
            }
        }
        For::OwnerWrites if actor.writes() && !closed => is_let_in(scene, answer),
        For::Admins | For::OwnerWrites | For::OwnerOnly => answer.status == 403,
    }
}

async fn sign_in(scene: &Scene) -> Result<String> {
    let body = r#"{"name":"Ann","password":"correct horse"}"#;
    let told = scene.ask("POST", "/v1/login", "", body).await?.json()?;
    Ok(told["access_token"].as_str().with_context(|| format!("{told}"))?.to_owned())
}

#[tokio::test]
async fn every_route_admits_members_links_and_signed_in_users_as_the_table_says() -> Result<()> {
    let server = TestServer::start().await?;
    let ann = server.make_token(&["--user", "ann"])?;
    let (vera, ed) = (server.make_token(&["--user", "vera"])?, server.make_token(&["--user", "ed"])?);
    let scene = Scene::new(server, &ann).await?;
    for (name, role) in [("vera", "viewer"), ("ed", "editor")] {
        let body = format!(r#"{{"role":"{role}"}}"#);
        let put = scene.ask("PUT", &format!("/v1/sessions/{{id}}/members/{name}"), &ann, &body).await?;
        ensure!(put.status == 200, "{}", put.text());
    }
    let mut links = Vec::new();
    for access in ["read", "write"] {
        let body = format!(r#"{{"access":"{access}"}}"#);
        let made = scene.ask("POST", "/v1/sessions/{id}/shares", &ann, &body).await?.json()?;
        links.push(made["token"].as_str().context("no link")?.to_owned());
    }
    let jwt = sign_in(&scene).await?;
    let admin = scene.server.token().to_owned();
    let actors = [
        (Actor::Viewer, &vera),
        (Actor::ReadLink, &links[0]),
        (Actor::Editor, &ed),
        (Actor::WriteLink, &links[1]),
    ];
    for row in TABLE.iter().copied() {
        let (method, path, who, body) = row;
        // Those that may write come after the owner, so that they take nothing away from it.
        let (looking, writing) = actors.split_at(if who == For::OwnerOnly { 4 } else { 2 });
        for (actor, token) in looking {
            let answer = scene.ask(method, path, token, body).await?;
            let status = answer.status;
            ensure!(
                fits(&scene, *actor, row, &answer),
                "{method} {path}: {actor:?}: {status} {}",
                answer.text()
            );
        }
        let owner = if who == For::Admins { &admin } else { &jwt };
        // Who signs out is not needed any more.
        let passing = if path == "/v1/logout" { sign_in(&scene).await? } else { owner.clone() };
        let answer = scene.ask(method, path, &passing, body).await?;
        let fits_owner = who == For::All || let_through(answer.status);
        ensure!(fits_owner, "{method} {path}: signed in: {} {}", answer.status, answer.text());
        for (actor, token) in writing {
            let answer = scene.ask(method, path, token, body).await?;
            let status = answer.status;
            ensure!(
                fits(&scene, *actor, row, &answer),
                "{method} {path}: {actor:?}: {status} {}",
                answer.text()
            );
        }
    }
    Ok(())
}
