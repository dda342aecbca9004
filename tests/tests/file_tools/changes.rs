//! The call of the contract that changes several files.

use std::fs;

use anyhow::Result;
use headwater_contract::v1::file_change::Action;
use headwater_contract::{Client, ContractError, FaultKind, v1};
use headwater_protocol::SessionId;

use crate::Ground;

fn head(session: SessionId, change_id: &str) -> v1::ChangeFilesHead {
    v1::ChangeFilesHead { session_id: session.to_string(), change_id: change_id.to_owned() }
}

fn write(path: &str, text: &str, etag: Option<&str>) -> v1::FileChange {
    let etags = etag.map(str::to_owned).into_iter().collect();
    v1::FileChange {
        path: path.to_owned().into(),
        expect: Some(v1::Expectation { etags, ..v1::Expectation::default() }),
        action: Some(Action::Write(text.to_owned().into())),
        mode: None,
    }
}

fn kind(result: Result<v1::ChangeFilesResponse, ContractError>) -> FaultKind {
    match result {
        Err(ContractError::Fault(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

async fn etag(client: &Client, session: SessionId, path: &str) -> Result<String> {
    Ok(client.stat_file(session, path.to_owned().into()).await?.etag)
}

#[tokio::test]
async fn a_change_with_another_etag_changes_nothing() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("a.txt", "a").await;
    ground.write("b.txt", "b").await;
    let client = ground.worker.client().await?;
    let (a, b) =
        (etag(&client, ground.session, "a.txt").await?, etag(&client, ground.session, "b.txt").await?);
    ground.run("echo newer > b.txt").await?;
    let changes =
        vec![write("a.txt", "A", Some(&a)), write("new.txt", "N", None), write("b.txt", "B", Some(&b))];
    assert_eq!(kind(client.change_files(head(ground.session, ""), changes).await), FaultKind::Mismatch);
    assert_eq!((ground.read("a.txt").as_str(), ground.read("b.txt").as_str()), ("a", "newer\n"));
    assert!(!ground.at("new.txt").exists());
    assert_eq!(fs::read_dir(ground.at("../staging"))?.count(), 0);
    let b = etag(&client, ground.session, "b.txt").await?;
    let changes = vec![write("a.txt", "A", Some(&a)), write("b.txt", "B", Some(&b))];
    let response = client.change_files(head(ground.session, ""), changes).await?;
    assert_eq!(response.created, [false, false]);
    assert_eq!((ground.read("a.txt").as_str(), ground.read("b.txt").as_str()), ("A", "B"));
    Ok(())
}

#[tokio::test]
async fn a_repeated_change_is_made_once_even_over_a_restart() -> Result<()> {
    let mut ground = Ground::new().await?;
    let client = ground.worker.client().await?;
    let changes = vec![write("a.txt", "first", None)];
    let response = client.change_files(head(ground.session, "one"), changes.clone()).await?;
    assert_eq!(response.created, [true]);
    ground.run("echo by a program > a.txt").await?;
    let again = client.change_files(head(ground.session, "one"), changes.clone()).await?;
    assert_eq!(again.created, [true], "the same response");
    assert_eq!(ground.read("a.txt"), "by a program\n");
    ground.worker.kill();
    ground.worker.start_again().await?;
    let client = ground.worker.client().await?;
    client.change_files(head(ground.session, "one"), changes.clone()).await?;
    assert_eq!(ground.read("a.txt"), "by a program\n");
    assert_eq!(kind(client.change_files(head(ground.session, "../one"), changes).await), FaultKind::Invalid);
    Ok(())
}

#[tokio::test]
async fn a_change_that_is_not_sent_completely_changes_nothing() -> Result<()> {
    let ground = Ground::new().await?;
    let client = ground.worker.client().await?;
    let long = "x".repeat(3 << 20);
    client.change_files(head(ground.session, ""), vec![write("long.txt", &long, None)]).await?;
    assert_eq!(fs::metadata(ground.at("long.txt"))?.len(), 3 << 20);
    // Too many changes, two with the same path, and the workspace itself.
    let many = (0..10_001).map(|n| write(&format!("f{n}"), "", None)).collect();
    assert_eq!(kind(client.change_files(head(ground.session, ""), many).await), FaultKind::Invalid);
    for path in ["same", ""] {
        let two = vec![write(path, "1", None), write(path, "2", None)];
        assert_eq!(kind(client.change_files(head(ground.session, ""), two).await), FaultKind::Invalid);
    }
    let nothing = v1::FileChange { path: "a".into(), ..v1::FileChange::default() };
    assert_eq!(kind(client.change_files(head(ground.session, ""), vec![nothing]).await), FaultKind::Invalid);
    let unknown = client.change_files(head(SessionId::random(), ""), Vec::new()).await;
    assert_eq!(kind(unknown), FaultKind::NotFound);
    assert_eq!(fs::read_dir(ground.at(""))?.count(), 1);
    assert_eq!(fs::read_dir(ground.at("../staging"))?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn a_watch_reports_the_files_of_a_change_under_their_own_names_only() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("old.txt", "old").await;
    ground.write("gone.txt", "gone").await;
    let client = ground.worker.client().await?;
    let mut watch = client.watch_tree(ground.session, "".into(), true).await?;
    watch.next().await?;
    let remove = v1::FileChange {
        path: "gone.txt".into(),
        action: Some(Action::Remove(true)),
        ..v1::FileChange::default()
    };
    let changes = vec![remove, write("old.txt", "new", None), write("sub/new.txt", "new", None)];
    client.change_files(head(ground.session, ""), changes).await?;
    client.change_files(head(ground.session, ""), vec![write("last", "", None)]).await?;
    let mut seen = Vec::new();
    while !seen.iter().any(|(path, _)| path == "last") {
        for change in watch.next().await?.unwrap_or_default().changes {
            seen.push((String::from_utf8_lossy(&change.path).into_owned(), change.r#type()));
        }
    }
    seen.dedup();
    let of = |name: &str| -> Vec<_> {
        seen.iter().filter(|(path, _)| path == name).map(|(_, kind)| *kind).collect()
    };
    assert_eq!(of("gone.txt"), [v1::ChangeType::Removed], "{seen:?}");
    assert_eq!(of("old.txt"), [v1::ChangeType::Modified], "{seen:?}");
    assert_eq!(of("sub/new.txt"), [v1::ChangeType::Created], "{seen:?}");
    let known = ["gone.txt", "old.txt", "sub", "sub/new.txt", "last"];
    assert!(seen.iter().all(|(path, _)| known.contains(&path.as_str())), "{seen:?}");
    Ok(())
}
