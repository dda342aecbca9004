//! Watching a workspace, as SSE and by WebSocket.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_of, text};
use headwater_tests::{Fixture, Received, SseStream};
use serde_json::Value;

use crate::new;

async fn watch(fixture: &Fixture, query: &str) -> Result<SseStream> {
    let mut stream = fixture.stream(&fixture.path(&format!("files/watch{query}"))).await?;
    let first = stream.json().await?;
    ensure!(first["type"] == "ready", "{first}");
    Ok(stream)
}

fn is(event: &Value, change: &str, path: &str) -> bool {
    event["type"] == change && event["path"] == path
}

#[tokio::test]
async fn changes_by_programs_are_reported_as_they_happen() -> Result<()> {
    let fixture = new().await?;
    fixture.run("mkdir old").await?;
    let mut stream = watch(&fixture, "").await?;
    fixture.run("echo x > old/f").await?;
    let info = stream.until(|event| event["path"] == "old/f").await?;
    ensure!(info.len() == 1 && is(&info[0], "created", "old/f") && info[0]["kind"] == "file", "{info:?}");
    fixture.run("echo y >> old/f").await?;
    stream.until(|event| is(event, "modified", "old/f")).await?;
    fixture.run("mv old/f old/g").await?;
    let info = stream.until(|event| event["type"] == "moved").await?;
    let last = info.last().cloned().unwrap_or_default();
    ensure!(is(&last, "moved", "old/g") && last["from"] == "old/f", "{info:?}");
    fixture.run("mkdir -p new/deep && echo x > new/deep/f").await?;
    stream.until(|event| is(event, "created", "new/deep/f")).await?;
    fixture.run("mv new young && echo x > young/deep/h").await?;
    stream.until(|event| is(event, "created", "young/deep/h")).await?;
    fixture.run("rm old/g").await?;
    stream.until(|event| is(event, "removed", "old/g")).await?;
    // A name that is no text, and that looks like an event.
    fixture.run("touch \"$(printf 'n\\n\\nevent: ended\\ndata: {}\\377')\"").await?;
    let info = stream.until(|event| event["encoding"] == "percent").await?;
    ensure!(info.iter().all(|event| event["type"] != "ended"), "{info:?}");
    let odd = text(&info[info.len() - 1]["path"]);
    ensure!(odd.starts_with("n%0A%0Aevent") && odd.ends_with("%FF"), "{odd}");
    Ok(())
}

#[tokio::test]
async fn a_watch_ends_with_its_session_and_says_so() -> Result<()> {
    let fixture = new().await?;
    let mut stream = watch(&fixture, "?recursive=false").await?;
    let mut socket = fixture.socket(&fixture.path("files/watch")).await?;
    ensure!(matches!(socket.next().await?, Received::Text(first) if first["type"] == "ready"));
    fixture.run("touch f").await?;
    stream.until(|event| is(event, "created", "f")).await?;
    ensure!(matches!(socket.next().await?, Received::Text(event) if is(&event, "created", "f")));
    let path = format!("/v1/sessions/{}", fixture.session);
    ensure!(fixture.delete(&path).await?.status == 204);
    let rest = stream.rest().await?;
    ensure!(rest.last().is_some_and(|last| last["type"] == "ended"), "{rest:?}");
    loop {
        match socket.next().await? {
            Received::Text(_) => {}
            Received::Close(code, _) => break ensure!(code == 1000, "{code}"),
            other => anyhow::bail!("{other:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_overflow_of_changes_is_reported() -> Result<()> {
    let fixture = new().await?;
    let mut stream = watch(&fixture, "").await?;
    // Far more at once than a watch keeps for a reader, in one go.
    let files = 60_000;
    fixture
        .run(&format!("mkdir many && cd many && seq -f f%g {files} | xargs touch && cd .. && touch last"))
        .await?;
    let info = stream.until(|event| is(event, "created", "last") || event["type"] == "rescan").await?;
    let created = info.iter().filter(|event| event["type"] == "created").count();
    let overflowed = info.iter().any(|event| event["type"] == "overflow");
    ensure!(overflowed || created >= files, "{created} of {files} were reported, and no overflow");
    Ok(())
}

#[tokio::test]
async fn a_watch_continues_over_a_restart_of_the_worker_and_asks_for_a_rescan() -> Result<()> {
    let fixture = new().await?;
    let mut stream = watch(&fixture, "").await?;
    fixture.server.kill_worker().await?;
    stream.until(|event| event["type"] == "rescan").await?;
    stream.until(|event| event["type"] == "ready").await?;
    fixture.run("touch after").await?;
    stream.until(|event| is(event, "created", "after")).await?;
    Ok(())
}

#[tokio::test]
async fn only_existing_paths_inside_the_workspace_can_be_watched() -> Result<()> {
    let fixture = new().await?;
    fixture.run("ln -s /etc link").await?;
    for (query, status) in
        [("path=none", 404), ("path=link/passwd", 409), ("path=../x", 400), ("nonsense=1", 400)]
    {
        let answer = fixture.get(&fixture.path(&format!("files/watch?{query}"))).await?;
        error_of(&answer, status)?;
    }
    Ok(())
}
