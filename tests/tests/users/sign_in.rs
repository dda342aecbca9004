//! Users: made by operators, signing in with a password, staying signed in by refresh tokens.

use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use futures_util::future::join_all;
use headwater_tests::TestServer;
use headwater_tests::http::{self, Response, json_of, text};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::accounts::{PASSWORD, add_user, me_status, server, sign_in, signed_in, user};

async fn login(server: &TestServer, name: &str, password: &str) -> Result<Response> {
    server.anonymous().post("/v1/login", &json!({"name": name, "password": password})).await
}

#[tokio::test]
async fn a_password_signs_in_and_everything_else_is_refused_alike() -> Result<()> {
    let server = server("").await?;
    add_user(&server, "Ann", "member").await?;
    let info = sign_in(&server, "ANN").await?;
    ensure!(info["user"]["name"] == "ann" && info["token_type"] == "Bearer", "{info}");
    ensure!(me_status(&server.api_with(&text(&info["access_token"]))).await? == 200);
    let (wrong, unknown) =
        (login(&server, "ann", "wrong horse").await?, login(&server, "bob", PASSWORD).await?);
    ensure!(wrong.status == 401 && unknown.status == 401, "{} {}", wrong.status, unknown.status);
    let body = |answer: &Response| -> Result<Value> {
        let mut error = answer.json()?["error"].clone();
        error["request_id"] = Value::Null;
        Ok(error)
    };
    ensure!(body(&wrong)? == body(&unknown)?, "an unknown name gets another answer");
    for bad in [json!({}), json!({"name": "ann"}), json!({"name": "ann", "password": 1}), json!({"x": 1})] {
        ensure!(server.anonymous().post("/v1/login", &bad).await?.status == 400, "{bad}");
    }
    let stored = std::fs::read(server.data().join("store.db"))?;
    let wal = std::fs::read(server.data().join("store.db-wal")).unwrap_or_default();
    for file in [stored, wal] {
        ensure!(
            !file.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()),
            "the password is stored"
        );
    }
    ensure!(!server.log().contains(PASSWORD), "the password is in the log");
    Ok(())
}

#[tokio::test]
async fn no_user_and_no_password_exists_until_an_operator_creates_one() -> Result<()> {
    let server = server("").await?;
    let users = json_of(&server.api().get("/v1/users").await?, 200)?;
    ensure!(users["items"] == json!([]), "{users}");
    for (name, password) in [("admin", "admin"), ("admin", ""), ("", ""), ("root", "root")] {
        ensure!(login(&server, name, password).await?.status == 401, "{name}/{password}");
    }
    let body = json!({"name": "tom"});
    let made = json_of(&server.api().post("/v1/users", &body).await?, 201)?;
    ensure!(made["has_password"] == false, "{made}");
    ensure!(login(&server, "tom", "").await?.status == 401, "no password is no password");
    Ok(())
}

#[tokio::test]
async fn operators_create_users_and_users_see_only_themselves() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let admin = server.api();
    let again = admin.post("/v1/users", &json!({"name": "ANN"})).await?;
    ensure!(again.status == 409, "{}", again.text());
    for bad in ["", "a b", "admin", "../x", "a\u{e9}", "-x"] {
        let answer = admin.post("/v1/users", &json!({"name": bad})).await?;
        ensure!(answer.status == 400, "{bad:?}: {}", answer.status);
    }
    let short = admin.post("/v1/users", &json!({"name": "eve", "password": "short"})).await?;
    ensure!(short.status == 400, "{}", short.text());
    for (token, path, status) in [
        (&ann, "/v1/users/ann", 200),
        (&ann, "/v1/users/bob", 404),
        (&bob, "/v1/users/ann", 404),
        (&ann, "/v1/users", 403),
    ] {
        ensure!(token.get(path).await?.status == status, "{path}");
    }
    for change in [json!({"role": "admin"}), json!({"disabled": false})] {
        ensure!(ann.patch("/v1/users/ann", &change).await?.status == 403, "{change}");
    }
    ensure!(ann.patch("/v1/users/bob", &json!({"role": "admin"})).await?.status == 404);
    ensure!(ann.post("/v1/users", &json!({"name": "eve"})).await?.status == 403);
    Ok(())
}

