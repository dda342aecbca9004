//! Arguments that try to leave the workspace, by path, link or patch; and arguments of any size. Canaries beside the
//! workspace and in it are checked from the outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::Ground;

/// A folder of the host that everybody may change, and the file in it.
struct Canary(PathBuf);

impl Canary {
    fn new(ground: &Ground) -> Result<Self> {
        let folder = ground.worker.scratch().join("canary");
        fs::create_dir(&folder)?;
        fs::write(folder.join("file"), "the canary sings\n")?;
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn is_untouched(&self) -> Result<()> {
        let names: Vec<_> = fs::read_dir(&self.0)?.map(|entry| entry.unwrap().file_name()).collect();
        ensure!(names == ["file"], "{names:?}");
        ensure!(fs::read_to_string(self.0.join("file"))? == "the canary sings\n");
        Ok(())
    }
}

/// Calls of every tool with this path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let sent = |section: String| json!({ "input": crate::patch(&section) });
    vec![
        ("read_file", json!({ "file_path": path })),
        ("read_file", json!({ "file_path": path, "mode": "indentation" })),
        ("list_dir", json!({ "dir_path": path })),
        ("grep_files", json!({ "pattern": "canary", "path": path })),
        ("view_image", json!({ "path": path })),
        ("write_file", json!({ "file_path": path, "content": "x" })),
        ("edit_file", json!({ "file_path": path, "old_string": "canary", "new_string": "x" })),
        ("apply_patch", sent(format!("*** Add File: {path}\n+x"))),
        ("apply_patch", sent(format!("*** Delete File: {path}"))),
        ("apply_patch", sent(format!("*** Update File: {path}\n@@\n-the canary sings\n+x"))),
        ("apply_patch", sent(format!("*** Update File: {path}\n*** Move to: stolen.txt"))),
        ("apply_patch", sent(format!("*** Update File: inside.txt\n*** Move to: {path}"))),
    ]
}

async fn every_tool_refuses(ground: &Ground, path: &str) -> Result<()> {
    for (tool, arguments) in calls(path) {
        let outcome = ground.call(tool, arguments.clone()).await;
        ensure!(outcome.is_error, "{tool} {arguments}: {}", outcome.text);
        ensure!(!outcome.text.contains("sings"), "{tool} {arguments}: {}", outcome.text);
    }
    Ok(())
}

#[tokio::test]
async fn no_path_leads_out_of_the_workspace() -> Result<()> {
    let ground = Ground::new().await?;
    let canary = Canary::new(&ground)?;
    ground.write("inside.txt", "the canary sings\n").await;
    fs::write(ground.at("../beside"), "the canary sings\n")?;
    let (absolute, beside) = (canary.path("file"), ground.at("../beside").to_string_lossy().into_owned());
    let paths = [
        "../escape.txt",
        "../beside",
        "a/../../beside",
        "/workspace/../beside",
        "/etc/passwd",
        &absolute,
        &beside,
    ];
    for path in paths {
        every_tool_refuses(&ground, path).await?;
        let error = ground.error("write_file", json!({"file_path": path, "content": ""})).await;
        ensure!(error.contains("relative to the workspace"), "{path}: {error}");
    }
    canary.is_untouched()?;
    ensure!(!ground.at("../escape.txt").exists());
    ensure!(fs::read_to_string(ground.at("../beside"))? == "the canary sings\n");
    ensure!(ground.read("inside.txt") == "the canary sings\n" && !ground.at("stolen.txt").exists());
    Ok(())
}

#[tokio::test]
async fn no_link_leads_out_of_the_workspace() -> Result<()> {
    let ground = Ground::new().await?;
    let canary = Canary::new(&ground)?;
    ground.write("inside.txt", "the canary sings\n").await;
    symlink(&canary.0, ground.at("folder"))?;
    symlink(canary.path("file"), ground.at("file"))?;
    symlink("..", ground.at("up"))?;
    symlink("/proc/self/root", ground.at("magic"))?;
    symlink("inside.txt", ground.at("inner"))?;
    for path in ["folder/file", "folder/new", "file", "up/session.json", "magic/etc/passwd", "inner"] {
        every_tool_refuses(&ground, path).await?;
    }
    canary.is_untouched()?;
    ensure!(ground.read("inside.txt") == "the canary sings\n" && !ground.at("stolen.txt").exists());
    let outcome = ground.patch("*** Update File: folder/file\n@@\n-the canary sings\n+x").await;
    ensure!(outcome.text.contains("symbolic link"), "{}", outcome.text);
    Ok(())
}

#[tokio::test]
async fn links_that_appear_while_a_patch_is_applied_are_not_followed() -> Result<()> {
    let ground = Ground::new().await?;
    let canary = Canary::new(&ground)?;
    for n in 0..50 {
        ground.write(&format!("d/{n}"), "one\n").await;
    }
    let target = canary.0.display();
    let swap = format!("while [ ! -e stop ]; do mv d e && ln -s {target} d; rm -f d; mv e d; done");
    let spec = headwater_protocol::StartSpec::shell(&swap);
    let id = ground.worker.begin_in(ground.session, &spec).await?;
    for round in 0..20 {
        let sections: Vec<_> = (0..50).map(|n| format!("*** Add File: d/{n}\n+round {round}")).collect();
        ground.patch(&sections.join("\n")).await; // it may be refused
        canary.is_untouched()?;
    }
    ground.write("stop", "").await;
    ground.worker.until_exited(id).await?;
    canary.is_untouched()
}

#[tokio::test]
async fn odd_and_huge_arguments_are_refused_with_a_short_error() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("inside.txt", "x\n").await;
    let long_path = "a/".repeat(3000) + "b";
    for path in ["a\0b", "/workspace/a\0", long_path.as_str(), &"n".repeat(300), "", "/"] {
        for (tool, arguments) in calls(path) {
            if matches!((tool, path), ("list_dir" | "grep_files", "")) {
                continue; // the workspace itself
            }
            let outcome = ground.call(tool, arguments).await;
            ensure!(outcome.is_error, "{tool} {path:?}: {}", outcome.text);
            ensure!(outcome.text.len() < 1000, "{tool}: {}", outcome.text);
        }
    }
    // A line break in a name would forge a line of a later result.
    let error = ground.error("write_file", json!({"file_path": "a\nD inside.txt", "content": ""})).await;
    ensure!(error.contains("line break"), "{error}");
    fs::write(ground.at("x\nforged"), "needle")?;
    let text = ground.text("list_dir", json!({"dir_path": ""})).await;
    ensure!(text.contains("x\\nforged") && !text.contains("\nforged"), "{text}");
    let text = ground.text("grep_files", json!({"pattern": "needle"})).await;
    ensure!(text == "x\\nforged", "{text}");
    let pattern = "(a|b)".repeat(50_000);
    let error = ground.error("grep_files", json!({ "pattern": pattern })).await;
    ensure!(error.contains("at most 1000 bytes"), "{error}");
    let huge = "y".repeat(20 << 20);
    let error = ground.error("apply_patch", json!({ "input": huge })).await;
    ensure!(error.len() < 1000, "{} bytes", error.len());
    let edit = json!({"file_path": "inside.txt", "old_string": huge, "new_string": ""});
    let error = ground.error("edit_file", edit).await;
    ensure!(error.len() < 5000, "{} bytes", error.len());
    let text = ground.text("write_file", json!({"file_path": "huge", "content": huge})).await;
    ensure!(text.contains("20971520 bytes"), "{text}");
    let text = ground.text("read_file", json!({"file_path": "huge"})).await;
    ensure!(text.len() < 3000, "{} bytes", text.len());
    Ok(())
}
