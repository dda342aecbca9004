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
use crate::trees::Messages;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// Chunks that wait to be sent. The bound slows the caller down to the pace of the worker.
const MAX_QUEUED_CHUNKS: usize = 2;
/// The content in one message of a change: far below the 4 MiB that a message may have.
const CHANGE_MESSAGE_BYTES: usize = 256 << 10;

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

impl Client {
    /// Describes many paths, and reads files. The answers come in the order of the queries.
    pub async fn read_many(&self, request: v1::ReadManyRequest) -> Result<Messages<v1::ReadManyResponse>> {
        Ok(Messages::new(self.files().read_many(request).await?.into_inner()))
    }

    /// Changes several files, all or none. With a change id in the head the call is safe to repeat.
    pub async fn change_files(
        &self,
        head: v1::ChangeFilesHead,
        changes: Vec<v1::FileChange>,
    ) -> Result<v1::ChangeFilesResponse> {
        let messages = tokio_stream::iter(change_messages(head, changes));
        Ok(self.files().change(messages).await?.into_inner())
    }
}

/// The messages of a change: many small changes share one, and a long content takes several.
fn change_messages(head: v1::ChangeFilesHead, changes: Vec<v1::FileChange>) -> Vec<v1::ChangeFilesRequest> {
    let mut messages = Vec::new();
    let mut message = v1::ChangeFilesRequest { head: Some(head), ..v1::ChangeFilesRequest::default() };
    let mut room = CHANGE_MESSAGE_BYTES;
    for mut change in changes {
        let mut rest = take_content_beyond(&mut change, CHANGE_MESSAGE_BYTES);
        let size = content_of(&mut change).map_or(0, |content| content.len()) + change.path.len();
        if size > room {
            messages.push(std::mem::take(&mut message));
            room = CHANGE_MESSAGE_BYTES;
        }
        room = room.saturating_sub(size);
        message.changes.push(change);
        while !rest.is_empty() {
            messages.push(std::mem::take(&mut message));
            message.data = rest.split_to(rest.len().min(CHANGE_MESSAGE_BYTES));
            room = CHANGE_MESSAGE_BYTES - message.data.len();
        }
    }
    message.last = true;
    messages.push(message);
    messages
}

fn content_of(change: &mut v1::FileChange) -> Option<&mut Bytes> {
    use v1::file_change::Action;
    match change.action.as_mut()? {
        Action::Write(content) => Some(content),
        Action::Move(moved) => moved.write.as_mut(),
        Action::Remove(_) => None,
    }
}

fn take_content_beyond(change: &mut v1::FileChange, limit: usize) -> Bytes {
    match content_of(change) {
        Some(content) if content.len() > limit => content.split_off(limit),
        _ => Bytes::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, bytes: usize) -> v1::FileChange {
        v1::FileChange {
            path: path.to_owned().into(),
            action: Some(v1::file_change::Action::Write(vec![b'x'; bytes].into())),
            ..v1::FileChange::default()
        }
    }

    #[test]
    fn small_changes_share_a_message_and_long_contents_are_divided() {
        let changes =
            vec![write("a", 10), write("b", 3 * CHANGE_MESSAGE_BYTES + 5), write("c", 0), write("d", 7)];
        let messages = change_messages(v1::ChangeFilesHead::default(), changes);
        assert_eq!(messages.iter().filter(|message| message.head.is_some()).count(), 1);
        assert!(messages[0].head.is_some() && messages.last().unwrap().last);
        assert_eq!(messages.iter().filter(|message| message.last).count(), 1);
        // Put together again as a worker does it.
        let mut contents: Vec<(Bytes, usize)> = Vec::new();
        for mut message in messages {
            if !message.data.is_empty() {
                contents.last_mut().unwrap().1 += message.data.len();
            }
            let mut size = message.data.len();
            for change in &mut message.changes {
                let content = content_of(change).unwrap().len();
                size += content;
                contents.push((change.path.clone(), content));
            }
            assert!(size <= CHANGE_MESSAGE_BYTES + 1, "{size}");
        }
        let expected = [("a", 10), ("b", 3 * CHANGE_MESSAGE_BYTES + 5), ("c", 0), ("d", 7)];
        assert_eq!(contents, expected.map(|(path, bytes)| (Bytes::from(path), bytes)));
    }

    #[test]
    fn a_change_of_nothing_is_one_message() {
        let messages = change_messages(v1::ChangeFilesHead::default(), Vec::new());
        assert!(messages.len() == 1 && messages[0].last && messages[0].head.is_some());
    }
}
