//! A writer that is really killed, again and again, while many write: what was acknowledged is there.
//!
//! The test runs itself again as the writer, which tells on stdout each write that was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use headwater_protocol::{ExecutionId, SessionId};

use super::Place;
use super::samples::{end, execution, key, put_session};
use crate::sqlite::raw;
use crate::{Claim, ExecutionEnd, SqliteStore, Store};

/// Set in the second run: where the store is.
const STORE: &str = "HEADWATER_TEST_STORE";
/// Enough at once that groups form, and that a kill finds some half done.
const WRITERS: usize = 8;
const KILLS: usize = 12;

/// The writer: puts and ends executions, and tells each, until it is killed.
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
                tell("put", row.id, session);
                store.end_execution(row.id, &ExecutionEnd { closed: true, ..end(0) }).await.unwrap();
                tell("ended", row.id, session);
            }
        });
    }
    writers.join_all().await;
}

/// One write for a line, so that a kill leaves whole lines but for the last.
fn tell(what: &str, id: ExecutionId, session: SessionId) {
    let line = format!("\ntold {what} {id} {session}.\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

fn start_writer(place: &Place) -> Child {
    let (_, module) = module_path!().split_once("::").unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::acknowledged_writes_survive_every_kill"), "--nocapture"])
        .env(STORE, place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

struct Told {
    ended: bool,
    id: ExecutionId,
    session: SessionId,
}

fn parse(line: &str) -> Option<Told> {
    let mut words = line.strip_prefix("told ")?.strip_suffix('.')?.split(' ');
    let (what, id, session) = (words.next()?, words.next()?, words.next()?);
    Some(Told { ended: what == "ended", id: id.parse().unwrap(), session: session.parse().unwrap() })
}

/// Starts a writer, kills it after it has told so much, and answers all that it told.
fn told_until_killed(place: &Place, lines: usize) -> Vec<Told> {
    let mut writer = start_writer(place);
    let mut output = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut told: Vec<_> = output.by_ref().filter_map(|line| parse(&line)).take(lines).collect();
    writer.kill().unwrap();
    assert_eq!(writer.wait().unwrap().signal(), Some(9), "it did not end by itself");
    told.extend(output.filter_map(|line| parse(&line)));
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_every_kill() {
    if let Some(path) = std::env::var_os(STORE) {
        return write_until_killed(Path::new(&path)).await;
    }
    let place = Place::new();
    let mut all = Vec::new();
    for kill in 0..KILLS {
        // A different number each time; reading them paces the kills without a clock.
        all.extend(told_until_killed(&place, 20 + kill * 37 % 200));
        let store = place.open().await;
        for told in &all {
            let row = store.execution(told.id).await.unwrap().expect("it was acknowledged");
            assert_eq!(row.session_id, told.session);
            assert!(row.end.is_some_and(|end| end.closed) || !told.ended, "its end was acknowledged");
            assert!(matches!(store.claim_key(&key(told.id)).await.unwrap(), Claim::Known(_)));
        }
        store.close().await.unwrap();
    }
    assert!(all.len() >= KILLS * 20);
    assert_eq!(raw(&place.path(), "PRAGMA integrity_check").await.unwrap(), ["ok"]);
}
