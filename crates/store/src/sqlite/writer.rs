//! The one task that writes. It takes all that waits in its queue, writes it in one transaction and answers each.

use std::slice;

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteQueryResult, SqliteRow};
use sqlx::{Connection, Either, Executor, SqlStr, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::error::from_sqlx;
use super::row::arguments;
use crate::StoreError;
use crate::sql::Statement;

/// How many writes may wait; who comes then waits for a place. Each holds a row that its caller holds anyway.
pub(super) const QUEUE: usize = 1024;
/// The most writes of one transaction, so that the first is not kept waiting by ever more.
const GROUP: usize = 256;

/// What a write did; of several statements, the last one's.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    /// How many rows it changed, those not counted that went along by a foreign key.
    pub(super) changed: u64,
    /// The number of the row that it inserted, if it did.
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

/// The way to the task. When it goes, the task writes what waits and ends.
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
}

impl Writer {
    pub(super) fn start(connection: SqliteConnection) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE);
        tokio::spawn(run(connection, messages));
        Self { queue }
    }

    /// Runs the statements, all or none. From the moment they are in the queue they are run, whether or not somebody
    /// still waits for the answer.
    pub(super) async fn write(&self, statements: Vec<Statement>) -> Result<Written, StoreError> {
        let (answer, answered) = oneshot::channel();
        let message = Message::Write(Write { statements, answer });
        self.queue.send(message).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Writes what waits and closes the connection. A second time it does nothing.
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
    let mut waiting = Vec::with_capacity(GROUP);
    let mut closers = Vec::new();
    while messages.recv_many(&mut waiting, GROUP).await > 0 {
        let mut group = Vec::with_capacity(waiting.len());
        for message in waiting.drain(..) {
            match message {
                Message::Write(write) => group.push(write),
                Message::Close(answer) => {
                    messages.close(); // what is in the queue still comes
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
        let _ = answer.send(closed.clone()); // whoever asked may be gone
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

/// One transaction for all. Whatever goes wrong in it undoes the whole, and each is tried by itself.
async fn commit_together(connection: &mut SqliteConnection, group: Vec<Write>) {
    let mut results = Vec::new();
    match run_together(connection, &group, &mut results).await {
        Ok(()) => answer_all(group, results),
        // The lock was not to be had. It would not go better one by one, only slower.
        Err(error) if results.is_empty() => {
            for write in group {
                send(write, Err(error.clone()));
            }
        }
        Err(error) => {
            tracing::debug!(%error, writes = group.len(), "writes are tried one by one");
            roll_back(connection).await;
            for write in group {
                commit_alone(connection, write).await;
            }
        }
    }
}

/// Runs all in one go: each text that is handed to the connection is a hop to its thread and back, which costs as
/// much as the work that is done there. The results are those of `BEGIN`, of every statement, and of `COMMIT`.
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
            break; // to be told that there is no more would be one more hop
        }
    }
    Ok(())
}

/// What a statement did; none for a row that it told.
fn written(result: &Either<SqliteQueryResult, SqliteRow>) -> Option<Written> {
    let done = result.as_ref().left()?;
    Some(Written { changed: done.rows_affected(), number: done.last_insert_rowid() })
}

/// Each write gets the result of its last statement.
fn answer_all(group: Vec<Write>, results: Vec<Written>) {
    let mut results = results.into_iter().skip(1);
    for write in group {
        let last = results.by_ref().take(write.statements.len()).last();
        send(write, last.ok_or_else(missing));
    }
}

/// Cannot be: every statement that was run has a result.
fn missing() -> StoreError {
    StoreError::Unavailable { message: "the database did not say what it did".into(), source: None }
}

/// A statement is a transaction by itself; several are made one.
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
            return Ok(written); // it is committed: the connection goes on by itself
        }
    }
    Err(missing())
}

/// SQLite may have rolled back by itself; then there is nothing to do.
async fn roll_back(connection: &mut SqliteConnection) {
    if let Err(error) = connection.execute(SqlStr::from_static("ROLLBACK")).await {
        tracing::debug!(%error, "there was nothing to roll back");
    }
}

fn send(write: Write, result: Result<Written, StoreError>) {
    let _ = write.answer.send(result); // whoever asked may be gone
}
