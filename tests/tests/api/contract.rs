//! The API as a contract: its description, the spellings of its routes, and what its bodies contain.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::{Received, TestServer};
use serde_json::{Value, json};

#[tokio::test]
async fn the_openapi_document_needs_no_token() -> Result<()> {
    let server = TestServer::start().await?;
    let answer = server.anonymous().get("/openapi.json").await?;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let document = answer.json()?;
    assert_eq!(document["openapi"], "3.1.0");
    let created = &document["paths"]["/v1/sessions"]["post"];
    assert_eq!(created["operationId"], "createSession");
    assert_eq!(server.anonymous().get("/v1/info").await?.status, 401, "other routes need one");
    Ok(())
}

/// A client that calls `/api/v1/...` behind a proxy that maps `/api` to `/v1` sends this.
#[tokio::test]
async fn a_path_with_two_versions_is_the_path_with_one() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.post_ok("/v1/v1/sessions", &json!({ "name": "twice" })).await?;
    let found = api.json("/v1/v1/sessions?name=twice").await?;
    assert_eq!(found["items"][0]["id"], session["id"]);
    let ran = api
        .post("/v1/v1/sessions/execute/bash", &json!({ "session_id": session["id"], "code": "true" }))
        .await?;
    assert_eq!(ran.status, 200, "{}", ran.text());
    assert_eq!(server.anonymous().get("/v1/v1/sessions").await?.status, 401, "and needs the same token");
    Ok(())
}

#[tokio::test]
async fn a_page_of_this_machine_may_call_with_a_token_and_not_with_a_cookie() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let page = ("Origin", "http://localhost:5173");
    let answer = api.request("GET", "/v1/info", &[page], b"").await?;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(page.1));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let preflight = [page, ("Access-Control-Request-Method", "POST")];
    assert_eq!(server.anonymous().request("OPTIONS", "/v1/sessions", &preflight, b"").await?.status, 204);

    let login = server.anonymous().get(&format!("/login?token={}", server.token())).await?;
    let cookie = login.header("set-cookie").context("no cookie")?.split(';').next().unwrap_or_default();
    let headers = [page, ("Cookie", cookie), ("Content-Type", "application/json")];
    let answer = server.anonymous().request("POST", "/v1/sessions", &headers, b"{}").await?;
    assert_eq!(answer.status, 403, "a cookie is sent by every page of this machine: {}", answer.text());
    let other = [("Origin", "http://evil.example")];
    assert_eq!(api.request("GET", "/v1/info", &other, b"").await?.status, 403);
    Ok(())
}

#[tokio::test]
async fn a_session_names_its_owner() -> Result<()> {
    let server = TestServer::start().await?;
    let ann = server.api_with(&server.make_token(&["--user", "ann"])?);
    let session = ann.session(&json!({})).await?;
    assert_eq!(ann.json(&format!("/v1/sessions/{session}")).await?["owner"], "ann");
    assert_eq!(server.api().json("/v1/sessions").await?["items"][0]["owner"], "ann");
    Ok(())
}

#[tokio::test]
async fn what_the_local_command_line_has_just_run_is_in_the_lists_at_once() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    for word in ["first", "second"] {
        ensure!(server.command().args(["run", "--", "echo", word]).status()?.success());
        let list = api.json("/v1/executions").await?;
        assert_eq!(list["items"][0]["command"], json!({ "argv": ["echo", word] }), "{list}");
    }
    ensure!(server.command().args(["sessions", "create", "--name", "dev"]).status()?.success());
    // The sessions of the two one-shots end a moment after their programs.
    eventually("only `dev` is counted", async || {
        api.json("/v1/usage").await.is_ok_and(|usage| usage["used"]["sessions"] == 1)
    })
    .await
}

#[tokio::test]
async fn cpu_time_is_counted_even_if_there_is_no_quota() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    assert_eq!(api.json("/v1/usage").await?["used"]["cpu_ms"], 0);
    let id = api.one_shot(&json!({ "shell": "for n in $(seq 100000); do :; done" })).await?;
    let used = api.closed(&id).await?["usage"]["cpu_ms"].as_u64().context("no usage")?;
    ensure!(used > 0, "the loop took no time");
    let counted = api.json("/v1/usage").await?["used"]["cpu_ms"].as_u64().context("no amount")?;
    ensure!(counted >= used, "{counted} ms of {used} ms");
    Ok(())
}

