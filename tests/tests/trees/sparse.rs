//! Files with holes: a terabyte of nothing costs nothing, and long copies end with their session.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use headwater_tests::Fixture;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_of, text};
use serde_json::json;

use crate::{new, staged, with};

const TERABYTE: u64 = 1 << 40;
/// Where the few bytes are.
const AT: u64 = TERABYTE / 2 - 3;

/// Makes a file of a terabyte that holds six bytes, as the session's own.
fn make_sparse(fixture: &Fixture) -> Result<()> {
    let owner = fs::metadata(fixture.workspace())?;
    let path = fixture.workspace().join("huge");
    let file = File::create(&path)?;
    file.set_len(TERABYTE)?;
    file.write_all_at(b"across", AT)?;
    chown(&path, Some(owner.uid()), Some(owner.gid()))?;
    Ok(())
}

fn is_the_same(path: &Path) -> Result<bool> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut bytes = [0; 6];
    file.read_exact_at(&mut bytes, AT)?;
    let about = file.metadata()?;
    Ok(about.len() == TERABYTE && &bytes == b"across" && about.blocks() * 512 < 1 << 20)
}

#[tokio::test]
async fn a_terabyte_of_holes_is_kept_restored_forked_and_copied_with_its_holes() -> Result<()> {
    let fixture = new().await?;
    make_sparse(&fixture)?;
    let snapshot = fixture.post_ok(&fixture.path("snapshots"), &json!({"name": "holes"})).await?;
    let id = text(&snapshot["id"]);
    let kept = fixture.folder().join("snapshots").join(&id).join("tree/huge");
    assert!(is_the_same(&kept)?);
    // The same content with another time: it is read, and found to be the same.
    fs::File::options().write(true).open(fixture.workspace().join("huge"))?.write_all_at(b"across", AT)?;
    let diff = fixture.json(&fixture.path(&format!("files/diff?snapshot={id}"))).await?;
    assert_eq!(diff["items"].as_array().map(Vec::len), Some(0), "{diff}");
    fs::File::options().write(true).open(fixture.workspace().join("huge"))?.write_all_at(b"other!", AT)?;
    let diff = fixture.json(&fixture.path(&format!("files/diff?snapshot={id}"))).await?;
    assert_eq!(diff["items"].as_array().map(Vec::len), Some(1), "the control: {diff}");
    fixture.post_ok(&fixture.path(&format!("snapshots/{id}/restore")), &json!({})).await?;
    assert!(is_the_same(&fixture.workspace().join("huge"))?);
    let fork = text(&fixture.post_ok(&fixture.path("fork"), &json!({})).await?["id"]);
    let forked = fixture.server.data().join("sessions").join(&fork).join("workspace/huge");
    assert!(is_the_same(&forked)?);
    fixture.post_ok(&fixture.path("files/copy"), &json!({"from": "huge", "to": "copy"})).await?;
    assert!(is_the_same(&fixture.workspace().join("copy"))?);
    fixture.run("mkdir folder && mv copy folder").await?;
    fixture.post_ok(&fixture.path("files/copy"), &json!({"from": "folder", "to": "again"})).await?;
    assert!(is_the_same(&fixture.workspace().join("again/copy"))?);
    // A search passes over it, and an archive is refused before it begins.
    let found = fixture.json(&fixture.path("files/search?content=across")).await?;
    assert_eq!(found["summary"]["stopped"].as_str().unwrap_or_default(), "", "{found}");
    for format in ["tar", "tar.gz", "zip"] {
        let route = fixture.path(&format!("files/archive?format={format}"));
        let error = error_of(&fixture.get(&route).await?, 409)?;
        let message = text(&error["message"]);
        assert!(message.contains("again/copy") || message.contains("huge"), "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn a_copy_that_does_not_fit_is_refused_before_anything_is_copied() -> Result<()> {
    let fixture = with(&json!({"limits": {"disk_bytes": 16 << 20}})).await?;
    fixture.run("head -c 10M /dev/zero | tr '\\0' x > file").await?;
    let answer = fixture
        .request("POST", &fixture.path("snapshots"), &[("Content-Type", "application/json")], b"{}")
        .await?;
    error_of(&answer, 413)?;
    assert_eq!(staged(&fixture), 0);
    fixture.run("head -c 4M file > small && rm file").await?;
    fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?; // the control
    Ok(())
}

#[tokio::test]
async fn a_long_copy_ends_with_its_session() -> Result<()> {
    // A copy that is over before its session ends shows nothing: then there is another one.
    for _ in 0..10 {
        if !copy_while_the_session_ends().await? {
            return Ok(());
        }
    }
    anyhow::bail!("each copy was over before its session ended")
}

/// Ends a session while a large file of it is copied; whether the copy was over before that.
async fn copy_while_the_session_ends() -> Result<bool> {
    let fixture = new().await?;
    let mut file = File::create(fixture.workspace().join("large"))?;
    let piece = vec![7; 1 << 20];
    for _ in 0..400 {
        file.write_all(&piece)?;
    }
    let path = fixture.path("snapshots");
    let done = AtomicBool::new(false);
    let copy = async {
        let copied = fixture.request("POST", &path, &[("Content-Type", "application/json")], b"{}").await;
        done.store(true, Ordering::Relaxed);
        copied
    };
    let end = async {
        let begun = || staged(&fixture) == 1 || done.load(Ordering::Relaxed);
        eventually("the copy has begun", async || begun()).await?;
        let answer = fixture.delete(&format!("/v1/sessions/{}", fixture.session)).await?;
        anyhow::ensure!((200..300).contains(&answer.status), "{}", answer.text());
        // Nothing works on it any more, and nothing of it is left.
        eventually("the copy has ended", async || staged(&fixture) == 0).await
    };
    let (copied, ended) = tokio::join!(copy, end);
    ended?;
    let status = copied?.status;
    assert!([201, 404, 409].contains(&status), "{status}");
    Ok(status == 201)
}
