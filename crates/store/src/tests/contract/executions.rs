//! Tests of executions.

use std::slice;

use headwater_protocol::{ExecutionId, Seq, SessionId, StartSpec, Stdin};

use super::all_pages;
use crate::tests::samples::{NOW, end, execution, key, put, put_session, verdict};
use crate::{
    Claim, ExecutionEnd, ExecutionFilter, ExecutionKind, ExecutionRow, MAX_PAGE, PageRequest, StateFilter,
    Store, StoreError,
};

pub(super) const ANY: ExecutionFilter = ExecutionFilter {
    owner: None,
    session_id: None,
    state: None,
    succeeded: None,
    kind: None,
    text: None,
    language: None,
    conversation_id: None,
    tool_call_id: None,
    started_after_ms: None,
    started_before_ms: None,
    among: None,
};

pub(super) async fn list(store: &dyn Store, filter: &ExecutionFilter) -> Vec<ExecutionRow> {
    store.executions(filter, PageRequest::first(100)).await.unwrap().items
}

fn numbers(rows: &[ExecutionRow]) -> Vec<i64> {
    rows.iter().map(|row| row.number).collect()
}

pub(crate) async fn an_execution_is_found_as_it_was_put_but_for_its_given_input(store: &dyn Store) {
    let mut spec = StartSpec::code("python", "print('\u{1F41F}\0')");
    spec.env.insert("A".into(), "b".into());
    spec.stdin = Stdin::Given("secret".into());
    spec.timeout_ms = Some(u64::MAX);
    let row = ExecutionRow {
        conversation_id: Some("c".into()),
        tool_call_id: Some("t".into()),
        language: Some("python".into()),
        spec,
        end: Some(ExecutionEnd { closed: true, ..end(3) }),
        ..execution(put_session(store).await)
    };
    let mut stored = put(store, row).await;
    stored.spec.stdin = Stdin::None;
    assert_eq!(store.execution(stored.id).await.unwrap(), Some(stored));
    assert_eq!(store.execution(ExecutionId::random()).await.unwrap(), None);
    let mut open = execution(put_session(store).await);
    open.spec.stdin = Stdin::Open;
    let open = put(store, open).await;
    assert_eq!(store.execution(open.id).await.unwrap(), Some(open));
}

pub(crate) async fn the_first_put_of_an_id_stays_and_numbers_grow(store: &dyn Store) {
    let session = put_session(store).await;
    let first = put(store, execution(session)).await;
    let again = ExecutionRow { owner: "eve".into(), number: 77, ..first.clone() };
    assert_eq!(store.put_execution(&again).await.unwrap(), None);
    assert_eq!(store.execution(first.id).await.unwrap(), Some(first.clone()));
    let second = put(store, execution(session)).await;
    assert!(second.number > first.number, "{second:?}");
}

pub(crate) async fn an_execution_needs_its_session(store: &dyn Store) {
    let row = execution(SessionId::random());
    let error = store.put_execution(&row).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert_eq!(store.execution(row.id).await.unwrap(), None);
}

pub(crate) async fn every_filter_chooses_and_all_of_them_together(store: &dyn Store) {
    let (here, there) = (put_session(store).await, put_session(store).await);
    let plain = put(store, execution(there)).await;
    let chosen = ExecutionRow {
        owner: "bob".into(),
        language: Some("python".into()),
        conversation_id: Some("c".into()),
        tool_call_id: Some("call".into()),
        queued_at_ms: NOW + 10,
        spec: StartSpec::argv(["echo", "good night"]),
        ..execution(here)
    };
    let chosen = put(store, chosen).await;
    let filters = [
        ExecutionFilter { owner: Some("bob".into()), ..ANY },
        ExecutionFilter { session_id: Some(here), ..ANY },
        ExecutionFilter { language: Some("python".into()), ..ANY },
        ExecutionFilter { conversation_id: Some("c".into()), ..ANY },
        ExecutionFilter { tool_call_id: Some("call".into()), ..ANY },
        ExecutionFilter { started_after_ms: Some(NOW + 10), ..ANY },
        ExecutionFilter { text: Some("NIGHT".into()), ..ANY },
        ExecutionFilter { kind: Some(ExecutionKind::Program), ..ANY },
        ExecutionFilter {
            owner: Some("bob".into()),
            session_id: Some(here),
            state: Some(StateFilter::Running),
            succeeded: None,
            kind: Some(ExecutionKind::Program),
            text: Some("good night".into()),
            language: Some("python".into()),
            conversation_id: Some("c".into()),
            tool_call_id: Some("call".into()),
            started_after_ms: Some(NOW + 1),
            started_before_ms: Some(NOW + 11),
            among: None,
        },
    ];
    for filter in filters {
        assert_eq!(list(store, &filter).await, slice::from_ref(&chosen), "{filter:?}");
    }
    let before = ExecutionFilter { started_before_ms: Some(NOW + 10), ..ANY };
    assert_eq!(list(store, &before).await, slice::from_ref(&plain));
    assert_eq!(list(store, &ANY).await, [chosen, plain]);
    let nobody = ExecutionFilter { owner: Some("bob' OR '1' = '1".into()), ..ANY };
    assert_eq!(list(store, &nobody).await, []);
}

