//! Patches, as models send them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use serde_json::json;

use crate::Ground;

#[tokio::test]
async fn a_patch_adds_updates_moves_and_deletes_files_in_one_call() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("update.py", "def f():\n    return 1\n").await;
    ground.write("bin/run.sh", "echo one\n").await;
    ground.write("gone.txt", "x\n").await;
    fs::set_permissions(ground.at("bin/run.sh"), fs::Permissions::from_mode(0o755))?;
    let outcome = ground
        .patch(
            "*** Add File: new/deep/file.txt\n+hello\n*** Update File: update.py\n@@ def f():\n-    return 1\n+    \
             return 2\n*** Update File: bin/run.sh\n*** Move to: scripts/run.sh\n@@\n-echo one\n+echo two\n*** Delete \
             File: gone.txt",
        )
        .await;
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(
        outcome.text,
        "Success. Updated the following files:\nA new/deep/file.txt\nM update.py\nM scripts/run.sh\nD gone.txt"
    );
    assert_eq!(ground.read("new/deep/file.txt"), "hello\n");
    assert_eq!(ground.read("update.py"), "def f():\n    return 2\n");
    assert_eq!(ground.read("scripts/run.sh"), "echo two\n");
    assert!(!ground.at("bin/run.sh").exists() && !ground.at("gone.txt").exists());
    // The session's programs own the files, with their modes.
    ground.run("test -x scripts/run.sh && echo more >> new/deep/file.txt && rm -r new").await?;
    assert_eq!(fs::read_dir(ground.at("../staging"))?.count(), 0, "nothing is left");
    Ok(())
}

#[tokio::test]
async fn a_patch_that_fails_in_its_last_section_changes_nothing() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("a.txt", "one\n").await;
    ground.write("b.txt", "two\n").await;
    let outcome = ground
        .patch(
            "*** Add File: c.txt\n+new\n*** Update File: a.txt\n@@\n-one\n+changed\n*** Delete File: b.txt\n*** Update \
             File: missing.txt\n@@\n-x\n+y",
        )
        .await;
    assert!(outcome.is_error);
    assert!(outcome.text.contains("`missing.txt` does not exist"), "{}", outcome.text);
    assert!(outcome.text.ends_with("No file was changed."), "{}", outcome.text);
    assert_eq!((ground.read("a.txt").as_str(), ground.read("b.txt").as_str()), ("one\n", "two\n"));
    assert!(!ground.at("c.txt").exists());
    Ok(())
}

#[tokio::test]
async fn the_context_of_a_hunk_selects_its_place() -> Result<()> {
    let ground = Ground::new().await?;
    let text =
        "class A:\n    def go(self):\n        return 1\n\nclass B:\n    def go(self):\n        return 1\n";
    ground.write("two.py", text).await;
    let outcome = ground
        .patch(
            "*** Update File: two.py\n@@ class B:\n     def go(self):\n-        return 1\n+        return 2",
        )
        .await;
    assert!(!outcome.is_error, "{}", outcome.text);
    let expected =
        "class A:\n    def go(self):\n        return 1\n\nclass B:\n    def go(self):\n        return 2\n";
    assert_eq!(ground.read("two.py"), expected);
    // A context that does not exist is an error, and not another place.
    let outcome = ground
        .patch(
            "*** Update File: two.py\n@@ class C:\n     def go(self):\n-        return 1\n+        return 3",
        )
        .await;
    assert!(outcome.is_error && outcome.text.contains("`@@ class C:` was not found"), "{}", outcome.text);
    assert_eq!(ground.read("two.py"), expected);
    Ok(())
}

#[tokio::test]
async fn line_ends_form_feeds_and_odd_bytes_are_kept() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write_bytes("odd.txt", b"one\r\n\x0ctwo\r\nbin \xff\xfe\r\nlast").await;
    let outcome = ground.patch("*** Update File: odd.txt\n@@\n-one\n+ONE\n+more").await;
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(fs::read(ground.at("odd.txt"))?, b"ONE\r\nmore\r\n\x0ctwo\r\nbin \xff\xfe\r\nlast");
    Ok(())
}

#[tokio::test]
async fn a_patch_of_a_thousand_files_is_applied_as_one() -> Result<()> {
    let ground = Ground::new().await?;
    let count = 1000;
    let add: Vec<_> =
        (0..count).map(|n| format!("*** Add File: dir{}/file{n}.txt\n+value {n}\n+end", n % 20)).collect();
    let outcome = ground.patch(&add.join("\n")).await;
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(outcome.text.lines().count(), count + 1);
    let update: Vec<_> = (0..count)
        .map(|n| format!("*** Update File: dir{}/file{n}.txt\n@@\n-value {n}\n+changed {n}", n % 20))
        .collect();
    let outcome = ground.patch(&update.join("\n")).await;
    assert!(!outcome.is_error, "{}", outcome.text);
    for n in 0..count {
        assert_eq!(ground.read(&format!("dir{}/file{n}.txt", n % 20)), format!("changed {n}\nend\n"));
    }
    // One wrong line among a thousand files, and none of them is changed.
    let broken = update.join("\n").replace("-value 777\n", "-no such line\n").replace("-value", "-changed");
    let outcome = ground.patch(&broken).await;
    assert!(outcome.is_error && outcome.text.contains("dir17/file777.txt"), "{}", outcome.text);
    assert_eq!(ground.read("dir0/file0.txt"), "changed 0\nend\n");
    Ok(())
}

#[tokio::test]
async fn long_files_are_patched() -> Result<()> {
    let ground = Ground::new().await?;
    let lines: String = (0..200_000).map(|n| format!("line number {n}\n")).collect();
    ground.write_bytes("long.txt", lines.as_bytes()).await;
    let outcome = ground
        .patch("*** Update File: long.txt\n*** Move to: moved.txt\n@@\n line number 149999\n-line number 150000\n+changed")
        .await;
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(ground.read("moved.txt"), lines.replace("line number 150000\n", "changed\n"));
    Ok(())
}

#[tokio::test]
async fn a_patch_works_in_a_hibernated_session() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("a.txt", "one\n").await;
    ground.worker.client().await?.hibernate_session(ground.session).await?;
    let outcome = ground.patch("*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: b/c.txt\n+c").await;
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(ground.text("read_file", json!({"file_path": "a.txt"})).await, "L1: two");
    ground.run("test \"$(cat a.txt b/c.txt)\" = \"$(printf 'two\\nc\\n')\" && rm -r b").await
}
