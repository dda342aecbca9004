//! Clients behind proxies: only trusted proxies are believed, and nobody is refused for the failures of others.

use anyhow::{Result, ensure};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use headwater_tests::host::eventually;
use headwater_tests::http::{Response, json_of, text};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

use crate::accounts::{PASSWORD, add_user, behind_proxy, server};

async fn login(server: &TestServer, from: &str, name: &str, password: &str) -> Result<Response> {
    let body = json!({"name": name, "password": password});
    server.anonymous().send("POST", "/v1/login", &[("X-Forwarded-For", from)], &body).await
}

/// Fails until this name has to wait at this address: with twenty guesses at once, because a slow machine must not stay
/// below the limit.
async fn attack(server: &TestServer, from: &str, name: &str) -> Result<()> {
    let mut guesses: FuturesUnordered<_> =
        (0..20).map(|_| login(server, from, name, "wrong horse")).collect();
    while let Some(answer) = guesses.next().await {
        let answer = answer?;
        if answer.status == 429 {
            ensure!(answer.header("retry-after").is_some(), "{}", answer.head);
            return Ok(());
        }
        ensure!(answer.status == 401, "{}", answer.text());
    }
    anyhow::bail!("twenty guesses for `{name}` from {from} were all answered")
}

#[tokio::test]
async fn a_right_password_is_not_refused_for_the_failures_of_others() -> Result<()> {
    let server = behind_proxy("").await?;
    add_user(&server, "ann", "member").await?;
    add_user(&server, "bob", "member").await?;
    // The first wait is two seconds: if a busy machine asks later than that, the attack is repeated.
    eventually("the same name at the same address waits", async || {
        let attacked = attack(&server, "192.0.2.1", "ann").await.is_ok();
        let here = login(&server, "192.0.2.1", "ann", PASSWORD).await;
        attacked && here.is_ok_and(|here| here.status == 429)
    })
    .await?;
    let beside = login(&server, "192.0.2.1", "bob", PASSWORD).await?;
    ensure!(beside.status == 200, "bob waits for those who guess ann's: {}", beside.text());
    let elsewhere = login(&server, "192.0.2.2", "ann", PASSWORD).await?;
    ensure!(elsewhere.status == 200, "ann waits for those who guess elsewhere: {}", elsewhere.text());
    Ok(())
}

#[tokio::test]
async fn an_address_with_very_many_failures_is_slower_and_still_lets_a_right_password_in() -> Result<()> {
    let server = behind_proxy("").await?;
    add_user(&server, "bob", "member").await?;
    // More names than the bound of an address, each tried a few times.
    let mut refused = 0;
    for guess in 0..110 {
        let answer = login(&server, "192.0.2.7", &format!("name{}", guess / 5), "wrong horse").await?;
        ensure!(answer.status == 401, "{}: {}", answer.status, answer.text());
        refused += 1;
    }
    ensure!(refused == 110);
    let right = login(&server, "192.0.2.7", "bob", PASSWORD).await?;
    ensure!(right.status == 200, "bob is refused for the names of others: {}", right.text());
    Ok(())
}

#[tokio::test]
async fn a_user_attacked_from_everywhere_signs_in() -> Result<()> {
    let server = behind_proxy("").await?;
    add_user(&server, "ann", "member").await?;
    for guess in 0..210 {
        let from = format!("198.51.100.{}", guess % 42 + 1);
        let answer = login(&server, &from, "ann", "wrong horse").await?;
        ensure!(answer.status == 401, "{}: {}", answer.status, answer.text());
    }
    let right = login(&server, "192.0.2.1", "ann", PASSWORD).await?;
    ensure!(right.status == 200, "{}", right.text());
    Ok(())
}

#[tokio::test]
async fn the_address_of_the_client_is_what_a_trusted_proxy_says_and_nobody_else() -> Result<()> {
    let (trusting, plain) = (behind_proxy("").await?, server("").await?);
    let noted = async |server: &TestServer, header: (&str, &str)| -> Result<Value> {
        add_user(server, "ann", "member").await?;
        let body = json!({"name": "ann", "password": PASSWORD});
        json_of(&server.anonymous().send("POST", "/v1/login", &[header], &body).await?, 200)?;
        let admin = server.api();
        let mut address = Value::Null;
        eventually("the login is in the audit log", async || {
            let rows = admin.json("/v1/audit?action=login").await.unwrap_or_default();
            address = rows["items"][0]["address"].clone();
            !address.is_null()
        })
        .await?;
        Ok(address)
    };
    let said = ("X-Forwarded-For", "6.6.6.6, 192.0.2.9");
    ensure!(noted(&trusting, said).await? == "192.0.2.9", "the last one that is not a proxy");
    let address = noted(&plain, said).await?;
    ensure!(address.as_str().is_some_and(|address| address.starts_with("127.")), "{address}");
    Ok(())
}

#[tokio::test]
async fn a_valid_token_is_not_refused_for_the_failures_of_others_at_its_address() -> Result<()> {
    let server = TestServer::start().await?;
    let attacker = server.api_with("hw_wrong");
    // At once: a slow machine must not stay below the limit.
    let guesses = join_all((0..100).map(|_| attacker.get("/v1/me"))).await;
    let waits = guesses.into_iter().flatten().any(|answer| answer.status == 429);
    ensure!(waits, "a hundred guesses were all answered");
    ensure!(server.api().get("/v1/me").await?.status == 200);
    Ok(())
}