#[tokio::test]
async fn an_uploaded_archive_is_recognised_by_its_content_or_its_type() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    api.run_in(&session, "mkdir d; echo text > d/file").await?;
    let archive = |query: &str| format!("/v1/sessions/{session}/files/archive?{query}");
    for (format, kind) in [
        ("zip", "application/octet-stream"),
        ("tar.gz", "application/octet-stream"),
        ("tar", "application/octet-stream"),
        ("zip", "application/x-tar"),
        ("tar", "application/x-tar"),
    ] {
        let packed = api.get(&archive(&format!("path=d&format={format}"))).await?;
        let to = format!("path=copy-{format}-{}", kind.len());
        let answer = api.request("PUT", &archive(&to), &[("Content-Type", kind)], &packed.body).await?;
        assert_eq!(answer.status, 200, "{format} as {kind}: {}", answer.text());
        assert_eq!(answer.json()?["files"], 1);
    }
    let wrong =
        api.request("PUT", &archive("path=x"), &[("Content-Type", "application/zip")], b"no ZIP").await?;
    assert_eq!(wrong.status, 400, "{}", wrong.text());
    Ok(())
}

/// The next text frame of this type.
async fn hears(socket: &mut headwater_tests::Socket, kind: &str) -> Result<Value> {
    loop {
        match socket.next().await? {
            Received::Text(event) if event["type"] == kind => return Ok(event),
            Received::Text(_) => {}
            other => anyhow::bail!("{other:?} instead of `{kind}`"),
        }
    }
}

#[tokio::test]
async fn both_sockets_take_the_same_parameters_and_messages() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let terminal = |query: &str| format!("/v1/sessions/{session}/terminal?{query}");
    let mut shell = api.socket(&terminal("frames=events")).await?;
    let id = hears(&mut shell, "attached").await?["execution_id"].as_str().context("no id")?.to_owned();
    shell.say(r#"{"type":"stdin","text":"echo by-$((1 + 1))\r"}"#).await?;
    let mut shown = String::new();
    while !shown.contains("by-2") {
        shown += hears(&mut shell, "output").await?["text"].as_str().unwrap_or_default();
    }
    let attach = |query: &str| format!("/v1/executions/{id}/attach?{query}");
    for path in [terminal("frames=events&read_only=true"), terminal("frames=events&readonly=true")] {
        let mut viewer = api.socket(&path).await?;
        assert_eq!(hears(&mut viewer, "attached").await?["read_only"], true, "{path}");
    }
    for path in [attach("frames=events&read_only=true"), attach("mode=json&read_only=true")] {
        let mut viewer = api.socket(&path).await?;
        hears(&mut viewer, "started").await?;
        viewer.say(r#"{"type":"input","data":"x"}"#).await?;
        assert_eq!(hears(&mut viewer, "error").await?["code"], "forbidden", "{path}");
    }
    ensure!(api.socket(&attach("frames=events&mode=json")).await.is_err(), "both names of one parameter");
    // The shell runs `sleep` in front; the other socket interrupts it.
    shell.say(r#"{"type":"command","command":"sleep 1000"}"#).await?;
    let sleeps = async || {
        let list = api.json(&format!("/v1/executions/{id}/processes")).await.unwrap_or_default();
        list["processes"].as_array().into_iter().flatten().any(|process| process["name"] == "sleep")
    };
    eventually("the shell runs sleep", async || sleeps().await).await?;
    let mut other = api.socket(&attach("frames=events")).await?;
    other.say(r#"{"type":"interrupt"}"#).await?;
    eventually("sleep has ended", async || !sleeps().await).await?;
    shell.say(r#"{"type":"command","command":"echo was-$?"}"#).await?;
    let mut shown = String::new();
    while !shown.contains("was-130") {
        shown += hears(&mut shell, "output").await?["text"].as_str().unwrap_or_default();
    }
    shell.say(r#"{"type":"cancel"}"#).await?;
    hears(&mut shell, "exited").await?;
    Ok(())
}
