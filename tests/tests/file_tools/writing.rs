//! `write_file` and `edit_file`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use serde_json::json;

use crate::Ground;

#[tokio::test]
async fn a_file_is_created_with_its_parents_and_replaced_with_its_mode() -> Result<()> {
    let ground = Ground::new().await?;
    let text = ground.text("write_file", json!({"file_path": "a/b/c.sh", "content": "one\ntwo\n"})).await;
    assert_eq!(text, "Created a/b/c.sh (2 lines, 8 bytes)");
    fs::set_permissions(ground.at("a/b/c.sh"), fs::Permissions::from_mode(0o750))?;
    let text = ground.text("write_file", json!({"file_path": "/workspace/a/b/c.sh", "content": "x"})).await;
    assert_eq!(text, "Replaced a/b/c.sh (1 line, 1 byte)");
    assert_eq!(ground.read("a/b/c.sh"), "x");
    assert_eq!(fs::metadata(ground.at("a/b/c.sh"))?.permissions().mode() & 0o777, 0o750);
    ground.run("echo more >> a/b/c.sh && mkdir a/b/d").await?;
    let error = ground.error("write_file", json!({"file_path": "a/b", "content": ""})).await;
    assert!(error.contains("not a regular file"), "{error}");
    let error = ground.error("write_file", json!({"file_path": "a/b/c.sh/d", "content": ""})).await;
    assert!(error.contains("a parent of"), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_edit_replaces_one_occurrence_or_all_and_keeps_the_other_bytes() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write_bytes("odd.txt", b"a = 1\r\nb = \xff\r\na = 1\r\n").await;
    fs::set_permissions(ground.at("odd.txt"), fs::Permissions::from_mode(0o640))?;
    let edit = |old: &str, new: &str, all: bool| json!({"file_path": "odd.txt", "old_string": old, "new_string": new, "all": all});
    let error = ground.error("edit_file", edit("a = 1", "a = 2", false)).await;
    assert!(error.contains("occurs 2 times in `odd.txt`, at lines 1, 3"), "{error}");
    let text = ground.text("edit_file", edit("a = 1\nb", "a = 3\nc\nb", false)).await;
    assert_eq!(text, "Replaced 1 occurrence in odd.txt (line 1)");
    assert_eq!(fs::read(ground.at("odd.txt"))?, b"a = 3\r\nc\r\nb = \xff\r\na = 1\r\n");
    let text = ground.text("edit_file", edit("a =", "z =", true)).await;
    assert_eq!(text, "Replaced 2 occurrences in odd.txt (lines 1, 4)");
    assert_eq!(fs::metadata(ground.at("odd.txt"))?.permissions().mode() & 0o777, 0o640);
    Ok(())
}

#[tokio::test]
async fn an_edit_that_does_not_match_says_what_is_there() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("src/a.py", "def f():\n    return 1\n").await;
    let edit = |path: &str, old: &str| json!({"file_path": path, "old_string": old, "new_string": "new"});
    let error = ground.error("edit_file", edit("src/a.py", "def f():\n  return 1")).await;
    assert!(error.contains("L1: def f():\nL2:     return 1"), "{error}");
    let error = ground.error("edit_file", edit("a.py", "x")).await;
    assert!(error.contains("does not exist") && error.contains("src/a.py"), "{error}");
    let error = ground.error("edit_file", edit("src", "x")).await;
    assert!(error.contains("is not a regular file"), "{error}");
    Ok(())
}