#[tokio::test]
async fn changing_a_password_needs_the_old_one_and_a_new_sign_in() -> Result<()> {
    let server = server("").await?;
    let ann = user(&server, "ann").await?;
    let change = |current: Value| json!({"password": "another horse", "current_password": current});
    for wrong in [json!("wrong horse"), Value::Null] {
        let answer = ann.patch("/v1/users/ann", &change(wrong)).await?;
        ensure!(answer.status == 403, "{}", answer.text());
    }
    json_of(&ann.patch("/v1/users/ann", &change(json!(PASSWORD))).await?, 200)?;
    ensure!(me_status(&ann).await? == 401, "a token from before is taken");
    ensure!(login(&server, "ann", PASSWORD).await?.status == 401);
    ensure!(login(&server, "ann", "another horse").await?.status == 200);
    Ok(())
}

#[tokio::test]
async fn a_refresh_token_is_valid_once_and_its_second_use_ends_the_sign_in() -> Result<()> {
    let server = server("").await?;
    add_user(&server, "ann", "member").await?;
    let first = sign_in(&server, "ann").await?;
    let refresh = async |token: &Value| {
        server.anonymous().post("/v1/login/refresh", &json!({"refresh_token": token})).await
    };
    let second = json_of(&refresh(&first["refresh_token"]).await?, 200)?;
    ensure!(second["refresh_token"] != first["refresh_token"], "it did not change");
    ensure!(me_status(&server.api_with(&text(&second["access_token"]))).await? == 200);
    ensure!(me_status(&server.api_with(&text(&second["refresh_token"]))).await? == 401, "it opens doors");
    ensure!(refresh(&first["refresh_token"]).await?.status == 401, "it was good twice");
    ensure!(refresh(&second["refresh_token"]).await?.status == 401, "the stolen token is still valid");
    ensure!(me_status(&server.api_with(&text(&second["access_token"]))).await? == 401, "the sign-in goes on");
    for bad in [json!(""), json!("hwr_x"), first["access_token"].clone()] {
        ensure!(refresh(&bad).await?.status == 401, "{bad}");
    }
    Ok(())
}

