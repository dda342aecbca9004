//! The folder that `headwater mcp` is started in is the workspace.

use std::fs;

use anyhow::{Context, Result};
use base64::Engine as _;
use headwater_tests::TestWorker;
use serde_json::json;

use crate::client::{Era, McpClient, text_of};

const ERA: Era = Era::Handshake("2025-06-18");

/// A PNG of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn the_tools_edit_the_folder_in_place() -> Result<()> {
    let worker = TestWorker::small().await?;
    let folder = worker.scratch().join("project");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("old.txt"), "one\ntwo\n")?;
    let mut client = McpClient::with(&worker, ERA, &["--folder", folder.to_str().context("a path")?])?;
    let patch = "*** Begin Patch\n*** Update File: old.txt\n@@\n-two\n+2\n*** Add File: new.txt\n+new\n*** End Patch\n";
    client.text("apply_patch", &json!({"input": patch}))?;
    assert_eq!(fs::read_to_string(folder.join("old.txt"))?, "one\n2\n");
    assert_eq!(fs::read_to_string(folder.join("new.txt"))?, "new\n");
    client.text("write_file", &json!({"file_path": "written.txt", "content": "written\n"}))?;
    client.text(
        "edit_file",
        &json!({"file_path": "written.txt", "old_string": "written", "new_string": "edited"}),
    )?;
    assert!(client.text("read_file", &json!({"file_path": "written.txt"}))?.contains("L1: edited"));
    assert!(client.text("list_dir", &json!({"dir_path": "."}))?.contains("written.txt"));
    assert!(client.text("grep_files", &json!({"pattern": "edi.ed"}))?.contains("written.txt"));
    assert!(
        client
            .text("exec_command", &json!({"cmd": "cat written.txt; echo made > made.txt"}))?
            .contains("edited")
    );
    assert_eq!(fs::read_to_string(folder.join("made.txt"))?, "made\n");
    client.close()?;
    assert!(folder.join("made.txt").exists(), "the folder outlives the session");
    Ok(())
}

#[tokio::test]
async fn an_image_is_shown_as_an_image() -> Result<()> {
    let worker = TestWorker::small().await?;
    let folder = worker.scratch().join("images");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("pixel.png"), base64::prelude::BASE64_STANDARD.decode(PIXEL)?)?;
    let mut client = McpClient::with(&worker, ERA, &["--folder", folder.to_str().context("a path")?])?;
    let result = client.call("view_image", &json!({"path": "pixel.png"}))?;
    let image = result["content"].as_array().into_iter().flatten().find(|block| block["type"] == "image");
    let image = image.with_context(|| format!("no image: {result}"))?;
    assert_eq!(image["mimeType"], "image/png");
    assert!(
        base64::prelude::BASE64_STANDARD
            .decode(image["data"].as_str().context("no data")?)?
            .starts_with(b"\x89PNG")
    );
    // Clients that show structured content would drop the image.
    assert!(result.get("structuredContent").is_none(), "{result}");
    Ok(())
}

#[tokio::test]
async fn a_read_only_folder_stays_as_it_is() -> Result<()> {
    let worker = TestWorker::small().await?;
    let folder = worker.scratch().join("kept");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("file"), "old\n")?;
    let words = ["--folder", folder.to_str().context("a path")?, "--sandbox", "read-only"];
    let mut client = McpClient::with(&worker, ERA, &words)?;
    let result = client.call("exec_command", &json!({"cmd": "cat file; echo new > file; echo code $?"}))?;
    let text = text_of(&result);
    assert!(
        text.contains("old") && text.contains("Read-only file system") && text.contains("code 1"),
        "{text}"
    );
    let written = client.call("write_file", &json!({"file_path": "file", "content": "new"}))?;
    assert_eq!(written["isError"], true, "{written}");
    assert_eq!(fs::read_to_string(folder.join("file"))?, "old\n");
    Ok(())
}
