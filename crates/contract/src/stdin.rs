//! Writing to a program's standard input, with positions, so that a chunk can be sent again safely.

use bytes::Bytes;
use headwater_protocol::ExecutionId;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::client::Transport;
use crate::error::{ContractError, Fault, FaultKind};
use crate::v1::{self, worker_client::WorkerClient};

type Result<T> = std::result::Result<T, ContractError>;

/// A program's standard input, opened for writing.
#[derive(Debug)]
pub struct StdinWriter {
    chunks: mpsc::Sender<v1::StdinChunk>,
    written: Streaming<v1::StdinWritten>,
    offset: u64,
}

impl StdinWriter {
    pub(crate) async fn open(mut worker: WorkerClient<Transport>, id: ExecutionId) -> Result<Self> {
        let (chunks, receiver) = mpsc::channel(4);
        let first = v1::StdinChunk { execution_id: id.to_string(), ..v1::StdinChunk::default() };
        // The channel is new and empty: this neither blocks nor fails.
        let _ = chunks.send(first).await;
        let written = worker.write_stdin(ReceiverStream::new(receiver)).await?.into_inner();
        let mut writer = Self { chunks, written, offset: 0 };
        writer.offset = writer.next_written().await?;
        Ok(writer)
    }

    /// How many bytes have been written to the program's input in all.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Writes at the end of the input, and waits until the program's pipe or terminal has it.
    ///
    /// It sends no position, so that two writers to one program do not mistake each other's bytes for their
    /// own.
    pub async fn write(&mut self, data: Bytes) -> Result<()> {
        self.send(None, data, false).await
    }

    /// Repeats a write that may have succeeded before the connection broke: bytes before
    /// [`offset`](Self::offset) are skipped.
    pub async fn write_again(&mut self, at: u64, data: Bytes) -> Result<()> {
        self.send(Some(at), data, false).await
    }

    /// Closes the program's input.
    pub async fn end(&mut self) -> Result<()> {
        self.send(None, Bytes::new(), true).await
    }

    async fn send(&mut self, offset: Option<u64>, data: Bytes, eof: bool) -> Result<()> {
        let chunk = v1::StdinChunk { execution_id: String::new(), offset, data, eof };
        if self.chunks.send(chunk).await.is_err() {
            // The call has ended: its status has the reason.
            self.next_written().await?;
            return Err(ContractError::Disconnected("the input was closed".into()));
        }
        self.offset = self.next_written().await?;
        Ok(())
    }

    async fn next_written(&mut self) -> Result<u64> {
        let gone = || Fault::new(FaultKind::Conflict, "the program no longer reads input");
        Ok(self.written.message().await?.ok_or_else(gone)?.offset)
    }
}
