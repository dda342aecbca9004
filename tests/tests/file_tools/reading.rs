//! `read_file`, `list_dir`, `grep_files` and `view_image`.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use base64::Engine;
use serde_json::json;

use crate::Ground;

/// A PNG of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn a_file_is_read_by_lines_and_errors_say_what_to_do_next() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("src/a.py", "one\ntwo\nthree\n").await;
    let read =
        |path: &str, offset: u32, limit: u32| json!({"file_path": path, "offset": offset, "limit": limit});
    assert_eq!(
        ground.text("read_file", json!({"file_path": "src/a.py"})).await,
        "L1: one\nL2: two\nL3: three"
    );
    assert_eq!(
        ground.text("read_file", read("/workspace/src/a.py", 2, 1)).await,
        "L2: two\n[Lines 2 to 2 of 3. Read on with offset 3.]"
    );
    let error = ground.error("read_file", read("src/a.py", 4, 1)).await;
    assert!(error.contains("offset 4 is beyond the end of the file, which has 3 lines"), "{error}");
    let error = ground.error("read_file", json!({"file_path": "a.py"})).await;
    assert!(error.contains("does not exist") && error.contains("Files of that name: src/a.py"), "{error}");
    let error = ground.error("read_file", json!({"file_path": "src"})).await;
    assert!(error.contains("is a directory") && error.contains("list_dir"), "{error}");
    ground.write("empty", "").await;
    assert_eq!(ground.text("read_file", json!({"file_path": "empty"})).await, "[The file is empty.]");
    ground.write_bytes("program", b"\x7fELF\0\0\0").await;
    let error = ground.error("read_file", json!({"file_path": "program"})).await;
    assert!(error.contains("is a binary file of 7 bytes") && error.contains("xxd"), "{error}");
    ground.write_bytes("image", &base64::prelude::BASE64_STANDARD.decode(PNG)?).await;
    let error = ground.error("read_file", json!({"file_path": "image"})).await;
    assert!(error.contains("view_image"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_block_is_read_by_its_indentation() -> Result<()> {
    let ground = Ground::new().await?;
    ground
        .write(
            "a.py",
            "import os\n\n# About A.\nclass A:\n    def f(self):\n        return 1\n\nclass B:\n    x = 1\n",
        )
        .await;
    let read = |indentation| json!({"file_path": "a.py", "mode": "indentation", "indentation": indentation});
    assert_eq!(
        ground.text("read_file", read(json!({"anchor_line": 6}))).await,
        "L3: # About A.\nL4: class A:\nL5:     def f(self):\nL6:         return 1\n[Lines 3 to 6 of 9.]"
    );
    assert_eq!(
        ground.text("read_file", read(json!({"anchor_line": 6, "max_levels": 1}))).await,
        "L5:     def f(self):\nL6:         return 1\n[Lines 5 to 6 of 9.]"
    );
    let error = ground.error("read_file", read(json!({"anchor_line": 10}))).await;
    assert!(error.contains("anchor_line 10 is beyond"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_long_file_is_read_only_as_far_as_needed() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("long", "").await;
    // 4 GiB, almost all of it a hole behind the first lines.
    let lines: String = (1..=100_000).map(|n| format!("line {n}\n")).collect();
    fs::write(ground.at("long"), &lines)?;
    File::options().write(true).open(ground.at("long"))?.set_len(4 << 30)?;
    let text = ground.text("read_file", json!({"file_path": "long", "offset": 99_999, "limit": 2})).await;
    assert_eq!(
        text,
        "L99999: line 99999\nL100000: line 100000\n[More lines follow. Read on with offset 100001.]"
    );
    let error = ground.error("read_file", json!({"file_path": "long", "mode": "indentation"})).await;
    assert!(error.contains("too long for the mode indentation"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_directory_is_listed_by_depth_and_in_pages() -> Result<()> {
    let ground = Ground::new().await?;
    for path in ["a/one", "a/deep/er/x", "b", "c/two"] {
        ground.write(path, "").await;
    }
    symlink("/etc/passwd", ground.at("link"))?;
    let list = |path: &str, offset: u32, limit: u32, depth: u32| json!({"dir_path": path, "offset": offset, "limit": limit, "depth": depth});
    let text = ground.text("list_dir", json!({"dir_path": "."})).await;
    assert_eq!(text, "Absolute path: /workspace\na/\n  deep/\n  one\nb\nc/\n  two\nlink@ -> /etc/passwd");
    let text = ground.text("list_dir", list("/workspace/a/", 1, 25, 1)).await;
    assert_eq!(text, "Absolute path: /workspace/a\ndeep/\none");
    let text = ground.text("list_dir", list("", 1, 2, 9)).await;
    assert_eq!(text, "Absolute path: /workspace\na/\n  deep/\n[7 more entries. Continue with offset 3.]");
    let text = ground.text("list_dir", list("", 3, 2, 9)).await;
    assert_eq!(
        text,
        "Absolute path: /workspace\na/ (continued)\n  deep/ (continued)\n    er/\n      x\n[5 more entries. Continue with \
         offset 5.]"
    );
    let error = ground.error("list_dir", list("", 99, 2, 9)).await;
    assert!(error.contains("offset 99 is beyond the end") && error.contains("9 entries"), "{error}");
    let error = ground.error("list_dir", list("b", 1, 2, 9)).await;
    assert!(error.contains("`b` is a file") && error.contains("read_file"), "{error}");
    let error = ground.error("list_dir", list("nowhere", 1, 2, 9)).await;
    assert!(error.contains("does not exist"), "{error}");
    ground.run("mkdir empty && mkdir many && cd many && seq 1 3000 | xargs touch").await?;
    let text = ground.text("list_dir", json!({"dir_path": "empty"})).await;
    assert_eq!(text, "Absolute path: /workspace/empty\n[The directory is empty.]");
    let text = ground.text("list_dir", list("many", 2500, 25, 1)).await;
    assert!(text.ends_with("[476 more entries. Continue with offset 2525.]"), "{text}");
    Ok(())
}

#[tokio::test]
async fn matching_files_are_found_newest_first_without_those_that_git_ignores() -> Result<()> {
    let ground = Ground::new().await?;
    for (path, age) in
        [("old.rs", 300), ("src/new.rs", 10), ("src/mid.ts", 100), ("target/x.rs", 1), ("other.rs", 5)]
    {
        let text = if path == "other.rs" { "nothing" } else { "fn needle() {}\nneedle\n" };
        ground.write(path, text).await;
        let file = File::options().write(true).open(ground.at(path))?;
        file.set_modified(SystemTime::now() - Duration::from_secs(age))?;
    }
    ground.write(".gitignore", "target/\n").await;
    let grep = |more: serde_json::Value| {
        let mut arguments = json!({"pattern": "need.e"});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    assert_eq!(ground.text("grep_files", grep(json!({}))).await, "src/new.rs\nsrc/mid.ts\nold.rs");
    assert_eq!(ground.text("grep_files", grep(json!({"include": "*.{rs,py}"}))).await, "src/new.rs\nold.rs");
    assert_eq!(ground.text("grep_files", grep(json!({"path": "src"}))).await, "src/new.rs\nsrc/mid.ts");
    assert_eq!(ground.text("grep_files", grep(json!({"path": "old.rs"}))).await, "old.rs");
    let text = ground.text("grep_files", grep(json!({"limit": 1}))).await;
    assert!(text.starts_with("src/new.rs\n[More files match than the limit of 1."), "{text}");
    assert_eq!(ground.text("grep_files", json!({"pattern": "absent"})).await, "No matches found.");
    let error = ground.error("grep_files", json!({"pattern": "("})).await;
    assert!(error.contains("regular expression"), "{error}");
    let error = ground.error("grep_files", grep(json!({"path": "nowhere"}))).await;
    assert!(error.contains("does not exist"), "{error}");
    Ok(())
}

#[tokio::test]
async fn an_image_is_shown_by_its_content_whatever_its_name() -> Result<()> {
    let ground = Ground::new().await?;
    let png = base64::prelude::BASE64_STANDARD.decode(PNG)?;
    ground.write_bytes("shot.txt", &png).await;
    let outcome = ground.call("view_image", json!({"path": "shot.txt"})).await;
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(outcome.text, "shot.txt: image/png of 1x1 pixels");
    let image = outcome.image.expect("an image");
    assert_eq!((image.media_type, image.bytes), ("image/png", png));
    ground.write("fake.png", "not an image").await;
    let error = ground.error("view_image", json!({"path": "fake.png"})).await;
    assert!(error.contains("is not an image") && error.contains("PNG, JPEG, GIF and WebP"), "{error}");
    let error = ground.error("view_image", json!({"path": "missing.png"})).await;
    assert!(error.contains("does not exist"), "{error}");
    File::options().write(true).open(ground.at("fake.png"))?.set_len(1 << 40)?;
    let error = ground.error("view_image", json!({"path": "fake.png"})).await;
    assert!(error.contains("the maximum is"), "{error}");
    Ok(())
}
