//! How the file is opened: first the writer, who makes it current, then the readers.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqliteConnection};

use super::error::{from_io, from_sqlx, naming};
use super::writer::Writer;
use super::{SqliteStore, file, migrate};
use crate::{Free, Reserve, StoreError};

/// How many reads at once. Each connection is a thread; a read takes tens of microseconds.
const READERS: u32 = 4;
/// How long to wait for another program that writes, or for a free reader.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many pages the WAL may hold before they are moved into the file: 32 MiB. Moving waits for the disk, some ten
/// milliseconds, while nothing else is written; with SQLite's 1000 pages that would befall every hundredth write.
const CHECKPOINT_PAGES: &str = "8192";
/// In KiB, as SQLite wants it: with a minus. Ids are random, so each write touches another page of their index.
const WRITER_CACHE: &str = "-8192";
/// How many results may wait for the writer's task, so that the connection's thread does not: those of a whole group.
const RESULTS: usize = 1024;

/// Between two tries to open.
const RETRY: Duration = Duration::from_millis(20);

/// SQLite does not wait for a file that another makes a WAL file of, or stops using, at this moment: so this does.
pub(super) async fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    let began = Instant::now();
    loop {
        match try_to_open(path).await {
            Err(StoreError::Busy { .. }) if began.elapsed() < PATIENCE => tokio::time::sleep(RETRY).await,
            // Without a free inode SQLite only says that it cannot open a file.
            Err(StoreError::Full { .. } | StoreError::Unavailable { .. }) if make_room(path) => {}
            result => return result.map_err(|error| naming(path, error)),
        }
    }
}

/// Gives up a piece of the reserve if the disk is full; false if that makes no difference.
fn make_room(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let full = Free::of(folder).is_ok_and(|free| free.shortage().is_some());
    full && Reserve::of(folder).release()
}

async fn try_to_open(path: &Path) -> Result<SqliteStore, StoreError> {
    file::prepare(path).map_err(from_io)?;
    let mut connection = connect_writer(path).await?;
    migrate::run(&mut connection).await?;
    let readers = connect_readers(path).await?;
    let reserve = Reserve::of(path.parent().unwrap_or(path));
    Ok(SqliteStore { path: path.to_owned(), readers, writer: Writer::start(connection), reserve })
}

fn options(path: &Path) -> SqliteConnectOptions {
    // Statements are not logged: sqlx would format each of them.
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .disable_statement_logging()
}

pub(super) async fn connect_writer(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("cache_size", WRITER_CACHE)
        .row_buffer_size(RESULTS)
        .thread_name(|_| "store-writer".into());
    options.connect().await.map_err(from_sqlx)
}

async fn connect_readers(path: &Path) -> Result<SqlitePool, StoreError> {
    let options = options(path).read_only(true).thread_name(|n| format!("store-reader-{n}"));
    let pool = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false); // a connection to a file does not go stale, and a ping costs as much as a read
    pool.connect_with(options).await.map_err(from_sqlx)
}
