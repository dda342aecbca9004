//! Tests of the writer's groups. The runtime has one thread, so writes that are polled together are queued
//! together.

use futures_util::FutureExt;
use futures_util::future::join_all;
use headwater_protocol::{Seq, SessionId};

use super::SqliteStore;
use crate::sql::{executions, sessions};
use crate::tests::TestStore;
use crate::tests::samples::{end, execution, put_session, session, token, verdict};
use crate::{ExecutionEnd, SessionFilter, Store, StoreError, TokenRow};

/// The number of commits in the WAL: each ends with a frame that contains the size of the database.
fn commits(place: &TestStore) -> usize {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let wal = std::fs::read(place.path().with_extension("db-wal")).unwrap();
    let word = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().unwrap());
    let frame = FRAME_HEADER + word(8) as usize;
    (HEADER..wal.len()).step_by(frame).filter(|&at| word(at + 4) != 0).count()
}

async fn count(store: &SqliteStore) -> usize {
    store.sessions(&SessionFilter::default(), crate::PageRequest::first(1000)).await.unwrap().items.len()
}

#[tokio::test]
async fn writes_that_wait_together_are_one_commit_and_a_write_alone_is_one() {
    let place = TestStore::new();
    let store = place.open().await;
    let before = commits(&place);
    put_session(&store).await;
    assert_eq!(commits(&place), before + 1);
    let rows: Vec<_> = (0..30).map(|_| session()).collect();
    let put = join_all(rows.iter().map(|row| store.put_session(row))).await;
    assert!(put.into_iter().all(Result::unwrap));
    assert_eq!(commits(&place), before + 2);
    assert_eq!(count(&store).await, 31);
}

#[tokio::test]
async fn a_write_that_breaks_a_rule_fails_alone() {
    let place = TestStore::new();
    let store = place.open().await;
    let parent = put_session(&store).await;
    store.put_token(&token(1)).await.unwrap();
    let same_hash = TokenRow { hash: [1; 32], ..token(2) };
    let (good, lost) = (execution(parent), execution(SessionId::random()));
    let (second, third, fourth) = (token(3), token(4), session());
    let results = tokio::join!(biased;
        store.put_token(&second),
        store.put_token(&same_hash),
        store.put_execution(&good),
        store.put_execution(&lost),
        store.put_token(&third),
        store.put_session(&fourth),
    );
    assert!(results.0.unwrap() && results.4.unwrap() && results.5.unwrap());
    assert!(results.2.unwrap().is_some());
    assert!(matches!(results.1, Err(StoreError::Conflict { .. })));
    assert!(matches!(results.3, Err(StoreError::Conflict { .. })));
    assert_eq!(store.tokens().await.unwrap(), [token(1), token(3), token(4)]);
    assert!(store.execution(good.id).await.unwrap().is_some());
    assert!(store.execution(lost.id).await.unwrap().is_none());
}

#[tokio::test]
async fn of_several_statements_all_are_undone_when_one_fails_alone_or_in_a_group() {
    let place = TestStore::new();
    let store = place.open().await;
    let broken = |row| {
        let lost = execution(SessionId::random());
        [vec![sessions::put(row).unwrap()], executions::put(&lost).unwrap()].concat()
    };
    let half = session();
    let error = store.write(broken(&half)).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    let (before, after) = (session(), session());
    let (first, middle, last) = tokio::join!(biased;
        store.put_session(&before),
        store.write(broken(&half)),
        store.put_session(&after)
    );
    assert!(first.unwrap() && last.unwrap());
    assert!(matches!(middle, Err(StoreError::Conflict { .. })));
    assert!(store.session(half.id).await.unwrap().is_none());
    assert!(store.session(before.id).await.unwrap().is_some());
    assert!(store.session(after.id).await.unwrap().is_some());
}

#[tokio::test]
async fn writes_of_one_row_take_effect_in_the_order_of_their_calls() {
    let place = TestStore::new();
    let store = place.open().await;
    for _ in 0..20 {
        let parent = session();
        let row = execution(parent.id);
        let ends: Vec<_> = (1..20)
            .map(|n| ExecutionEnd { verdict: verdict(n), last_seq: Seq(1), closed: n == 19, ..end(n) })
            .collect();
        let (a, b, c) = tokio::join!(biased;
            store.put_session(&parent),
            store.put_execution(&row),
            join_all(ends.iter().map(|end| store.end_execution(row.id, end))),
        );
        assert!(a.unwrap() && b.unwrap().is_some() && c.into_iter().all(Result::unwrap));
        let stored = store.execution(row.id).await.unwrap().unwrap().end.unwrap();
        assert_eq!((stored.verdict.code, stored.closed), (Some(1), true));
    }
}

#[tokio::test]
async fn a_write_happens_though_its_caller_goes_away() {
    let place = TestStore::new();
    let store = place.open().await;
    let row = session();
    assert!(store.put_session(&row).now_or_never().is_none(), "it waits for its answer");
    put_session(&store).await;
    assert_eq!(store.session(row.id).await.unwrap(), Some(row));
}

#[tokio::test]
async fn closing_writes_what_waits() {
    let place = TestStore::new();
    let store = place.open().await;
    for _ in 0..40 {
        assert!(store.put_session(&session()).now_or_never().is_none());
    }
    store.close().await.unwrap();
    assert!(!place.path().with_extension("db-wal").exists(), "all is in the one file");
    assert_eq!(count(&place.open().await).await, 40);
}

#[tokio::test]
async fn more_writes_than_the_queue_holds_all_happen() {
    let place = TestStore::new();
    let store = place.open().await;
    let rows: Vec<_> = (0..super::writer::QUEUE_LEN + 300).map(|_| session()).collect();
    let results = join_all(rows.iter().map(|row| store.put_session(row))).await;
    assert!(results.into_iter().all(Result::unwrap));
    let last = rows.last().unwrap();
    assert_eq!(store.session(last.id).await.unwrap().as_ref(), Some(last));
}
