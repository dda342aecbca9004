//! Whatever ends a session, its folder stays as it was, to the last inode.

use std::time::Duration;

use anyhow::Result;
use headwater_contract::v1;
use headwater_protocol::{ExecutionId, PlaceMode, SessionId, SessionState, StartSpec};
use headwater_tests::host::{self, Marker, eventually};
use rustix::process::Signal;

use super::{CASES, Case, Project};

/// A session in which a program runs.
struct Busy {
    session: SessionId,
    id: ExecutionId,
    marker: Marker,
}

impl Project {
    /// A session in which a program runs.
    async fn busy(&self, mode: PlaceMode) -> Result<Busy> {
        let session = self.session(&self.spec(mode)).await?;
        self.busy_in(session).await
    }

    /// Starts a program that does not end by itself.
    async fn busy_in(&self, session: SessionId) -> Result<Busy> {
        let marker = Marker::new();
        let spec = marker.on(StartSpec::shell("echo on; exec sleep 1000"));
        let id = self.target.worker.begin_in(session, &spec).await?;
        self.target.worker.watch(id).await?.until_printed("on\n").await?;
        Ok(Busy { session, id, marker })
    }

    async fn state(&self, session: SessionId) -> Result<SessionState> {
        Ok(self.target.worker.client().await?.session(session).await?.state)
    }
}

#[tokio::test]
async fn ending_and_forgetting_and_pruning_touch_nothing() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let before = project.content()?;
        let client = &project.target.client;
        for mode in PlaceMode::ALL {
            for forget in [false, true] {
                let Busy { session, id, marker: _running } = project.busy(mode).await?;
                client.end_session(session, forget).await?;
                assert_eq!(project.content()?, before, "{case:?} {mode:?} {forget}");
                if !forget {
                    client.forget(id).await?;
                }
            }
            // A hibernated one.
            let Busy { session, marker: _running, .. } = project.busy(mode).await?;
            client.hibernate_session(session).await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} hibernated");
            client.end_session(session, true).await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} ended while hibernated");
            // One that ends by itself.
            let mut spec = project.spec(mode);
            spec.idle_timeout_ms = Some(1);
            let session = project.session(&spec).await?;
            eventually("the idle timeout", async || {
                matches!(project.state(session).await, Ok(SessionState::Ended { .. }) | Err(_))
            })
            .await?;
            // A one-shot.
            let mut spec = project.spec(mode);
            spec.one_shot = true;
            let session = project.session(&spec).await?;
            project.shell(session, "true").await?;
            eventually("the end of a one-shot", async || {
                matches!(project.state(session).await, Ok(SessionState::Ended { .. }) | Err(_))
            })
            .await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} ended by itself");
        }
        client.prune(v1::PruneRequest { keep: Some(0), ..v1::PruneRequest::default() }).await?;
        assert_eq!(project.content()?, before, "{case:?} pruned");
        let sessions = project.target.worker.data().join("sessions");
        eventually("nothing of the sessions is left", async || {
            client.sessions(false).await.is_ok_and(|all| all.is_empty())
        })
        .await?;
        assert!(sessions.exists(), "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn kills_of_the_worker_and_of_init_touch_nothing_and_the_next_worker_takes_over() -> Result<()> {
    for case in CASES {
        let mut project = Project::new(case).await?;
        let before = project.content()?;
        for mode in PlaceMode::ALL {
            // The worker: the program goes on, and the session is the same.
            let Busy { session, id, marker } = project.busy(mode).await?;
            project.target.worker.kill();
            project.target.worker.start_again().await?;
            project.target.client = project.target.worker.client().await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} worker");
            let found = project.target.client.execution(id).await?;
            assert!(found.state.verdict().is_none(), "{case:?} {mode:?}: it runs on");
            assert_eq!(
                project.shell(session, "cat a.txt; pwd").await?.text(),
                format!("hello\n{}\n", project.folder.display())
            );

            // Its init: the session is hibernated, and the next use resumes it in the same folder.
            host::signal(marker.init().await?, Signal::KILL)?;
            eventually("hibernation", async || {
                project.state(session).await.is_ok_and(|state| state == SessionState::Hibernated)
            })
            .await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} init");
            assert_eq!(
                project.shell(session, "cat a.txt").await?.text(),
                "hello\n",
                "{case:?} {mode:?} resumed"
            );

            // Both.
            let again = project.busy_in(session).await?;
            let init = again.marker.init().await?;
            project.target.worker.kill();
            host::signal(init, Signal::KILL)?;
            project.target.worker.start_again().await?;
            project.target.client = project.target.worker.client().await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} both");
            assert_eq!(
                project.shell(session, "cat a.txt").await?.text(),
                "hello\n",
                "{case:?} {mode:?} taken over"
            );
            project.target.client.end_session(session, true).await?;
            assert_eq!(project.content()?, before, "{case:?} {mode:?} ended");
        }
    }
    Ok(())
}

#[tokio::test]
async fn stopping_with_and_without_the_sessions_touches_nothing() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        for words in [&["stop"][..], &["stop", "--keep-sessions"], &["stop", "--end-sessions", "--yes"]] {
            let project = Project::new(case).await?;
            let before = project.content()?;
            let mut running = Vec::new();
            for mode in PlaceMode::ALL {
                running.push(project.busy(mode).await?);
            }
            let done = project.target.worker.command().args(words).output()?;
            assert!(done.status.success(), "{case:?} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(project.content()?, before, "{case:?} {words:?}");
            let content = project.folder.clone();
            drop(project.target); // ends what is left, and removes the data folder and all beside it
            assert!(!content.exists(), "the test's own folder");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_session_that_cannot_be_resumed_keeps_the_reason_and_the_folder() -> Result<()> {
    let project = Project::new(Case::Root).await?;
    let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
    project.target.client.hibernate_session(session).await?;
    let moved = project.folder.with_file_name("moved");
    std::fs::rename(&project.folder, &moved)?;
    let before = super::content(&moved)?;
    let refused = project.shell(session, "true").await.unwrap_err();
    assert!(format!("{refused:#}").contains("does not exist"), "{refused:#}");
    assert_eq!(super::content(&moved)?, before);
    std::fs::rename(&moved, &project.folder)?;
    tokio::time::timeout(Duration::from_mins(1), project.shell(session, "cat a.txt")).await??;
    Ok(())
}
