//! What operators see: metrics, the access log and its format.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::http::text;
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

/// The value of a metric; the name contains its labels.
async fn metric(api: &Api, name: &str) -> Result<f64> {
    let metrics = api.get("/metrics").await?.text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(line.with_context(|| format!("no `{name}` in {metrics}"))?.trim().parse()?)
}

/// Waits until a metric has this value.
async fn reaches(api: &Api, name: &str, wanted: f64) -> Result<()> {
    let is_reached =
        async || metric(api, name).await.is_ok_and(|value| (value - wanted).abs() < f64::EPSILON);
    eventually(&format!("{name} {wanted}"), is_reached).await
}

#[tokio::test]
async fn metrics_count_sessions_executions_bytes_and_errors() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let asleep = api.session(&json!({})).await?;
    ensure!(api.post(&format!("/v1/sessions/{asleep}/hibernate"), &json!({})).await?.status == 200);
    let path = format!("/v1/sessions/{session}/files/content?path=a.txt");
    ensure!(api.request("PUT", &path, &[], b"12345").await?.status == 201);
    let id = api.start(&session, &json!({"shell": "cat; sleep 1000", "stdin": "open"})).await?;
    api.write_input(&id, b"hello\n").await?;
    api.until_printed(&id, "hello").await?;
    for (name, wanted) in [
        ("headwater_sessions{state=\"ready\"}", 1.0),
        ("headwater_sessions{state=\"hibernated\"}", 1.0),
        ("headwater_executions_running", 1.0),
        ("headwater_executions_started_total", 1.0),
        ("headwater_start_seconds_count", 1.0),
        ("headwater_queue_seconds_count", 1.0),
        ("headwater_received_bytes_total{kind=\"stdin\"}", 6.0),
        ("headwater_received_bytes_total{kind=\"files\"}", 5.0),
        ("headwater_worker_up", 1.0),
        ("headwater_disk_short", 0.0),
    ] {
        reaches(&api, name, wanted).await?;
    }
    api.cancel(&id).await?;
    api.closed(&id).await?;
    reaches(&api, "headwater_executions_ended_total{reason=\"cancelled\"}", 1.0).await?;
    reaches(&api, "headwater_execution_seconds_count", 1.0).await?;
    reaches(&api, "headwater_output_bytes_total", 6.0).await?;
    ensure!(api.get("/v1/nothing").await?.status == 404);
    reaches(&api, "headwater_errors_total{code=\"no_such_route\"}", 1.0).await?;
    for process in ["server", "worker"] {
        for name in ["memory_bytes", "open_files", "max_files", "start_time_seconds"] {
            let value = metric(&api, &format!("headwater_{name}{{process=\"{process}\"}}")).await?;
            ensure!(value > 0.0, "{name} of the {process}: {value}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_restart_of_the_worker_is_counted() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    reaches(&api, "headwater_worker_restarts_total", 0.0).await?;
    // The server notices another worker only if it has seen one before: it may not have seen the first.
    let mut killed = 0;
    eventually("a restart is counted", async || {
        if let Ok(pid) = server.worker_pid().await
            && pid != killed
        {
            killed = pid;
            let _ = server.kill_worker().await; // it may be gone already
        }
        metric(&api, "headwater_worker_restarts_total").await.is_ok_and(|count| count >= 1.0)
    })
    .await
}

#[tokio::test]
async fn a_token_for_metrics_can_do_nothing_else() -> Result<()> {
    let server = TestServer::small().await?;
    let token = server.make_token(&["--role", "admin", "--scope", "metrics:read"])?;
    let scraper = server.api_with(&token);
    ensure!(scraper.get("/metrics").await?.status == 200);
    for path in ["/v1/sessions", "/v1/executions", "/v1/tokens", "/v1/users", "/v1/audit"] {
        let status = scraper.get(path).await?.status;
        ensure!(status == 403, "{path}: {status}");
    }
    ensure!(scraper.post("/v1/executions", &json!({"shell": "true"})).await?.status == 403);
    // A scope never adds to the role.
    let member = server.make_token(&["--user", "ann", "--role", "member", "--scope", "metrics:read"])?;
    ensure!(server.api_with(&member).get("/metrics").await?.status == 403);
    let made = server.command().args(["token", "create", "--scope", "metrics:all"]).output()?;
    let errors = String::from_utf8_lossy(&made.stderr).into_owned();
    ensure!(made.status.code() == Some(2) && errors.contains("`metrics:all` is not a scope"), "{errors}");
    Ok(())
}

/// The lines of the access log of this request.
fn lines_of<'a>(log: &'a str, id: &str) -> Vec<&'a str> {
    log.lines().filter(|line| line.contains("headwater::access") && line.contains(id)).collect()
}

