//! Every route of a conversation, for those who may use it in part, and for those who may not.

use anyhow::{Context, Result, ensure};
use headwater_tests::Api;
use headwater_tests::http::{Response, error_code, json_of, text};
use serde_json::{Value, json};

use super::chat::{Chat, Talk};
use crate::route_permissions::{For, TABLE, admitted};

/// A row of the table of who may use what.
type Row = (&'static str, &'static str, For, &'static str);

/// The rows about one conversation with an agent, those that delete it last.
fn rows() -> Vec<Row> {
    let all = TABLE.iter().copied().filter(|row| row.1.starts_with("/v1/conversations/{id}"));
    let (last, mut rows): (Vec<_>, Vec<_>) =
        all.partition(|row| row.0 == "DELETE" && row.1 == "/v1/conversations/{id}");
    rows.extend(last);
    rows
}

/// Sends the request of a row about a conversation.
async fn ask(api: &Api, talk: &Talk, row: Row, headers: &[(&str, &str)]) -> Result<Response> {
    let (method, path, _, body) = row;
    let path = path.replace("{id}", &talk.id).replace("{user}", "carol");
    let path = ["message_id", "approval_id", "tool_call_id", "share"]
        .iter()
        .fold(path, |path, name| path.replace(&format!("{{{name}}}"), "first"));
    let json = body.starts_with('{').then_some(("Content-Type", "application/json"));
    let headers: Vec<_> = headers.iter().copied().chain(json).collect();
    api.request(method, &path, &headers, body.as_bytes()).await
}

async fn talk_of(api: &Api) -> Result<Talk> {
    let talk = Talk::new(api, &json!({"title": "a title that nobody else knows"})).await?;
    json_of(&talk.post("/messages", &json!({"id": "first", "text": "hello"})).await?, 202)?;
    talk.rests().await?;
    Ok(talk)
}

async fn chat() -> Result<Chat> {
    Chat::new(&json!([{"text": "Hello."}, {"text": "Hello."}, {"text": "Hello."}])).await
}

#[tokio::test]
async fn a_conversation_of_somebody_else_is_not_found_on_any_route() -> Result<()> {
    let chat = chat().await?;
    let ann = chat.server.user("ann", "member")?;
    let talk = talk_of(&ann).await?;
    let session = text(&json_of(&ann.post("/v1/sessions", &json!({})).await?, 201)?["id"]);
    let bound = ann.post_ok("/v1/tokens", &json!({"sessions": [session]})).await?;
    let link = json_of(
        &ann.post(&format!("/v1/sessions/{session}/shares"), &json!({"access": "write"})).await?,
        201,
    )?;
    let other = talk_of(&ann).await?;
    let of_other = json_of(&other.post("/shares", &json!({"access": "write"})).await?, 201)?;
    let before = (talk.now().await?, talk.log().await?);
    let strangers = [
        ("bob", chat.server.user("bob", "member")?),
        ("bob's reader", chat.server.user("bob", "reader")?),
        ("ann's token for a session", chat.server.api_with(&text(&bound["token"]))),
        ("a link to ann's session", chat.server.api_with(&text(&link["token"]))),
        ("a link to another conversation of ann's", chat.server.api_with(&text(&of_other["token"]))),
    ];
    ensure!(rows().len() > 15, "{}", rows().len());
    for (name, api) in &strangers {
        for row in rows() {
            let answer = ask(api, &talk, row, &[]).await?;
            let (method, path, ..) = row;
            ensure!(answer.status == 404, "{name}: {method} {path}: {} {}", answer.status, answer.text());
            // It says the same of a conversation that does not exist.
            let nobodys = Talk { api: api.clone(), id: "nobodys".into() };
            let missing = ask(api, &nobodys, row, &[]).await?;
            let said = |answer: &Response, id: &str| {
                let error = answer.json().map(|body| body["error"].clone()).unwrap_or_default();
                (
                    text(&error["code"]),
                    text(&error["message"]).replace(id, "ID"),
                    text(&error["hint"]).replace(id, "ID"),
                )
            };
            ensure!(
                said(&answer, &talk.id) == said(&missing, "nobodys"),
                "{name}: {method} {path}: {}",
                answer.text()
            );
        }
        let listed = api.get("/v1/conversations").await?;
        ensure!(!listed.text().contains(&talk.id), "{name}: {}", listed.text());
        let found = api.get("/v1/conversations?q=nobody%20else%20knows").await?;
        ensure!(!found.text().contains(&talk.id), "{name}: {}", found.text());
    }
    let foreign = strangers[0].1.get("/v1/conversations?owner=ann").await?;
    ensure!(error_code(&foreign, 403)? == "forbidden");
    ensure!((talk.now().await?, talk.log().await?) == before, "nothing has changed");
    Ok(())
}

#[tokio::test]
async fn scopes_and_roles_narrow_every_route_of_a_conversation() -> Result<()> {
    let chat = chat().await?;
    let ann = chat.server.user("ann", "member")?;
    let talk = talk_of(&ann).await?;
    let scoped = |scope: &str| {
        Ok::<_, anyhow::Error>(
            chat.server.api_with(&chat.server.make_token(&["--user", "ann", "--scope", scope])?),
        )
    };
    let (reads, writes) = (scoped("chat:read")?, scoped("chat:write")?);
    let others = [scoped("executions:write")?, scoped("sessions:write")?, scoped("files:write")?];
    let reader = chat.server.user("ann", "reader")?;
    for row in rows() {
        let (method, path, who, _) = row;
        let is_read = method == "GET" && who == For::Owner;
        for api in &others {
            let status = ask(api, &talk, row, &[]).await?.status;
            ensure!(status == 403, "{method} {path}: another scope: {status}");
        }
        for api in [&reads, &reader] {
            let status = ask(api, &talk, row, &[]).await?.status;
            ensure!(
                if is_read { status == 200 } else { status == 403 },
                "{method} {path}: to read: {status}"
            );
        }
        let answer = ask(&writes, &talk, row, &[]).await?;
        // What the row names besides the conversation may not exist.
        let names = ["carol", "first"].iter().any(|name| answer.text().contains(name));
        ensure!(admitted(answer.status) || names, "{method} {path}: to write: {}", answer.text());
        if (method, path) != ("DELETE", "/v1/conversations/{id}") {
            talk.becomes("no turn runs", |now| now["is_running"] == false).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_cookie_alone_and_pages_of_other_sites_change_nothing() -> Result<()> {
    let chat = chat().await?;
    let talk = talk_of(&chat.server.api()).await?;
    let signed = chat.server.anonymous().get(&format!("/login?token={}", chat.server.token())).await?;
    let cookie =
        signed.header("set-cookie").and_then(|set| set.split(';').next()).context("no cookie")?.to_owned();
    let before = talk.now().await?;
    let browser = chat.server.anonymous();
    for row in rows() {
        let (method, path, ..) = row;
        for (what, headers, reads) in [
            ("a cookie alone", vec![("Cookie", cookie.as_str())], true),
            ("another site", vec![("Cookie", cookie.as_str()), ("Origin", "http://evil.example")], false),
            ("another port", vec![("Cookie", cookie.as_str()), ("Origin", "http://127.0.0.1:1")], true),
            ("a cross-site fetch", vec![("Cookie", cookie.as_str()), ("Sec-Fetch-Site", "cross-site")], true),
            ("no credential", vec![], false),
        ] {
            let status = ask(&browser, &talk, row, &headers).await?.status;
            let is_refused = matches!(status, 401 | 403 | 429);
            ensure!(is_refused || (reads && method == "GET"), "{method} {path}: {what}: {status}");
        }
    }
    ensure!(talk.now().await? == before, "nothing has changed");
    let own = chat.server.url();
    let headers =
        [("Cookie", cookie.as_str()), ("Origin", own.as_str()), ("Content-Type", "application/json")];
    let patched = browser.request("PATCH", &talk.path(""), &headers, br#"{"title": "by hand"}"#).await?;
    ensure!(json_of(&patched, 200)?["title"] == "by hand");
    Ok(())
}

#[tokio::test]
async fn the_log_is_opened_by_a_ticket_or_a_link_in_its_address_and_by_no_token() -> Result<()> {
    let chat = chat().await?;
    let talk = talk_of(&chat.server.api()).await?;
    let nobody = chat.server.anonymous();
    let link = text(&json_of(&talk.post("/shares", &json!({"access": "read"})).await?, 201)?["token"]);
    let ticket = async || {
        Ok::<_, anyhow::Error>(text(&talk.api.post_ok("/v1/tickets", &Value::Null).await?["ticket"]))
    };
    let open =
        async |rest: &str, token: &str| nobody.stream(&talk.path(&format!("{rest}?token={token}"))).await;
    let refused = nobody.get(&talk.path(&format!("/log?token={}", chat.server.token()))).await?;
    ensure!(error_code(&refused, 401)? == "token_in_address");
    open("/log", &link).await?.next().await?.context("an event")?;
    let once = ticket().await?;
    open("/log", &once).await?.next().await?.context("an event")?;
    ensure!(open("/log", &once).await.is_err(), "a ticket opens one stream");
    // A ticket opens streams, and nothing else.
    let status = nobody.get(&talk.path(&format!("?token={}", ticket().await?))).await?.status;
    ensure!(status == 401, "{status}");
    let status = nobody.post(&talk.path(&format!("/stop?token={link}")), &Value::Null).await?.status;
    ensure!(status == 401, "{status}");
    Ok(())
}
