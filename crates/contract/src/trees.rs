//! Whole trees of a workspace: one method per call, and the streams that some calls return.

use bytes::Bytes;
use headwater_protocol::{SessionId, SnapshotId};
use tokio_stream::Stream;
use tonic::Streaming;

use crate::client::Client;
use crate::error::ContractError;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// A stream of messages. It ends if the worker restarts: its messages are not stored.
#[derive(Debug)]
pub struct Messages<T>(Streaming<T>);

impl<T> Messages<T> {
    pub(crate) const fn new(stream: Streaming<T>) -> Self {
        Self(stream)
    }

    /// The next message; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<T>> {
        Ok(self.0.message().await?)
    }
}

impl Client {
    /// Reports changes below a path from now on.
    pub async fn watch_tree(
        &self,
        session: SessionId,
        path: Bytes,
        recursive: bool,
    ) -> Result<Messages<v1::WatchResponse>> {
        let request = v1::WatchRequest { session_id: session.to_string(), path, recursive };
        Ok(Messages(self.trees().watch(request).await?.into_inner()))
    }

    /// Searches names and contents.
    pub async fn search_tree(&self, request: v1::SearchRequest) -> Result<Messages<v1::SearchResponse>> {
        Ok(Messages(self.trees().search(request).await?.into_inner()))
    }

    /// Packs a folder into an archive.
    pub async fn pack(
        &self,
        session: SessionId,
        path: Bytes,
        format: v1::ArchiveFormat,
    ) -> Result<Messages<v1::PackResponse>> {
        let request = v1::PackRequest { session_id: session.to_string(), path, format: format.into() };
        Ok(Messages(self.trees().pack(request).await?.into_inner()))
    }

    /// Unpacks an archive. The first message has the target, and the last one marks the end.
    pub async fn unpack(
        &self,
        messages: impl Stream<Item = v1::UnpackRequest> + Send + 'static,
    ) -> Result<v1::UnpackResponse> {
        Ok(self.trees().unpack(messages).await?.into_inner())
    }

    /// Compares the workspace with a snapshot, or with the session's start.
    pub async fn diff(
        &self,
        session: SessionId,
        snapshot: Option<SnapshotId>,
        content: bool,
    ) -> Result<Messages<v1::DiffResponse>> {
        let request =
            v1::DiffRequest { session_id: session.to_string(), snapshot_id: text(snapshot), content };
        Ok(Messages(self.trees().diff(request).await?.into_inner()))
    }

    /// Creates a snapshot of a workspace. Repeating the call with the same id creates only one.
    pub async fn create_snapshot(
        &self,
        session: SessionId,
        id: SnapshotId,
        name: &str,
    ) -> Result<v1::Snapshot> {
        let (session_id, snapshot_id, name) = (session.to_string(), id.to_string(), name.to_owned());
        let request = v1::CreateSnapshotRequest { session_id, snapshot_id, name };
        Ok(self.trees().create_snapshot(request).await?.into_inner())
    }

    /// The snapshots of a session, oldest first.
    pub async fn snapshots(&self, session: SessionId) -> Result<Vec<v1::Snapshot>> {
        let request = v1::ListSnapshotsRequest { session_id: session.to_string() };
        Ok(self.trees().list_snapshots(request).await?.into_inner().snapshots)
    }

    /// Removes a snapshot of a session.
    pub async fn remove_snapshot(&self, session: SessionId, id: SnapshotId) -> Result<()> {
        let (session_id, snapshot_id) = (session.to_string(), id.to_string());
        self.trees().remove_snapshot(v1::RemoveSnapshotRequest { session_id, snapshot_id }).await?;
        Ok(())
    }

    /// Replaces the contents of the workspace with a snapshot.
    pub async fn restore_snapshot(&self, session: SessionId, id: SnapshotId) -> Result<v1::Snapshot> {
        let (session_id, snapshot_id) = (session.to_string(), id.to_string());
        let request = v1::RestoreSnapshotRequest { session_id, snapshot_id };
        Ok(self.trees().restore_snapshot(request).await?.into_inner())
    }

    /// Creates a session like another, with a copy of its workspace. Repeating the call with the same id
    /// creates only one.
    pub async fn fork_session(&self, request: v1::ForkRequest) -> Result<()> {
        self.trees().fork(request).await?;
        Ok(())
    }
}

fn text(id: Option<SnapshotId>) -> String {
    id.map(|id| id.to_string()).unwrap_or_default()
}