pub(crate) async fn states_follow_the_end(store: &dyn Store) {
    let row = put(store, execution(put_session(store).await)).await;
    let states = [StateFilter::Running, StateFilter::Exited, StateFilter::Closed];
    let standing = async || {
        let mut standing = Vec::new();
        for state in states {
            if !list(store, &ExecutionFilter { state: Some(state), ..ANY }).await.is_empty() {
                standing.push(state);
            }
        }
        standing
    };
    assert_eq!(standing().await, [StateFilter::Running]);
    store.end_execution(row.id, &end(0)).await.unwrap();
    assert_eq!(standing().await, [StateFilter::Exited]);
    store.end_execution(row.id, &ExecutionEnd { closed: true, ..end(0) }).await.unwrap();
    assert_eq!(standing().await, [StateFilter::Closed]);
}

pub(crate) async fn pages_of_executions_of_one_millisecond_hold_each_once(store: &dyn Store) {
    let session = put_session(store).await;
    let other = put_session(store).await;
    let mut rows = Vec::new();
    for _ in 0..7 {
        rows.insert(0, put(store, execution(session)).await);
        put(store, execution(other)).await;
    }
    let filter = ExecutionFilter { session_id: Some(session), ..ANY };
    for limit in [1, 2, 3, 7, 8] {
        let seen = all_pages(limit, async |page| store.executions(&filter, page).await).await;
        assert_eq!(seen, rows, "{limit}");
    }
}

pub(crate) async fn rows_that_come_while_pages_are_read_do_not_disturb_them(store: &dyn Store) {
    let session = put_session(store).await;
    let mut rows = Vec::new();
    for _ in 0..6 {
        rows.insert(0, put(store, execution(session)).await);
    }
    let mut removed = rows.clone();
    let seen = all_pages(2, async |page| {
        let answer = store.executions(&ANY, page).await;
        put(store, execution(session)).await;
        if let Some(last) = removed.pop().filter(|_| page.cursor.is_none()) {
            store.remove_execution(last.id).await?; // of a page that is still to come
        }
        answer
    });
    assert_eq!(seen.await, rows[..5]);
}

pub(crate) async fn a_feed_goes_on_after_the_number_it_has_seen(store: &dyn Store) {
    let session = put_session(store).await;
    let in_conversation =
        |name: &str| ExecutionRow { conversation_id: Some(name.into()), ..execution(session) };
    let mut mine = Vec::new();
    for _ in 0..5 {
        mine.push(put(store, in_conversation("mine")).await);
        put(store, in_conversation("other")).await;
    }
    let feed = ExecutionFilter { conversation_id: Some("mine".into()), ..ANY };
    assert_eq!(store.executions_after(&feed, 0, 100).await.unwrap(), mine);
    let (seen, new) = mine.split_at(2);
    assert_eq!(store.executions_after(&feed, seen[1].number, 2).await.unwrap(), new[..2]);
    assert_eq!(store.executions_after(&feed, new[1].number, 2).await.unwrap(), new[2..]);
    assert_eq!(store.executions_after(&feed, new[2].number, 2).await.unwrap(), []);
    let whole = ExecutionFilter { session_id: Some(session), ..ANY };
    assert_eq!(store.executions_after(&whole, 0, 100).await.unwrap().len(), 10);
}

