//! Sharing a session: members with roles, and links that are for one session only.

use anyhow::{Result, ensure};
use headwater_tests::http::{json_of, text};
use headwater_tests::{Api, Received};
use serde_json::{Value, json};

use crate::accounts::{add_user, me_status, server, signed_in, user, waiting};

async fn put(api: &Api, session: &str, user: &str, role: &str) -> Result<u16> {
    let path = format!("/v1/sessions/{session}/members/{user}");
    Ok(api.put(&path, &json!({"role": role})).await?.status)
}

pub(crate) async fn link(api: &Api, session: &str, access: &str) -> Result<(String, Api)> {
    let path = format!("/v1/sessions/{session}/shares");
    let made = json_of(&api.post(&path, &json!({"access": access})).await?, 201)?;
    Ok((text(&made["id"]), Api::new(api.address(), &text(&made["token"]))))
}

#[tokio::test]
async fn a_session_is_visible_to_its_members_and_nobody_else() -> Result<()> {
    let server = server("").await?;
    let (ann, bob, eve) =
        (user(&server, "ann").await?, user(&server, "bob").await?, user(&server, "eve").await?);
    let one = ann.session(&json!({})).await?;
    let execution = waiting(&ann, &one).await?;
    let (at, look) = (format!("/v1/executions/{execution}"), format!("/v1/sessions/{one}"));
    let status = async |who: &Api, method: &str, path: &str, body: &Value| -> Result<u16> {
        Ok(who.send(method, path, &[], body).await?.status)
    };
    ensure!(status(&bob, "GET", &look, &Value::Null).await? == 404);
    ensure!(put(&bob, &one, "bob", "editor").await? == 404, "bob lets himself in");
    ensure!(put(&ann, &one, "BOB", "viewer").await? == 200);
    ensure!(put(&ann, &one, "ann", "viewer").await? == 409, "the owner is no member");
    let stdin = format!("{at}/signal");
    let signal = json!({"signal": "SIGCONT"});
    ensure!(status(&bob, "GET", &look, &Value::Null).await? == 200);
    ensure!(status(&bob, "GET", &at, &Value::Null).await? == 200);
    ensure!(status(&bob, "POST", &stdin, &signal).await? == 403, "a viewer touches");
    ensure!(put(&bob, &one, "eve", "viewer").await? == 403, "a viewer lets others in");
    ensure!(put(&ann, &one, "bob", "editor").await? == 200);
    ensure!(status(&bob, "POST", &stdin, &signal).await? < 300, "an editor cannot touch");
    ensure!(put(&bob, &one, "eve", "viewer").await? == 403, "an editor lets others in");
    ensure!(status(&bob, "DELETE", &look, &Value::Null).await? == 403, "an editor removes the session");
    // An idle timeout deletes the workspace, as `DELETE` does: it is the owner's.
    let soon = json!({"idle_timeout_ms": 1});
    ensure!(status(&bob, "PATCH", &look, &soon).await? == 403, "an editor has the session end by itself");
    ensure!(status(&bob, "PATCH", &look, &json!({"metadata": {"a": "b"}})).await? == 200);
    ensure!(status(&ann, "PATCH", &look, &json!({"idle_timeout_ms": 86_400_000})).await? == 200);
    ensure!(status(&eve, "GET", &look, &Value::Null).await? == 404, "eve sees it");
    ensure!(status(&eve, "GET", &at, &Value::Null).await? == 404, "eve sees what runs in it");
    let started = waiting(&bob, &one).await?;
    let info = ann.get(&format!("/v1/executions?session_id={one}")).await?.text();
    ensure!(info.contains(&started), "the owner does not see what an editor started: {info}");
    let info = bob.get(&format!("/v1/executions?session_id={one}")).await?.text();
    ensure!(info.contains(&execution), "a member does not see what the owner started: {info}");
    let members = json_of(&ann.get(&format!("{look}/members")).await?, 200)?;
    ensure!(members["owner"] == "ann" && members["items"][0]["user"] == "bob", "{members}");
    ensure!(members["items"][0]["role"] == "editor", "{members}");
    let leave = format!("{look}/members/bob");
    ensure!(status(&eve, "DELETE", &leave, &Value::Null).await? == 404);
    ensure!(status(&bob, "DELETE", &leave, &Value::Null).await? == 204, "bob cannot leave");
    ensure!(status(&bob, "GET", &look, &Value::Null).await? == 404, "bob has left and sees it");
    Ok(())
}

