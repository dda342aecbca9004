//! The editor's three routes, as its commands are printed.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headwater_tests::Fixture;
use headwater_tests::http::{error_code, json_of};
use serde_json::json;

use crate::calls::Files;

#[tokio::test]
async fn the_editor_saves_reads_and_lists_files_by_a_sessions_name_under_every_prefix() -> Result<()> {
    let fixture = Fixture::with("", &json!({ "name": "session-1" })).await?;
    for (n, prefix) in ["/v1", "/api", "/api/v1"].into_iter().enumerate() {
        let content = format!("print('Hello {n}')");
        let body = json!({ "session_id": "session-1", "path": "/src/main.py", "content": content });
        let saved = json_of(&fixture.post(&format!("{prefix}/sessions/files/write"), &body).await?, 200)?;
        ensure!(saved["path"] == "/src/main.py" && saved["status"] == "success", "{saved}");
        let body = json!({ "session_id": "session-1", "path": "/src/main.py" });
        let read = json_of(&fixture.post(&format!("{prefix}/sessions/files/read"), &body).await?, 200)?;
        ensure!(read["path"] == "/src/main.py" && read["content"] == content.as_str(), "{read}");
        ensure!(read.get("base64").is_none());
        let body = json!({ "session_id": "session-1", "directory": "/src" });
        let listed = json_of(&fixture.post(&format!("{prefix}/sessions/files/list"), &body).await?, 200)?;
        let file = &listed["files"][0];
        ensure!(file["name"] == "main.py" && file["path"] == "/src/main.py", "{listed}");
        ensure!(file["type"] == "file" && file["size"] == content.len(), "{listed}");
        ensure!(file["modified"].as_str().is_some_and(|at| at.starts_with("20")), "{listed}");
    }
    ensure!(fixture.run("cat /workspace/src/main.py").await? == "print('Hello 2')");
    let body = json!({ "session_id": fixture.session, "path": "/" });
    let listed = json_of(&fixture.post("/v1/sessions/files/list", &body).await?, 200)?;
    ensure!(listed["files"][0]["path"] == "/src" && listed["files"][0]["type"] == "directory", "{listed}");
    Ok(())
}

#[tokio::test]
async fn bytes_that_are_not_text_come_back_exactly() -> Result<()> {
    let fixture = Fixture::new().await?;
    let bytes: Vec<u8> = (0..=255).collect();
    let body = json!({ "session_id": fixture.session, "path": "/b", "base64": STANDARD.encode(&bytes) });
    json_of(&fixture.post("/v1/sessions/files/write", &body).await?, 200)?;
    ensure!(fixture.read("b").await?.body == bytes);
    let body = json!({ "session_id": fixture.session, "path": "/b" });
    let read = json_of(&fixture.post("/v1/sessions/files/read", &body).await?, 200)?;
    ensure!(!read["content"].as_str().context("no content")?.is_empty());
    ensure!(STANDARD.decode(read["base64"].as_str().context("no bytes")?)? == bytes);
    Ok(())
}

#[tokio::test]
async fn invalid_requests_of_the_editor_are_refused() -> Result<()> {
    let fixture = Fixture::new().await?;
    let id = &fixture.session;
    for (route, body, status) in [
        ("write", json!({ "session_id": id, "path": "/x" }), 400),
        ("write", json!({ "session_id": id, "path": "/x", "base64": "%" }), 400),
        ("write", json!({ "session_id": id, "path": "/x/../../y", "content": "" }), 400),
        ("write", json!({ "session_id": id, "path": "/", "content": "" }), 400),
        ("write", json!({ "session_id": "nobody", "path": "/x", "content": "" }), 404),
        ("read", json!({ "session_id": id, "path": "/none" }), 404),
        ("read", json!({ "session_id": id, "path": "/" }), 409),
        ("read", json!({ "session_id": id }), 400),
        ("list", json!({ "session_id": id, "directory": "/none" }), 404),
        ("list", json!({ "session_id": "", "directory": "/" }), 404),
        ("list", json!({ "session_id": id, "odd": 1 }), 400),
    ] {
        error_code(&fixture.post(&format!("/v1/sessions/files/{route}"), &body).await?, status)?;
    }
    fixture.run("truncate -s 17M /workspace/large").await?;
    let body = json!({ "session_id": id, "path": "/large" });
    ensure!(error_code(&fixture.post("/v1/sessions/files/read", &body).await?, 413)? == "file_too_large");
    Ok(())
}
