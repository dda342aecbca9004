//! Opening the file: first the writer, which migrates it, then the readers.

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

/// The number of parallel reads. Each connection is a thread; a read takes tens of microseconds.
const READER_COUNT: u32 = 4;
/// How long to wait for another program that writes, or for a free reader.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How many pages the WAL may contain before they are moved into the file: 32 MiB. Moving waits for the disk
/// for some ten milliseconds, during which nothing is written; with SQLite's 1000 pages that would delay
/// every hundredth write.
const CHECKPOINT_PAGES: &str = "8192";
/// In KiB; negative, as SQLite requires. Ids are random, so each write touches another page of their index.
const WRITER_CACHE_KIB: &str = "-8192";
/// How many results may wait for the writer's task, so that the connection's thread does not: those of a
/// whole group.
const RESULT_BUFFER_LEN: usize = 1024;

/// The pause between two attempts to open the file.
const OPEN_RETRY_DELAY: Duration = Duration::from_millis(20);

/// Opens the store. SQLite does not wait while another process switches the file to WAL or closes it, so this
/// does.
pub(super) async fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    let began = Instant::now();
    loop {
        match try_to_open(path).await {
            Err(StoreError::Busy { .. }) if began.elapsed() < BUSY_TIMEOUT => {
                tokio::time::sleep(OPEN_RETRY_DELAY).await;
            }
            // Without a free inode SQLite only reports that it cannot open a file.
            Err(StoreError::Full { .. } | StoreError::Unavailable { .. }) if make_room(path) => {}
            result => return result.map_err(|error| naming(path, error)),
        }
    }
}

/// Releases a piece of the reserve if the disk is full; false if that does not help.
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

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    // Statements are not logged: sqlx would format each of them.
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
}

pub(super) async fn connect_writer(path: &Path) -> Result<SqliteConnection, StoreError> {
    let options = options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("cache_size", WRITER_CACHE_KIB)
        .row_buffer_size(RESULT_BUFFER_LEN)
        .thread_name(|_| "store-writer".into());
    options.connect().await.map_err(from_sqlx)
}

async fn connect_readers(path: &Path) -> Result<SqlitePool, StoreError> {
    let options = options(path).read_only(true).thread_name(|n| format!("store-reader-{n}"));
    let pool = SqlitePoolOptions::new()
        .max_connections(READER_COUNT)
        .acquire_timeout(BUSY_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false); // a connection to a file does not go stale, and a ping costs as much as a read
    pool.connect_with(options).await.map_err(from_sqlx)
}
