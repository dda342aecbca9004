//! One workspace for all who use it: work on its files counts as use of the session, changes take turns, and what is on
//! the disk counts the same for every route.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::host::eventually;
use headwater_tests::http::{self, error_of, text};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::{new, staged, upload, with};

/// An archive with one file of this many bytes.
fn archive(name: &str, bytes: usize) -> Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, std::iter::repeat_n(b'x', bytes).collect::<Vec<_>>().as_slice())?;
    Ok(tar.into_inner()?)
}

async fn hibernate(fixture: &Fixture, session: &str) -> Result<()> {
    let info = fixture.post_ok(&format!("/v1/sessions/{session}/hibernate"), &json!({})).await?;
    ensure!(info["state"] == "hibernated", "{info}");
    Ok(())
}

async fn set_idle_timeout(fixture: &Fixture, session: &str, ms: u64) -> Result<()> {
    let body = json!({ "idle_timeout_ms": ms }).to_string();
    let headers = [("Content-Type", "application/json")];
    let path = format!("/v1/sessions/{session}");
    let answer = fixture.request("PATCH", &path, &headers, body.as_bytes()).await?;
    ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
    Ok(())
}

async fn has_ended(fixture: &Fixture, session: &str) -> bool {
    let info = fixture.json(&format!("/v1/sessions/{session}")).await.unwrap_or_default();
    info["state"] == "ended"
}

#[tokio::test]
async fn a_session_whose_archive_arrives_slowly_is_in_use_until_it_is_unpacked() -> Result<()> {
    for hibernated in [true, false] {
        let fixture = new().await?;
        let unused = text(&fixture.post_ok("/v1/sessions", &json!({})).await?["id"]);
        if hibernated {
            hibernate(&fixture, &fixture.session).await?;
            hibernate(&fixture, &unused).await?;
        }
        let archive = archive("arrived", 1 << 20)?;
        let (first, rest) = archive.split_at(archive.len() / 2);
        let head = format!(
            "PUT {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
            fixture.path("files/archive"),
            fixture.server.address(),
            fixture.server.token(),
            archive.len()
        );
        let mut stream = TcpStream::connect(fixture.server.address()).await?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(first).await?;
        eventually("the upload has begun", async || staged(&fixture) == 1).await?;
        set_idle_timeout(&fixture, &fixture.session, 100).await?;
        set_idle_timeout(&fixture, &unused, 100).await?;
        // The control, and the clock: an unused session does not outlive its idle timeout.
        eventually("the unused session ends", async || has_ended(&fixture, &unused).await).await?;
        ensure!(!has_ended(&fixture, &fixture.session).await, "it ended during the upload");
        set_idle_timeout(&fixture, &fixture.session, 0).await?;
        stream.write_all(rest).await?;
        let answer = http::read(&mut stream, true).await?;
        ensure!(answer.status == 200, "hibernated: {hibernated}: {} {}", answer.status, answer.text());
        ensure!(std::fs::metadata(fixture.workspace().join("arrived"))?.len() == 1 << 20);
        // Once its files are not in use it is idle like any other.
        set_idle_timeout(&fixture, &fixture.session, 100).await?;
        eventually("the session ends", async || has_ended(&fixture, &fixture.session).await).await?;
    }
    Ok(())
}

#[tokio::test]
async fn files_and_snapshots_of_a_hibernated_session_count_for_its_owner() -> Result<()> {
    let fixture = new().await?;
    hibernate(&fixture, &fixture.session).await?;
    let worker = headwater_contract::connect(&fixture.server.data().join("worker.sock")).await?;
    let used = async || -> Result<(u64, u64)> {
        let all = worker.usage().await?; // as the gateway asks for the owners' quotas
        let mine = all.into_iter().find(|usage| usage.session_id == fixture.session).context("no usage")?;
        Ok((mine.disk_bytes, mine.snapshot_bytes))
    };
    let (before, _) = used().await?;
    ensure!(before < 1 << 20, "{before}");
    ensure!(upload(&fixture, "", &archive("file", 3 << 20)?).await?.status == 200);
    let (unpacked, snapshots) = used().await?;
    ensure!(unpacked >= 3 << 20 && snapshots == 0, "{unpacked} {snapshots}");
    fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?;
    let (kept, snapshots) = used().await?;
    ensure!(kept >= 6 << 20 && snapshots >= 3 << 20, "{kept} {snapshots}");
    Ok(())
}

#[tokio::test]
async fn snapshots_count_towards_the_disk_limit_of_writes_at_once() -> Result<()> {
    let fixture = with(&json!({"limits": {"disk_bytes": 12 << 20}})).await?;
    let put = async |name: &str, bytes: usize| {
        fixture
            .request("PUT", &fixture.path(&format!("files/content?path={name}")), &[], &vec![7; bytes])
            .await
    };
    let folder = json!({"path": "folder"});
    for _ in 0..3 {
        // Measures the workspace: what is counted next must not be what was found here.
        ensure!(put("file", 4 << 20).await?.status < 300);
        let kept = text(&fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?["id"]);
        error_of(&put("more", 6 << 20).await?, 413)?;
        fixture.post_ok(&fixture.path("files/folders"), &folder).await?;
        ensure!(put("folder/small", 1 << 20).await?.status < 300, "the control: what fits is written");
        let snapshot = fixture.path(&format!("snapshots/{kept}"));
        ensure!(fixture.delete(&snapshot).await?.status == 204);
        let answer = put("more", 6 << 20).await?;
        ensure!(answer.status == 201, "the room is there again: {}", answer.text());
        for path in ["more", "folder"] {
            let route = fixture.path(&format!("files?path={path}&recursive=true"));
            ensure!(fixture.delete(&route).await?.status == 204);
        }
    }
    Ok(())
}

/// Files at the top of a workspace, each of which a restore moves twice: long enough to write a file meanwhile.
const MANY: usize = 20_000;

#[tokio::test]
async fn a_file_written_during_a_restore_is_written_before_it_or_after_it() -> Result<()> {
    let fixture = new().await?;
    fixture.run(&format!("seq -w {MANY} | xargs touch")).await?;
    let kept = text(&fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?["id"]);
    // A restore that is over before a file is written shows nothing: then there is one more.
    let (mut shown, mut round) = (0, 0);
    while shown < 3 {
        ensure!(round < 30, "nothing was written during {round} restores");
        round += 1;
        let done = AtomicBool::new(false);
        let restore = async {
            let restored =
                fixture.post_ok(&fixture.path(&format!("snapshots/{kept}/restore")), &json!({})).await;
            done.store(true, Ordering::Relaxed);
            restored
        };
        let write = async {
            eventually("the restore has begun", async || {
                staged(&fixture) == 1 || done.load(Ordering::Relaxed)
            })
            .await?;
            let mut written = Vec::new();
            while !done.load(Ordering::Relaxed) && written.len() < MANY / 100 {
                let name = format!("{:05}", MANY - 100 * written.len());
                let route = fixture.path(&format!("files/content?path={name}"));
                let answer = fixture.request("PUT", &route, &[], format!("{round}").as_bytes()).await?;
                // It exists before the restore and after it: it is never created.
                ensure!(answer.status == 200, "round {round}: {} {}", answer.status, answer.text());
                written.push(name);
            }
            Ok(written)
        };
        let (restored, written) = tokio::join!(restore, write);
        restored?;
        let written = written?;
        shown += usize::from(!written.is_empty());
        for name in written {
            let text = std::fs::read_to_string(fixture.workspace().join(&name))?;
            ensure!(text == round.to_string(), "round {round}: {name} was written and is lost");
        }
    }
    Ok(())
}