#[tokio::test]
async fn shared_sessions_are_listed_separately_and_in_pages() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let mut shared = Vec::new();
    for number in 0..4 {
        let id = ann.session(&json!({})).await?;
        if number % 2 == 0 {
            ensure!(put(&ann, &id, "bob", "viewer").await? == 200);
            shared.insert(0, id);
        }
    }
    let own = bob.session(&json!({})).await?;
    let list = async |query: &str| -> Result<(Vec<Value>, Value)> {
        let path = format!("/v1/sessions?{query}");
        let info = json_of(&bob.get(&path).await?, 200)?;
        let ids = info["items"].as_array().into_iter().flatten().map(|item| item["id"].clone()).collect();
        Ok((ids, info["next_cursor"].clone()))
    };
    ensure!(list("").await?.0 == [json!(own)], "what is shared is among his own");
    let (first, next) = list("shared=true&limit=1").await?;
    let (second, end) = list(&format!("shared=true&limit=1&cursor={}", text(&next))).await?;
    ensure!(
        [first, second].concat() == [json!(shared[0]), json!(shared[1])] && end.is_null(),
        "pages differ"
    );
    Ok(())
}

#[tokio::test]
async fn a_link_opens_one_session_over_every_transport_and_nothing_else() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let (one, other) = (ann.session(&json!({})).await?, ann.session(&json!({})).await?);
    let execution = waiting(&ann, &one).await?;
    let hidden = waiting(&ann, &other).await?;
    let (_, reads) = link(&ann, &one, "read").await?;
    let (_, writes) = link(&ann, &one, "write").await?;
    let start = format!("/v1/sessions/{one}/executions");
    let shell = json!({"shell": "true"});
    for (token, method, path, body, expected) in [
        (&reads, "GET", format!("/v1/sessions/{one}"), Value::Null, 200),
        (&reads, "GET", format!("/v1/executions/{execution}"), Value::Null, 200),
        (&reads, "POST", start.clone(), shell.clone(), 403),
        (&writes, "POST", start, shell.clone(), 201),
        (&writes, "GET", format!("/v1/sessions/{other}"), Value::Null, 404),
        (&writes, "GET", format!("/v1/executions/{hidden}"), Value::Null, 404),
        (&writes, "POST", format!("/v1/sessions/{other}/executions"), shell.clone(), 404),
        (&writes, "POST", "/v1/sessions".into(), json!({}), 403),
        (&writes, "POST", "/v1/executions".into(), shell, 403),
        (&writes, "POST", "/v1/tokens".into(), json!({}), 403),
        (&writes, "POST", format!("/v1/sessions/{one}/shares"), json!({"access": "write"}), 403),
        (&writes, "PUT", format!("/v1/sessions/{one}/members/eve"), json!({"role": "editor"}), 403),
        (&writes, "POST", format!("/v1/sessions/{one}/fork"), json!({}), 403),
        (&writes, "DELETE", format!("/v1/sessions/{one}"), Value::Null, 403),
        (&writes, "GET", "/metrics".into(), Value::Null, 403),
        (&writes, "GET", "/v1/users".into(), Value::Null, 403),
    ] {
        let got = token.send(method, &path, &[], &body).await?;
        ensure!(got.status == expected, "{method} {path}: {} {}", got.status, got.text());
    }
    let info = reads.get("/v1/sessions").await?.text();
    ensure!(info.contains(&one) && !info.contains(&other), "{info}");
    let info = reads.get("/v1/executions").await?.text();
    ensure!(info.contains(&execution) && !info.contains(&hidden), "{info}");
    let path = format!("/v1/executions/{execution}");
    let mut events = reads.stream(&format!("{path}/events")).await?;
    ensure!(events.json().await?["type"].is_string(), "no event");
    let mut socket = reads.socket(&format!("{path}/attach")).await?;
    socket.send(0x10, b"typed by a reader\n").await?;
    let mut typist = writes.socket(&format!("{path}/attach")).await?;
    typist.send(0x10, b"typed by a typist\n").await?;
    let mut printed = Vec::new();
    while !String::from_utf8_lossy(&printed).contains("typed by a typist") {
        if let Received::Output(_, _, bytes) = typist.next().await? {
            printed.extend(bytes);
        }
    }
    ensure!(!String::from_utf8_lossy(&printed).contains("typed by a reader"), "a reader typed");
    let late = json!({"access": "read", "expires_in_ms": 1});
    let made = ann.post(&format!("/v1/sessions/{one}/shares"), &late).await?.json()?;
    let expired = server.api_with(&text(&made["token"]));
    let over = async || me_status(&expired).await.is_ok_and(|status| status == 401);
    headwater_tests::host::eventually("a link expires", over).await?;
    for bad in [json!({}), json!({"access": "own"}), json!({"access": "read", "expires_in_ms": 0})] {
        let answer = ann.post(&format!("/v1/sessions/{one}/shares"), &bad).await?;
        ensure!(answer.status == 400, "{bad}: {}", answer.status);
    }
    Ok(())
}

