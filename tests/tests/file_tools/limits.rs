//! Limits of the session hold for the tools of files.

use std::fs;

use anyhow::Result;
use headwater_protocol::{Limits, SessionSpec};
use serde_json::json;

use crate::Ground;

#[tokio::test]
async fn a_patch_beyond_the_disk_limit_is_refused_and_changes_nothing() -> Result<()> {
    let limits = Limits { disk_bytes: Some(1 << 20), ..Limits::default() };
    let ground = Ground::with(&SessionSpec { limits, ..SessionSpec::default() }).await?;
    ground.write("a.txt", "one\n").await;
    let line = "x".repeat(1000);
    let long: Vec<_> = (0..2000).map(|_| format!("+{line}")).collect();
    let sections =
        format!("*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: long.txt\n{}", long.join("\n"));
    let outcome = ground.patch(&sections).await;
    assert!(outcome.is_error && outcome.text.contains("does not fit"), "{}", outcome.text);
    assert!(outcome.text.ends_with("No file was changed."), "{}", outcome.text);
    assert_eq!(ground.read("a.txt"), "one\n");
    assert!(!ground.at("long.txt").exists());
    let error = ground.error("write_file", json!({"file_path": "b", "content": "y".repeat(2 << 20)})).await;
    assert!(error.contains("does not fit"), "{error}");
    // What replaces a file of the same size fits.
    ground.write("big.txt", &"a".repeat(700 << 10)).await;
    ground.write("big.txt", &"b".repeat(700 << 10)).await;
    Ok(())
}

#[tokio::test]
async fn a_patch_beyond_the_number_of_files_is_refused_and_changes_nothing() -> Result<()> {
    let limits = Limits { inodes: Some(10), ..Limits::default() };
    let ground = Ground::with(&SessionSpec { limits, ..SessionSpec::default() }).await?;
    ground.write("a.txt", "one\n").await;
    let add: Vec<_> = (0..20).map(|n| format!("*** Add File: f{n}.txt\n+x")).collect();
    let outcome = ground.patch(&add.join("\n")).await;
    assert!(outcome.is_error && outcome.text.contains("does not fit"), "{}", outcome.text);
    assert_eq!(fs::read_dir(ground.at(""))?.count(), 1);
    let error =
        ground.error("write_file", json!({"file_path": "a/b/c/d/e/f/g/h/i/j/k", "content": ""})).await;
    assert!(error.contains("nothing was written"), "{error}");
    let outcome = ground.patch("*** Update File: a.txt\n*** Move to: x/y/z.txt\n@@\n-one\n+two").await;
    assert!(!outcome.is_error, "{}", outcome.text);
    Ok(())
}