#[tokio::test]
async fn repeated_failures_must_wait() -> Result<()> {
    let server = server("").await?;
    add_user(&server, "ann", "member").await?;
    let mut waits = 0;
    // At once: a slow machine must not stay below the limit.
    for answer in join_all((0..30).map(|_| login(&server, "ann", "wrong horse"))).await {
        let answer = answer?;
        if answer.status == 429 {
            ensure!(answer.header("retry-after").is_some(), "{}", answer.head);
            waits += 1;
        } else {
            ensure!(answer.status == 401, "{}", answer.text());
        }
    }
    ensure!(waits > 0, "thirty guesses were all answered");
    let body = json!({"name": "ann", "password": PASSWORD}).to_string();
    let address = server.address();
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind("127.0.0.2:0".parse()?)?;
    let mut stream = socket.connect(address.parse()?).await?;
    let request = format!(
        "POST /v1/login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let answer = http::read(&mut stream, true).await?;
    ensure!(answer.status == 200, "ann waits for the guesses of another address: {}", answer.text());
    Ok(())
}

fn command(server: &TestServer, args: &[&str], input: &str) -> Result<(bool, String)> {
    let mut command = server.command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // It may have ended before it reads anything, with an error.
    let _ = child.stdin.take().context("no input")?.write_all(input.as_bytes());
    let done = child.wait_with_output()?;
    Ok((
        done.status.success(),
        format!("{}{}", String::from_utf8(done.stdout)?, String::from_utf8(done.stderr)?),
    ))
}

#[tokio::test]
async fn the_command_line_creates_lists_and_disables_users() -> Result<()> {
    let server = server("").await?;
    let (ok, info) = command(&server, &["user", "add", "Ann", "--role", "reader"], "correct horse\n")?;
    ensure!(ok && info.starts_with("usr_"), "{info}");
    let jwt = signed_in(&server, "ann").await?;
    let (ok, info) = command(&server, &["user", "add", "ann"], "correct horse\n")?;
    ensure!(!ok && info.contains("already"), "{info}");
    let (ok, info) = command(&server, &["user", "add", "bob"], "short\n")?;
    ensure!(!ok && info.contains("at least 8"), "{info}");
    let (_, info) = command(&server, &["user", "list", "--json"], "")?;
    let row: Value = serde_json::from_str(info.trim())?;
    ensure!(row["name"] == "ann" && row["role"] == "reader" && row["state"] == "good", "{row}");
    let (ok, info) = command(&server, &["user", "password", "ann"], "another horse\n")?;
    ensure!(ok, "{info}");
    ensure!(login(&server, "ann", "another horse").await?.status == 200);
    let (ok, info) = command(&server, &["user", "disable", "ann"], "")?;
    ensure!(ok, "{info}");
    ensure!(login(&server, "ann", "another horse").await?.status == 401, "a disabled user signs in");
    let refused = async || me_status(&jwt).await.is_ok_and(|status| status == 401);
    headwater_tests::host::eventually("the token of a disabled user is refused", refused).await?;
    let (ok, _) = command(&server, &["user", "enable", "ann"], "")?;
    ensure!(ok && login(&server, "ann", "another horse").await?.status == 200);
    let (ok, info) = command(&server, &["user", "disable", "nobody"], "")?;
    ensure!(!ok && info.contains("no user"), "{info}");
    Ok(())
}

#[tokio::test]
async fn a_new_user_with_the_name_of_a_deleted_one_does_not_get_its_sessions() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (user(&server, "ann").await?, user(&server, "bob").await?);
    let id = ann.session(&json!({})).await?;
    let admin = server.api();
    json_of(&admin.delete("/v1/users/ann").await?, 204)?;
    let asked = json!({"name": "Ann", "password": PASSWORD});
    let refused = admin.post("/v1/users", &asked).await?;
    ensure!(refused.status == 409, "{}", refused.text());
    let error = refused.json()?["error"].clone();
    ensure!(error["code"] == "name_owns_sessions", "{error}");
    ensure!(text(&error["hint"]).contains("/v1/sessions?owner=ann"), "{error}");
    let (ok, said) = command(&server, &["user", "add", "ann", "--no-password"], "")?;
    ensure!(!ok && said.contains("--take-over"), "{said}");
    ensure!(login(&server, "ann", PASSWORD).await?.status == 401, "nobody was made");
    // Operators find and remove what is left; others do not look for it.
    let path = "/v1/sessions?owner=ann";
    let left = json_of(&admin.get(path).await?, 200)?;
    ensure!(
        left["items"].as_array().is_some_and(|all| all.len() == 1 && all[0]["id"] == json!(id)),
        "{left}"
    );
    ensure!(bob.get(path).await?.status == 403);
    let own = json_of(&bob.get("/v1/sessions?owner=bob").await?, 200)?;
    ensure!(own["items"] == json!([]), "{own}");
    json_of(&admin.delete(&format!("/v1/sessions/{id}")).await?, 204)?;
    json_of(&admin.post("/v1/users", &asked).await?, 201)?;
    let ann = signed_in(&server, "ann").await?;
    ensure!(ann.get(&format!("/v1/sessions/{id}")).await?.status == 404);
    // The same person gets them back, if the operator says so.
    let id = ann.session(&json!({})).await?;
    json_of(&admin.delete("/v1/users/ann").await?, 204)?;
    let take_over = json!({"name": "ann", "password": PASSWORD, "take_over": true});
    json_of(&admin.post("/v1/users", &take_over).await?, 201)?;
    let ann = signed_in(&server, "ann").await?;
    json_of(&ann.get(&format!("/v1/sessions/{id}")).await?, 200)?;
    Ok(())
}