#[tokio::test]
async fn every_request_is_in_the_access_log_without_its_query() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let secret = "hwt_0123456789abcdef0123456789abcdef";
    let refused = server.anonymous().get(&format!("/v1/executions/exe_1/events?token={secret}")).await?;
    let sent = api.post("/v1/executions", &json!({"shell": "true"})).await?;
    let login = server.anonymous().get(&format!("/login?token={}", server.token())).await?;
    for (answer, parts) in [
        (&refused, ["method=GET", "path=\"/v1/executions/exe_1/events\"", "status=401", "address=127."]),
        (&sent, ["method=POST", "path=\"/v1/executions\"", "status=201", "user=\"admin\""]),
        (&login, ["method=GET", "path=\"/login\"", "status=303", "duration_ms="]),
    ] {
        let id = answer.header("x-request-id").context("no request id")?;
        eventually("the request is logged", async || lines_of(&server.log(), id).len() == 1).await?;
        let log = server.log();
        let line = lines_of(&log, id)[0];
        let bytes = format!("bytes={} ", answer.text().len());
        ensure!(parts.iter().all(|part| line.contains(part)) && line.contains(&bytes), "{line}");
    }
    let error = refused.json()?;
    ensure!(refused.header("x-request-id") == error["error"]["request_id"].as_str(), "{error}");
    let id = sent.header("x-request-id").context("no request id")?;
    let worker_log = || std::fs::read_to_string(server.data().join("worker.log")).unwrap_or_default();
    eventually("the worker logs its call", async || {
        lines_of(&worker_log(), id).iter().any(|line| line.contains("call=\"Worker/Start\""))
    })
    .await?;
    let all = server.log() + &worker_log();
    ensure!(!all.contains(secret) && !all.contains(server.token()), "a secret is in a log");
    Ok(())
}

#[tokio::test]
async fn the_logs_of_server_and_worker_are_json_if_configured() -> Result<()> {
    let server = TestServer::configured("[server]\nlog_format = \"json\"\n").await?;
    let sent = server.api().post("/v1/executions", &json!({"shell": "true"})).await?;
    let id = sent.header("x-request-id").context("no request id")?.to_owned();
    let parsed = |log: String| -> Result<Vec<Value>> {
        log.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
    };
    let found = |lines: &[Value]| {
        let line = lines.iter().find(|line| {
            line["target"] == "headwater::access" && line["fields"]["request_id"] == id.as_str()
        });
        line.cloned().unwrap_or_default()
    };
    eventually("the request is logged", async || {
        parsed(server.log()).is_ok_and(|lines| !found(&lines).is_null())
    })
    .await?;
    let line = found(&parsed(server.log())?);
    ensure!(line["fields"]["status"] == 201 && line["fields"]["method"] == "POST", "{line}");
    ensure!(line["fields"]["bytes"] == sent.text().len() && line["level"] == "INFO", "{line}");
    let worker_log = || std::fs::read_to_string(server.data().join("worker.log")).unwrap_or_default();
    eventually("the call is logged", async || {
        parsed(worker_log()).is_ok_and(|lines| !found(&lines).is_null())
    })
    .await?;
    ensure!(text(&found(&parsed(worker_log())?)["fields"]["code"]) == "Ok");
    Ok(())
}
