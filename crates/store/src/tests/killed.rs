//! A writer that is killed repeatedly during parallel writes: everything that was acknowledged is stored.
//!
//! The test runs itself again as the writer, which prints each acknowledged write to stdout.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use headwater_protocol::{ExecutionId, SessionId};

use super::TestStore;
use super::samples::{end, execution, key, put_session};
use crate::sqlite::raw;
use crate::{Claim, ExecutionEnd, SqliteStore, Store};

/// Set in the second run: the path of the store.
const STORE: &str = "HEADWATER_TEST_STORE";
/// Enough parallel writes that groups form, and that a kill interrupts some.
const WRITERS: usize = 8;
const KILLS: usize = 12;

/// The writer: adds and ends executions, and prints each, until it is killed.
async fn write_until_killed(path: &Path) {
    let store = Arc::new(SqliteStore::open(path).await.unwrap());
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let session = put_session(&*store).await;
            loop {
                let row = execution(session);
                assert_eq!(store.claim_key(&key(row.id)).await.unwrap(), Claim::New);
                store.put_execution(&row).await.unwrap().unwrap();
                print_acknowledged("put", row.id, session);
                store.end_execution(row.id, &ExecutionEnd { closed: true, ..end(0) }).await.unwrap();
                print_acknowledged("ended", row.id, session);
            }
        });
    }
    writers.join_all().await;
}

/// One write call per line, so that a kill leaves complete lines except for the last.
fn print_acknowledged(what: &str, id: ExecutionId, session: SessionId) {
    let line = format!("\ntold {what} {id} {session}.\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

fn start_writer(place: &TestStore) -> Child {
    let (_, module) = module_path!().split_once("::").unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::acknowledged_writes_survive_every_kill"), "--nocapture"])
        .env(STORE, place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

struct Acknowledged {
    ended: bool,
    id: ExecutionId,
    session: SessionId,
}

fn parse(line: &str) -> Option<Acknowledged> {
    let mut words = line.strip_prefix("told ")?.strip_suffix('.')?.split(' ');
    let (what, id, session) = (words.next()?, words.next()?, words.next()?);
    Some(Acknowledged { ended: what == "ended", id: id.parse().unwrap(), session: session.parse().unwrap() })
}

/// Starts a writer, kills it after this many lines, and returns the writes that it printed.
fn acknowledged_until_killed(place: &TestStore, lines: usize) -> Vec<Acknowledged> {
    let mut writer = start_writer(place);
    let mut output = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut acknowledged: Vec<_> = output.by_ref().filter_map(|line| parse(&line)).take(lines).collect();
    writer.kill().unwrap();
    assert_eq!(writer.wait().unwrap().signal(), Some(9), "it did not end by itself");
    acknowledged.extend(output.filter_map(|line| parse(&line)));
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_every_kill() {
    if let Some(path) = std::env::var_os(STORE) {
        return write_until_killed(Path::new(&path)).await;
    }
    let place = TestStore::new();
    let mut all = Vec::new();
    for kill in 0..KILLS {
        // A different number each time; reading the lines paces the kills without a clock.
        all.extend(acknowledged_until_killed(&place, 20 + kill * 37 % 200));
        let store = place.open().await;
        for acknowledged in &all {
            let row = store.execution(acknowledged.id).await.unwrap().expect("it was acknowledged");
            assert_eq!(row.session_id, acknowledged.session);
            assert!(row.end.is_some_and(|end| end.closed) || !acknowledged.ended, "its end was acknowledged");
            assert!(matches!(store.claim_key(&key(acknowledged.id)).await.unwrap(), Claim::Known(_)));
        }
        store.close().await.unwrap();
    }
    assert!(all.len() >= KILLS * 20);
    assert_eq!(raw(&place.path(), "PRAGMA integrity_check").await.unwrap(), ["ok"]);
}