pub(crate) async fn a_number_is_never_given_twice(store: &dyn Store) {
    let session = put_session(store).await;
    assert_eq!(store.last_execution_number().await.unwrap(), 0);
    let first = put(store, execution(session)).await;
    assert!(store.remove_execution(first.id).await.unwrap());
    assert_eq!(store.last_execution_number().await.unwrap(), first.number);
    let second = put(store, execution(session)).await;
    assert_eq!(store.last_execution_number().await.unwrap(), second.number);
    assert!(second.number > first.number, "a feed that has seen {} would miss it", first.number);
    assert_eq!(numbers(&store.executions_after(&ANY, first.number, 9).await.unwrap()), [second.number]);
}

pub(crate) async fn the_first_verdict_wins_and_the_rest_moves_forwards(store: &dyn Store) {
    let row = put(store, execution(put_session(store).await)).await;
    let stored = async || store.execution(row.id).await.unwrap().unwrap().end.unwrap();
    let first = end(7);
    assert!(store.end_execution(row.id, &first).await.unwrap());
    assert_eq!(stored().await, first);
    let later = ExecutionEnd {
        verdict: verdict(0),
        started_at_ms: NOW + 100,
        exited_at_ms: NOW + 200,
        last_seq: Seq(9),
        closed: true,
    };
    assert!(store.end_execution(row.id, &later).await.unwrap());
    let expected = ExecutionEnd { last_seq: Seq(9), closed: true, ..first.clone() };
    assert_eq!(stored().await, expected);
    assert!(store.end_execution(row.id, &first).await.unwrap());
    assert_eq!(stored().await, expected, "nothing moves back");
}

pub(crate) async fn an_end_of_something_unknown_is_told(store: &dyn Store) {
    assert!(!store.end_execution(ExecutionId::random(), &end(0)).await.unwrap());
}

pub(crate) async fn unfinished_are_those_without_an_end_or_not_closed(store: &dyn Store) {
    let session = put_session(store).await;
    let running = put(store, execution(session)).await;
    let exited = put(store, execution(session)).await;
    let closed = put(store, execution(session)).await;
    let born_closed =
        ExecutionRow { end: Some(ExecutionEnd { closed: true, ..end(0) }), ..execution(session) };
    put(store, born_closed).await;
    store.end_execution(exited.id, &end(0)).await.unwrap();
    store.end_execution(closed.id, &ExecutionEnd { closed: true, ..end(0) }).await.unwrap();
    assert_eq!(store.unfinished().await.unwrap(), [(running.id, session), (exited.id, session)]);
}

pub(crate) async fn a_removed_execution_takes_its_keys_along(store: &dyn Store) {
    let session = put_session(store).await;
    let (gone, kept) = (put(store, execution(session)).await, put(store, execution(session)).await);
    for row in [&gone, &kept] {
        store.claim_key(&key(row.id)).await.unwrap();
    }
    assert!(store.remove_execution(gone.id).await.unwrap());
    assert!(!store.remove_execution(gone.id).await.unwrap());
    assert_eq!(list(store, &ANY).await, slice::from_ref(&kept));
    assert_eq!(store.claim_key(&key(gone.id)).await.unwrap(), Claim::New);
    assert_eq!(store.claim_key(&key(kept.id)).await.unwrap(), Claim::Known(key(kept.id)));
}

pub(crate) async fn the_limit_of_a_page_is_bounded_at_both_ends(store: &dyn Store) {
    let session = put_session(store).await;
    let last = put(store, execution(session)).await;
    let newest = put(store, execution(session)).await;
    let page = store.executions(&ANY, PageRequest::first(0)).await.unwrap();
    assert_eq!((numbers(&page.items), page.next), (vec![newest.number], Some(newest.number)));
    let page = store.executions(&ANY, PageRequest { limit: u32::MAX, cursor: page.next }).await.unwrap();
    assert_eq!((numbers(&page.items), page.next), (vec![last.number], None));
    for _ in 2..=MAX_PAGE {
        put(store, execution(session)).await;
    }
    let page = store.executions(&ANY, PageRequest::first(u32::MAX)).await.unwrap();
    assert_eq!((page.items.len(), page.next), (MAX_PAGE as usize, Some(newest.number)));
    assert_eq!(store.executions_after(&ANY, 0, u32::MAX).await.unwrap().len(), MAX_PAGE as usize);
}
