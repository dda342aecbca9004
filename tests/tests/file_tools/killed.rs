//! The worker is killed in the middle of patches.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use headwater_contract::v1;
use headwater_contract::v1::file_change::Action;
use serde_json::json;

use crate::{Ground, agent, call, patch};

/// Files of a patch.
const FILES: usize = 400;
/// How often the worker is killed.
const ROUNDS: u32 = 12;

fn name(n: usize) -> String {
    format!("dir{}/file{n}.txt", n % 7)
}

fn text(n: usize, version: u32) -> String {
    format!("file {n}\nversion {version}\n")
}

/// The version of all files; an error if they are not the same.
fn version(ground: &Ground) -> Result<u32> {
    let mut versions = Vec::new();
    for n in 0..FILES {
        let file = fs::read_to_string(ground.at(&name(n)))?;
        versions.push(file.rsplit(' ').next().unwrap_or_default().trim().parse::<u32>()?);
    }
    ensure!(versions.iter().all(|version| *version == versions[0]), "a mixture: {versions:?}");
    // Each version has one file that only it has.
    let extra: Vec<_> = fs::read_dir(ground.at("extra"))?.map(|entry| entry.unwrap().file_name()).collect();
    ensure!(extra == [format!("v{}", versions[0]).as_str()], "{extra:?} at version {}", versions[0]);
    Ok(versions[0])
}

/// Changes from one version to the next: every file, and a file that is moved.
fn changes(from: u32) -> Vec<v1::FileChange> {
    let mut changes: Vec<_> = (0..FILES)
        .map(|n| v1::FileChange {
            path: name(n).into(),
            action: Some(Action::Write(text(n, from + 1).into())),
            ..v1::FileChange::default()
        })
        .collect();
    let moved = v1::FileMove { to: format!("extra/v{}", from + 1).into(), ..v1::FileMove::default() };
    let path = format!("extra/v{from}").into();
    changes.push(v1::FileChange { path, action: Some(Action::Move(moved)), ..v1::FileChange::default() });
    changes
}

async fn ground() -> Result<Ground> {
    let ground = Ground::new().await?;
    let mut sections: Vec<_> =
        (0..FILES).map(|n| format!("*** Add File: {}\n+file {n}\n+version 0", name(n))).collect();
    sections.push("*** Add File: extra/v0\n+extra".to_owned());
    let outcome = ground.patch(&sections.join("\n")).await;
    ensure!(!outcome.is_error, "{}", outcome.text);
    ensure!(version(&ground)? == 0);
    Ok(ground)
}

#[tokio::test]
async fn a_worker_killed_in_the_middle_of_a_change_leaves_the_old_or_the_new_state() -> Result<()> {
    let mut ground = ground().await?;
    let client = ground.worker.client().await?;
    let head = || v1::ChangeFilesHead { session_id: ground.session.to_string(), change_id: String::new() };
    let began = Instant::now();
    client.change_files(head(), changes(0)).await?;
    let takes = began.elapsed();
    let mut at = 1;
    for round in 0..ROUNDS {
        let (client, head) = (
            ground.worker.client().await?,
            v1::ChangeFilesHead { session_id: ground.session.to_string(), change_id: String::new() },
        );
        let change = tokio::spawn(async move { client.change_files(head, changes(at)).await });
        tokio::time::sleep(takes * (round + 1) / ROUNDS).await;
        ground.worker.kill();
        let answered = change.await?.is_ok();
        ground.worker.start_again().await?;
        let now = version(&ground)?;
        ensure!(now == at || now == at + 1, "{now} after {at}");
        ensure!(!answered || now == at + 1, "an answered change is undone");
        ensure!(
            fs::read_dir(ground.at("../staging"))?.count() == 0,
            "something is left in the staging folder"
        );
        at = now;
    }
    // The session still works.
    ground.run("test -e extra/v* && echo x >> dir0/file0.txt").await
}

#[tokio::test]
async fn a_patch_is_applied_once_even_if_the_worker_is_killed_meanwhile() -> Result<()> {
    let mut ground = ground().await?;
    let mut takes = Duration::ZERO;
    for at in 0..6 {
        let mut sections: Vec<_> = (0..FILES)
            .map(|n| format!("*** Update File: {}\n@@\n-version {at}\n+version {}", name(n), at + 1))
            .collect();
        sections.push(format!("*** Update File: extra/v{at}\n*** Move to: extra/v{}", at + 1));
        let input = patch(&sections.join("\n"));
        let agent = agent(&ground.worker, ground.session).await?;
        let began = Instant::now();
        let applied =
            tokio::spawn(async move { call(&agent, "apply_patch", json!({ "input": input })).await });
        if at == 0 {
            let outcome = applied.await?;
            ensure!(!outcome.is_error, "{}", outcome.text);
            takes = began.elapsed();
        } else {
            tokio::time::sleep(takes * at / 5).await;
            ground.worker.kill();
            ground.worker.start_again().await?;
            let outcome = applied.await?;
            ensure!(!outcome.is_error, "killed after {at}/5: {}", outcome.text);
        }
        ensure!(version(&ground)? == at + 1);
    }
    Ok(())
}