#[tokio::test]
async fn a_request_line_that_names_another_server_is_refused() -> Result<()> {
    let server = server("").await?;
    let api = server.api();
    let own = api.get(&format!("http://{}/v1/me", server.address())).await?;
    ensure!(own.status == 200, "our own name in the request line: {}", own.text());
    for other in ["http://other.example/v1/me", "http://127.0.0.1:1/v1/me", "https://other.example/v1/me"] {
        let answer = api.get(other).await?;
        ensure!(answer.status == 421, "{other}: {}", answer.text());
        ensure!(answer.json()?["error"]["code"] == "wrong_host");
    }
    Ok(())
}

#[tokio::test]
async fn a_page_of_the_same_host_and_another_scheme_is_another_origin() -> Result<()> {
    // With a name of its own the server is not one of this machine only, whose pages may all call it.
    let (plain, trusting) =
        (TestServer::configured("[server]\nhosts = [\"run.example\"]\n").await?, behind_proxy("").await?);
    let ask = async |server: &TestServer, scheme: &str, more: &[(&str, &str)]| -> Result<u16> {
        let origin = format!("{scheme}://{}", server.address());
        let headers = [&[("Origin", origin.as_str())], more].concat();
        Ok(server.api().request("GET", "/v1/me", &headers, b"").await?.status)
    };
    let https = [("X-Forwarded-Proto", "https")];
    for (server, scheme, more, status) in [
        (&plain, "http", &[][..], 200),
        (&plain, "https", &[], 403),
        (&plain, "https", &https, 403),
        (&trusting, "https", &https, 200),
        (&trusting, "http", &https, 403),
        (&trusting, "https", &[], 403),
        (&trusting, "http", &[], 200),
    ] {
        let got = ask(server, scheme, more).await?;
        ensure!(got == status, "{scheme} {more:?}: {got} instead of {status}");
    }
    Ok(())
}

#[tokio::test]
async fn answers_with_data_are_not_cached() -> Result<()> {
    let server = server("").await?;
    let api = server.api();
    let made = api.post("/v1/sessions", &json!({})).await?;
    ensure!(made.header("cache-control") == Some("no-store"), "{}", made.head);
    let id = text(&json_of(&made, 201)?["id"]);
    let run = api.start(&id, &json!({"shell": "echo hi > note"})).await?;
    api.put(&format!("/v1/sessions/{id}/files/content?path=a"), &json!("x")).await?;
    for path in [
        "/v1/me".to_owned(),
        "/v1/sessions".to_owned(),
        format!("/v1/sessions/{id}"),
        format!("/v1/executions/{run}"),
        format!("/v1/executions/{run}/output"),
        format!("/v1/executions/{run}/events"),
        format!("/v1/sessions/{id}/files/content?path=a"),
        format!("/v1/sessions/{id}/files/archive"),
        "/v1/nothing".to_owned(),
        "/openapi.json".to_owned(),
        "/docs".to_owned(),
    ] {
        let answer = api.head("GET", &path, &[], &Value::Null).await?;
        ensure!(answer.header("cache-control") == Some("no-store"), "{path}: {}", answer.head);
    }
    let refused = server.anonymous().get("/v1/me").await?;
    ensure!(refused.status == 401 && refused.header("cache-control") == Some("no-store"));
    Ok(())
}

#[tokio::test]
async fn no_log_and_no_audit_row_holds_a_secret_that_came_in_an_address() -> Result<()> {
    let args = vec!["--log-format".to_owned(), "json".to_owned()];
    let config = Some("pool = 1\n[server]\nfailures_per_second = 100000\n".to_owned());
    let server = TestServer::with(ServerOptions { args, config, ..ServerOptions::default() }).await?;
    let token = server.token().to_owned();
    let (api, anonymous) = (server.api(), server.anonymous());
    let id = api.session(&json!({})).await?;
    let ticket = text(&json_of(&api.post("/v1/tickets", &Value::Null).await?, 201)?["ticket"]);
    let secrets = [token.as_str(), ticket.as_str(), "hw_wrongsecret", "eyJwrong.secret.part"];
    for secret in secrets {
        for path in [
            "/login".to_owned(),
            "/v1/me".to_owned(),
            "/v1/nothing".to_owned(),
            format!("/v1/sessions/{id}/events"),
            format!("/v1/sessions/{id}/terminal"),
            format!("/v1/sessions/{id}/files/watch"),
            "/v1/executions/exe_0/attach".to_owned(),
            "/tool-progress/talk".to_owned(),
            "/v1/login".to_owned(),
        ] {
            for method in ["GET", "POST"] {
                anonymous.head(method, &format!("{path}?token={secret}"), &[], &Value::Null).await?;
            }
        }
    }
    let rows = async || api.get("/v1/audit?limit=1000").await;
    let noted = async || rows().await.is_ok_and(|rows| rows.text().contains("login"));
    eventually("the audit log has rows", noted).await?;
    let (audit, log) = (rows().await?.text(), server.log());
    for secret in secrets {
        ensure!(!audit.contains(secret), "the audit log holds a secret");
        ensure!(!log.contains(secret), "the log holds a secret");
    }
    ensure!(!log.contains("token="), "the log holds a query string");
    Ok(())
}