#[tokio::test]
async fn a_link_that_writes_changes_no_limits() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let one = ann.session(&json!({})).await?;
    let (_, writes) = link(&ann, &one, "write").await?;
    let path = format!("/v1/sessions/{one}");
    let limits = json!({"limits": {"pids": 64}});
    for (who, body, expected) in [
        (&writes, limits.clone(), 403),
        (&writes, json!({"metadata": {"by": "link"}}), 200),
        (&ann, limits, 200),
    ] {
        let got = who.patch(&path, &body).await?;
        ensure!(got.status == expected, "{body}: {} {}", got.status, got.text());
    }
    Ok(())
}

#[tokio::test]
async fn a_link_allows_no_more_than_its_creator_is_allowed_now() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let one = ann.session(&json!({})).await?;
    add_user(&server, "ops", "admin").await?;
    let ops = signed_in(&server, "ops").await?;
    let (_, of_ann) = link(&ann, &one, "write").await?;
    let (_, of_ops) = link(&ops, &one, "write").await?;
    let (_, of_first) = link(&server.api(), &one, "write").await?;
    let (look, start) = (format!("/v1/sessions/{one}"), format!("/v1/sessions/{one}/executions"));
    let may = async |token: &Api| -> Result<(u16, u16)> {
        let looks = token.get(&look).await?.status;
        Ok((looks, token.post(&start, &json!({"shell": "true"})).await?.status))
    };
    let change = async |name: &str, change: Value| {
        json_of(&server.api().patch(&format!("/v1/users/{name}"), &change).await?, 200)
    };
    for token in [&of_ann, &of_ops, &of_first] {
        ensure!(may(token).await? == (200, 201));
    }
    change("ann", json!({"role": "reader"})).await?;
    ensure!(may(&of_ann).await? == (200, 403), "a reader's link writes");
    change("ops", json!({"role": "member"})).await?;
    ensure!(may(&of_ops).await? == (401, 401), "the link of no operator opens another's session");
    change("ann", json!({"disabled": true})).await?;
    ensure!(may(&of_ann).await? == (401, 401), "a disabled user's link is good");
    change("ann", json!({"disabled": false, "role": "member"})).await?;
    ensure!(may(&of_ann).await? == (200, 201));
    json_of(&server.api().delete("/v1/users/ann").await?, 204)?;
    ensure!(may(&of_ann).await? == (401, 401), "a removed user's link is good");
    let again = json!({"name": "ann", "take_over": true});
    json_of(&server.api().post("/v1/users", &again).await?, 201)?;
    ensure!(may(&of_ann).await? == (401, 401), "it is good again for another of that name");
    ensure!(may(&of_first).await? == (200, 201), "the first token's link is over");
    Ok(())
}

#[tokio::test]
async fn a_viewer_sees_the_names_of_variables_and_never_their_values() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let body = json!({"env": {"SECRET_NAME": "value-of-session"}});
    let made = json_of(&ann.post("/v1/sessions", &body).await?, 201)?;
    let id = text(&made["id"]);
    let run = json!({"shell": "read x", "stdin": "open", "env": {"OTHER_NAME": "value-of-execution"}});
    let run = json_of(&ann.post(&format!("/v1/sessions/{id}/executions"), &run).await?, 201)?;
    let run = text(&run["id"]);
    put(&ann, &id, "bob", "viewer").await?;
    let (_, reads) = link(&ann, &id, "read").await?;
    let (_, writes) = link(&ann, &id, "write").await?;
    let one = format!("/v1/sessions/{id}");
    let look = async |who: &Api| json_of(&who.get(&one).await?, 200);
    for who in [&ann, &writes, &server.api()] {
        let seen = look(who).await?;
        ensure!(seen["env"]["SECRET_NAME"] == "value-of-session" && seen["env_hidden"].is_null(), "{seen}");
    }
    for who in [&bob, &reads] {
        let seen = look(who).await?;
        ensure!(seen["env"] == json!({"SECRET_NAME": ""}) && seen["env_hidden"] == true, "{seen}");
        for path in [
            one.clone(),
            "/v1/sessions".to_owned(),
            "/v1/sessions?shared=true".to_owned(),
            format!("/v1/executions/{run}"),
            format!("/v1/sessions/executions/{run}"),
            format!("/v1/executions?session_id={id}"),
            format!("{one}/builds"),
            format!("{one}/terminals"),
            format!("{one}/recordings"),
            format!("{one}/members"),
            "/v1/usage".to_owned(),
            "/v1/audit".to_owned(),
        ] {
            let info = who.get(&path).await?;
            ensure!(!info.text().contains("value-of-"), "{path}: {}", info.text());
        }
        let path = format!("/v1/executions/{run}/events");
        let mut events = who.stream(&path).await?;
        let first = events.next().await?;
        ensure!(!format!("{first:?}").contains("value-of-"), "{first:?}");
    }
    put(&ann, &id, "bob", "editor").await?;
    let sees = async || look(&bob).await.is_ok_and(|seen| seen["env"]["SECRET_NAME"] == "value-of-session");
    headwater_tests::host::eventually("an editor sees the values", sees).await
}
