//! Tests of builds.

use headwater_protocol::build::{BuildResult, BuildStatus};
use headwater_protocol::{BuildId, SessionId};
use serde_json::json;

use super::all_pages;
use crate::tests::samples::put_session;
use crate::{BuildRow, Store};

fn build(session_id: SessionId) -> BuildRow {
    BuildRow {
        id: BuildId::random(),
        session_id,
        owner: "ann".into(),
        kind: "cpp".into(),
        request: json!({"flags": ["-O2"]}),
        executed: false,
        result: None,
        created_at_ms: 7,
    }
}

pub(crate) async fn the_first_result_of_a_build_stays(store: &dyn Store) {
    let row = build(put_session(store).await);
    assert!(store.put_build(&row).await.unwrap());
    assert!(!store.put_build(&BuildRow { owner: "eve".into(), ..row.clone() }).await.unwrap());
    assert_eq!(store.build(row.id).await.unwrap(), Some(row.clone()));
    assert_eq!(store.unfinished_builds().await.unwrap(), std::slice::from_ref(&row));
    let result = BuildResult::ended(BuildStatus::Success, "é");
    assert!(store.end_build(row.id, &result, true).await.unwrap());
    let lost = BuildResult::ended(BuildStatus::Lost, "");
    assert!(!store.end_build(row.id, &lost, false).await.unwrap());
    let ended = BuildRow { result: Some(result), executed: true, ..row };
    assert_eq!(store.build(ended.id).await.unwrap(), Some(ended));
    assert_eq!(store.unfinished_builds().await.unwrap(), []);
}

pub(crate) async fn builds_are_listed_by_session_and_go_with_it(store: &dyn Store) {
    let (one, other) = (put_session(store).await, put_session(store).await);
    let rows: Vec<_> = (0..5).map(|_| build(one)).chain([build(other)]).collect();
    for row in &rows {
        store.put_build(row).await.unwrap();
    }
    let listed = all_pages(2, async |page| store.builds(one, page).await).await;
    assert_eq!(listed, rows[..5].iter().rev().cloned().collect::<Vec<_>>());
    assert!(store.put_build(&build(SessionId::random())).await.is_err());
    assert!(store.remove_build(rows[0].id).await.unwrap() && !store.remove_build(rows[0].id).await.unwrap());
    store.remove_session(one).await.unwrap();
    assert_eq!(store.build(rows[1].id).await.unwrap(), None);
    assert_eq!(store.build(rows[5].id).await.unwrap(), Some(rows[5].clone()));
}
