//! Files of a workspace: reading and writing them in chunks, and one call for each other operation.

use bytes::Bytes;
use headwater_protocol::SessionId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::client::Client;
use crate::error::{ContractError, Fault, FaultKind};
use crate::resume::ResumingStream;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// Chunks that wait to be sent. The bound slows the caller down to the pace of the worker.
const MAX_QUEUED_CHUNKS: usize = 2;

impl Client {
    /// Returns the entry at a path.
    pub async fn stat_file(&self, session: SessionId, path: Bytes) -> Result<v1::FileEntry> {
        let request = v1::StatFileRequest { session_id: session.to_string(), path };
        Ok(self.files().stat(request).await?.into_inner())
    }

    /// Lists a folder, a page at a time.
    pub async fn list_files(&self, request: v1::ListFilesRequest) -> Result<v1::ListFilesResponse> {
        Ok(self.files().list(request).await?.into_inner())
    }

    /// Opens a file for reading. Reading continues over a restart of the worker, if the file is unchanged
    /// then.
    pub async fn read_file(&self, request: v1::ReadFileRequest) -> Result<FileReader> {
        FileReader::open(self.clone(), request).await
    }

    /// Begins to write a file. Nothing changes before [`FileWriter::finish`].
    pub async fn write_file(&self, head: v1::WriteFileHead) -> FileWriter {
        FileWriter::open(self, head).await
    }

    /// Creates a folder and its parents.
    pub async fn create_folder(&self, session: SessionId, path: Bytes) -> Result<v1::WriteFileResponse> {
        let request = v1::MakeFolderRequest { session_id: session.to_string(), path };
        Ok(self.files().make_folder(request).await?.into_inner())
    }

    /// Moves a file or a folder.
    pub async fn move_file(&self, request: v1::MoveFileRequest) -> Result<v1::FileEntry> {
        Ok(self.files().r#move(request).await?.into_inner())
    }

    /// Copies a file or a tree.
    pub async fn copy_file(&self, request: v1::CopyFileRequest) -> Result<v1::CopyFileResponse> {
        Ok(self.files().copy(request).await?.into_inner())
    }

    /// Removes a file, or a folder; one that is not empty requires `recursive`.
    pub async fn remove_file(&self, session: SessionId, path: Bytes, recursive: bool) -> Result<()> {
        let request = v1::RemoveFileRequest { session_id: session.to_string(), path, recursive };
        self.files().remove(request).await?;
        Ok(())
    }

    /// Changes the permissions of a file or a folder.
    pub async fn chmod_file(&self, session: SessionId, path: Bytes, mode: u32) -> Result<v1::FileEntry> {
        let request = v1::ChmodFileRequest { session_id: session.to_string(), path, mode };
        Ok(self.files().chmod(request).await?.into_inner())
    }
}

/// A file that is being read.
#[derive(Debug)]
pub struct FileReader {
    request: v1::ReadFileRequest,
    entry: v1::FileEntry,
    to: u64,
    pieces: ResumingStream<v1::ReadFileResponse>,
}

impl FileReader {
    async fn open(client: Client, mut request: v1::ReadFileRequest) -> Result<Self> {
        let (entry, stream) = open_stream(client.clone(), request.clone()).await?;
        let to = request.to_byte.unwrap_or(entry.size).min(entry.size);
        request.etag = Some(entry.etag.clone());
        Ok(Self { request, entry, to, pieces: ResumingStream::new(client, Some(stream)) })
    }

    /// The entry of the file when it was opened.
    pub const fn entry(&self) -> &v1::FileEntry {
        &self.entry
    }

    /// The next bytes; `None` after the last one.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.request.from_byte >= self.to {
            return Ok(None);
        }
        let request = &self.request;
        let piece = self
            .pieces
            .next(|client| async move { Ok(open_stream(client, request.clone()).await?.1) })
            .await?;
        let short = || ContractError::Malformed("the file is shorter than announced".into());
        let data = piece.ok_or_else(short)?.data;
        self.request.from_byte += data.len() as u64;
        Ok(Some(data))
    }
}

async fn open_stream(
    client: Client,
    request: v1::ReadFileRequest,
) -> Result<(v1::FileEntry, Streaming<v1::ReadFileResponse>)> {
    let mut stream = client.files().read(request).await?.into_inner();
    let head = stream.message().await?.and_then(|head| head.entry);
    let entry = head.ok_or_else(|| ContractError::Malformed("the answer has no file entry".into()))?;
    Ok((entry, stream))
}

/// A file that is being written. If dropped before it is finished, it changes nothing.
#[derive(Debug)]
pub struct FileWriter {
    chunks: mpsc::Sender<v1::WriteFileRequest>,
    call: JoinHandle<Result<v1::WriteFileResponse>>,
}

impl FileWriter {
    async fn open(client: &Client, head: v1::WriteFileHead) -> Self {
        let (chunks, receiver) = mpsc::channel(MAX_QUEUED_CHUNKS);
        let first = v1::WriteFileRequest { head: Some(head), ..v1::WriteFileRequest::default() };
        // The channel is new and empty: this neither blocks nor fails.
        let _ = chunks.send(first).await;
        let mut files = client.files();
        let call = tokio::spawn(async move {
            let answer = files.write(ReceiverStream::new(receiver)).await;
            Ok(answer?.into_inner())
        });
        Self { chunks, call }
    }

    /// Sends the next bytes. An error means that nothing was changed.
    pub async fn write(&mut self, data: Bytes) -> Result<()> {
        self.send(v1::WriteFileRequest { head: None, data, last: false }).await
    }

    /// Sends the end of the file, and waits until it is written.
    pub async fn finish(mut self) -> Result<v1::WriteFileResponse> {
        self.send(v1::WriteFileRequest { last: true, ..v1::WriteFileRequest::default() }).await?;
        self.answer().await
    }

    async fn send(&mut self, chunk: v1::WriteFileRequest) -> Result<()> {
        if self.chunks.send(chunk).await.is_ok() {
            return Ok(());
        }
        // The call has ended: its answer has the reason.
        self.answer().await?;
        Err(Fault::new(FaultKind::Internal, "the worker answered before it had the whole file").into())
    }

    async fn answer(&mut self) -> Result<v1::WriteFileResponse> {
        let stopped = |_| Err(ContractError::Disconnected("the call was aborted".into()));
        (&mut self.call).await.unwrap_or_else(stopped)
    }
}
