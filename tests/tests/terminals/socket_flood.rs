//! An output flood stays interruptible: counted in bytes, not in time.

use anyhow::{Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::text;
use serde_json::json;

use crate::viewer::{CREDIT, Viewer};

/// Bytes in flight to a client.
const WINDOW: u32 = 64 << 10;
/// After the interrupt: the window, what is behind it, and screens; a second of `yes` prints a hundred times as much.
const AFTER_INTERRUPT: usize = 4 << 20;

#[tokio::test]
async fn an_interrupt_ends_a_flood_within_a_bounded_number_of_bytes() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let mut viewer = Viewer::open(&api, &session, "frames=binary").await?;
    let id = text(&viewer.hears("attached").await?["execution_id"]);
    viewer.hears("prompt").await?;
    viewer.socket.send(CREDIT, &WINDOW.to_le_bytes()).await?;
    viewer.info.clear();
    viewer.keys(b"yes flood\r").await?;
    let mut granted = 0;
    // In the middle of the flood: much of it has come, or a screen in its place, if a busy machine is behind.
    let is_flooded = |viewer: &Viewer| {
        viewer.bytes >= 1 << 20 || viewer.info.iter().any(|info| info["type"] == "snapshot")
    };
    while !is_flooded(&viewer) {
        granted = take(&mut viewer, granted).await?;
    }
    let before = viewer.bytes;
    viewer.info.clear();
    viewer.say(&json!({ "type": "interrupt" })).await?;
    // Nothing is read until the flood has ended: what comes after that is behind the interrupt, however long it took.
    let processes = format!("/v1/executions/{id}/processes");
    eventually("the interrupt ends the flood", async || {
        let info = api.json(&processes).await.unwrap_or_default();
        let all = info["processes"].as_array();
        all.is_some_and(|all| !all.is_empty() && all.iter().all(|process| process["name"] != "yes"))
    })
    .await?;
    while !viewer.info.iter().any(|info| info["type"] == "prompt") {
        granted = take(&mut viewer, granted).await?;
    }
    let after = viewer.bytes - before;
    assert!(after < AFTER_INTERRUPT, "{after} bytes came after the interrupt");
    viewer.keys(b"echo alive-$((1 + 1))-$(cat /proc/[0-9]*/comm 2> /dev/null | grep -cx yes)\r").await?;
    while !viewer.text().contains("alive-2-0") {
        granted = take(&mut viewer, granted).await?;
    }
    let listed = api.get(&format!("/v1/sessions/{session}/terminals")).await?;
    assert_eq!(listed.status, 200);
    Ok(())
}

/// Takes the next frame, and grants what was taken since, so that a window is always open.
async fn take(viewer: &mut Viewer, granted: usize) -> Result<usize> {
    ensure!(viewer.take().await?, "the server closed the socket: {:?}", viewer.info);
    let taken = viewer.bytes - granted;
    if taken < WINDOW as usize / 2 {
        return Ok(granted);
    }
    viewer.socket.send(CREDIT, &u32::try_from(taken)?.to_le_bytes()).await?;
    Ok(granted + taken)
}
