//! Calls on the files of an in-place session: they pass through no wall, and obey the same rules.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::Result;
use bytes::Bytes;
use headwater_contract::v1;
use headwater_protocol::{PlaceMode, SessionId, SnapshotId};

use super::{CASES, Case, Project, content};

async fn write(project: &Project, session: SessionId, path: &str, text: &str) -> Result<()> {
    let head = v1::WriteFileHead {
        session_id: session.to_string(),
        path: path.as_bytes().to_vec().into(),
        ..v1::WriteFileHead::default()
    };
    let mut writer = project.target.client.write_file(head).await;
    writer.write(Bytes::copy_from_slice(text.as_bytes())).await?;
    writer.finish().await?;
    Ok(())
}

fn path(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn to_move(session: SessionId, from: &str, to: &str) -> v1::MoveFileRequest {
    v1::MoveFileRequest { session_id: session.to_string(), from: path(from), to: path(to), overwrite: true }
}

#[tokio::test]
async fn files_are_written_in_place_by_any_spelling_and_belong_to_the_owner() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let absolute = format!("{}/absolute", project.folder.display());
        for name in ["plain", "new/folder/file", "/workspace/inside", absolute.as_str(), "a.txt"] {
            write(&project, session, name, "text\n").await?;
        }
        project.target.client.create_folder(session, path("made/here")).await?;
        for name in ["plain", "new", "new/folder/file", "inside", "absolute", "a.txt", "made/here"] {
            let about = fs::metadata(project.folder.join(name))?;
            assert_eq!((about.uid(), about.gid()), (project.owner, project.owner), "{case:?} {name}");
        }
        let seen =
            project.shell(session, "cat plain new/folder/file a.txt; echo more >> plain; rm -r new").await?;
        assert_eq!(seen.text(), "text\n".repeat(3), "{case:?}: {}", seen.errors());
        project.target.client.move_file(to_move(session, "plain", "sub/moved")).await?;
        assert_eq!(fs::read_to_string(project.folder.join("sub/moved"))?, "text\nmore\n", "{case:?}");
        project.target.client.remove_file(session, path("sub"), true).await?;
        assert!(!project.folder.join("sub").exists(), "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_programs_may_not_change_calls_may_not_change_either() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        let client = &project.target.client;
        for mode in [PlaceMode::WorkspaceWrite, PlaceMode::ReadOnly] {
            let session = project.session(&project.spec(mode)).await?;
            let before = content(&project.folder)?;
            let folder = project.folder.display();
            for name in [
                ".git/config",
                ".git/hooks/pre-commit",
                ".git/commondir",
                ".GIT/config",
                "./.git//config",
                &format!("{folder}/.git/config"),
                ".mcp.json",
                ".claude/settings.json",
            ] {
                let refused = write(&project, session, name, "evil").await.unwrap_err().to_string();
                assert!(refused.contains("read-only"), "{case:?} {mode:?} {name}: {refused}");
            }
            for (from, to) in [
                (".git", "g"),
                ("sub", ".git"),
                (".git/config", "c"),
                ("a.txt", ".git/config"),
                ("sub", ".vscode"),
            ] {
                let refused = client.move_file(to_move(session, from, to)).await.unwrap_err().to_string();
                assert!(refused.contains("read-only"), "{case:?} {mode:?} {from}: {refused}");
            }
            for name in [".git", ".git/hooks", ".git/config"] {
                assert!(
                    client.remove_file(session, path(name), true).await.is_err(),
                    "{case:?} {mode:?} {name}"
                );
                assert!(
                    client.chmod_file(session, path(name), 0o777).await.is_err(),
                    "{case:?} {mode:?} {name}"
                );
            }
            assert!(client.create_folder(session, path(".git/new")).await.is_err(), "{case:?} {mode:?}");
            assert!(client.create_folder(session, path(".claude")).await.is_err(), "{case:?} {mode:?}");
            let copy = v1::CopyFileRequest {
                session_id: session.to_string(),
                from: path("a.txt"),
                to: path(".git/config"),
                overwrite: true,
            };
            assert!(client.copy_file(copy).await.is_err(), "{case:?} {mode:?}");
            if mode == PlaceMode::ReadOnly {
                assert!(write(&project, session, "x", "x").await.is_err(), "{case:?}");
                assert!(client.remove_file(session, path("a.txt"), false).await.is_err(), "{case:?}");
                assert!(client.move_file(to_move(session, "a.txt", "b")).await.is_err(), "{case:?}");
                assert!(client.create_folder(session, path("n")).await.is_err(), "{case:?}");
                assert!(client.chmod_file(session, path("a.txt"), 0o600).await.is_err(), "{case:?}");
            }
            assert_eq!(content(&project.folder)?, before, "{case:?} {mode:?}");
        }
        // A path that the person named is writable for both.
        let git = project.folder.join(".git");
        let session = project.session(&project.spec_with(PlaceMode::ReadOnly, &[&git])).await?;
        write(&project, session, ".git/COMMIT_EDITMSG", "x").await?;
        assert!(write(&project, session, ".git/config", "x").await.is_err(), "{case:?}");
        assert!(write(&project, session, "x", "x").await.is_err(), "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn work_on_whole_workspaces_is_refused_by_name() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        let client = &project.target.client;
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let before = content(&project.folder)?;
        let snapshot = SnapshotId::random();
        let fork = v1::ForkRequest {
            session_id: session.to_string(),
            new_session_id: SessionId::random().to_string(),
            ..v1::ForkRequest::default()
        };
        let limits = v1::Limits { disk_bytes: Some(1 << 30), ..v1::Limits::default() };
        let update = v1::UpdateSessionRequest {
            session_id: session.to_string(),
            limits: Some(limits),
            ..v1::UpdateSessionRequest::default()
        };
        for (what, error) in [
            ("a snapshot", client.create_snapshot(session, snapshot, "x").await.err()),
            ("restoring a snapshot", client.restore_snapshot(session, snapshot).await.err()),
            ("a fork", client.fork_session(fork).await.err()),
            ("no disk limit", client.update_session(update).await.err()),
        ] {
            let error = error.expect(what).to_string();
            assert!(error.contains(what), "{case:?} {what}: {error}");
        }
        assert_eq!(content(&project.folder)?, before, "{case:?}");
    }
    Ok(())
}
