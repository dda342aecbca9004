//! The only task that writes. It takes everything in its queue, writes it in one transaction and answers each
//! caller.

use std::slice;

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteQueryResult, SqliteRow};
use sqlx::{Connection, Either, Executor, SqlStr, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::error::from_sqlx;
use super::row::arguments;
use crate::StoreError;
use crate::sql::Statement;

/// The capacity of the queue; further callers wait. Each entry holds a row that its caller holds anyway.
pub(super) const QUEUE_LEN: usize = 1024;
/// The maximum number of writes in a transaction, so that the first one does not wait for ever more.
const MAX_GROUP_LEN: usize = 256;

/// The result of a write; of several statements, that of the last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    /// The number of changed rows, without those changed by a foreign key.
    pub(super) changed: u64,
    /// The number of the inserted row, if there is one.
    pub(super) number: i64,
}

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

struct Write {
    statements: Vec<Statement>,
    answer: Answer<Written>,
}

enum Message {
    Write(Write),
    Close(Answer<()>),
}

/// A handle to the task. When it is dropped, the task writes what is queued and ends.
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
}

impl Writer {
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE_LEN);
        tokio::spawn(run(connection, messages));
        Self { queue }
    }

    /// Runs the statements, all or none. Once they are in the queue they are run, whether or not the caller
    /// still waits for the answer.
    pub(super) async fn write(&self, statements: Vec<Statement>) -> Result<Written, StoreError> {
        let (answer, answered) = oneshot::channel();
        let message = Message::Write(Write { statements, answer });
        self.queue.send(message).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes what is queued and closes the connection. A second call does nothing.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        if self.queue.send(Message::Close(answer)).await.is_err() {
            return Ok(());
        }
        answered.await.unwrap_or(Ok(()))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }
}

async fn run(mut connection: SqliteConnection, mut messages: mpsc::Receiver<Message>) {
    let mut waiting = Vec::with_capacity(MAX_GROUP_LEN);
    let mut closers = Vec::new();
    while messages.recv_many(&mut waiting, MAX_GROUP_LEN).await > 0 {
        let mut group = Vec::with_capacity(waiting.len());
        for message in waiting.drain(..) {
            match message {
                Message::Write(write) => group.push(write),
                Message::Close(answer) => {
                    messages.close(); // queued messages can still be received
                    closers.push(answer);
                }
            }
        }
        commit(&mut connection, group).await;
    }
    let closed = connection.close().await.map_err(from_sqlx);
    if let Err(error) = &closed {
        tracing::warn!(%error, "the store did not close properly");
    }
    for answer in closers {
        let _ = answer.send(closed.clone()); // the caller may be gone
    }
}

async fn commit(connection: &mut SqliteConnection, group: Vec<Write>) {
    if group.len() > 1 {
        return commit_together(connection, group).await;
    }
    for write in group {
        commit_alone(connection, write).await;
    }
}

/// Runs all writes in one transaction. If anything fails in it, all are rolled back and each is tried alone.
async fn commit_together(connection: &mut SqliteConnection, group: Vec<Write>) {
    let mut results = Vec::new();
    match run_together(connection, &group, &mut results).await {
        Ok(()) => answer_all(group, results),
        // The lock could not be taken. One by one would not work better, only slower.
        Err(error) if results.is_empty() => {
            for write in group {
                send(write, Err(error.clone()));
            }
        }
        Err(error) => {
            tracing::debug!(%error, writes = group.len(), "retrying writes one by one");
            roll_back(connection).await;
            for write in group {
                commit_alone(connection, write).await;
            }
        }
    }
}

/// Runs all statements as one text: passing a text to the connection's thread and back costs as much as the
/// work done there. The results are those of `BEGIN`, of every statement, and of `COMMIT`.
async fn run_together(
    connection: &mut SqliteConnection,
    group: &[Write],
    results: &mut Vec<Written>,
) -> Result<(), StoreError> {
    let whole = Statement::transaction(group.iter().flat_map(|write| &write.statements));
    let query = sqlx::query_with(whole.sql, arguments(&whole.values)?).persistent(false);
    let all = group.iter().map(|write| write.statements.len()).sum::<usize>() + 2;
    let mut stream = connection.fetch_many(query);
    while let Some(result) = stream.try_next().await.map_err(from_sqlx)? {
        results.extend(written(&result));
        if results.len() == all {
            break; // waiting for the end of the results would cost one more hop
        }
    }
    Ok(())
}

/// The result of a statement; `None` for a returned row.
fn written(result: &Either<SqliteQueryResult, SqliteRow>) -> Option<Written> {
    let done = result.as_ref().left()?;
    Some(Written { changed: done.rows_affected(), number: done.last_insert_rowid() })
}

/// Sends each write the result of its last statement.
fn answer_all(group: Vec<Write>, results: Vec<Written>) {
    let mut results = results.into_iter().skip(1);
    for write in group {
        let last = results.by_ref().take(write.statements.len()).last();
        send(write, last.ok_or_else(missing));
    }
}

/// Should not happen: every statement that was run has a result.
fn missing() -> StoreError {
    StoreError::Unavailable { message: "the database returned no result".into(), source: None }
}

/// Runs one write. A single statement is a transaction; several are combined to one.
async fn commit_alone(connection: &mut SqliteConnection, write: Write) {
    if let [statement] = &write.statements[..] {
        let result = run_one(connection, statement).await;
        return send(write, result);
    }
    let mut results = Vec::new();
    match run_together(connection, slice::from_ref(&write), &mut results).await {
        Ok(()) => answer_all(vec![write], results),
        Err(error) => {
            roll_back(connection).await;
            send(write, Err(error));
        }
    }
}

async fn run_one(connection: &mut SqliteConnection, statement: &Statement) -> Result<Written, StoreError> {
    let query = sqlx::query_with(statement.sql.clone(), arguments(&statement.values)?);
    let mut stream = connection.fetch_many(query);
    while let Some(result) = stream.try_next().await.map_err(from_sqlx)? {
        if let Some(written) = written(&result) {
            return Ok(written); // it is committed: the connection continues by itself
        }
    }
    Err(missing())
}

/// SQLite may have rolled back by itself; then there is nothing to do.
async fn roll_back(connection: &mut SqliteConnection) {
    if let Err(error) = connection.execute(SqlStr::from_static("ROLLBACK")).await {
        tracing::debug!(%error, "nothing to roll back");
    }
}

fn send(write: Write, result: Result<Written, StoreError>) {
    let _ = write.answer.send(result); // the caller may be gone
}
