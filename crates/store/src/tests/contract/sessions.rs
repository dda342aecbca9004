//! Tests of sessions.

use headwater_protocol::{Limits, SandboxKind, SessionId, SessionSpec};

use super::all_pages;
use crate::tests::samples::{NOW, end, execution, key, put, put_session, session};
use crate::{
    Claim, ExecutionEnd, ExecutionRow, KeyRow, PageRequest, SessionFilter, SessionRow, Store, StoreError,
};

pub(crate) async fn a_session_is_found_as_it_was_put(store: &dyn Store) {
    let spec = SessionSpec {
        secret_env: ["KEY".to_owned()].into(),
        name: Some("night shift".into()),
        env: [("A".into(), "ä\n\"".into())].into(),
        limits: Limits { memory_bytes: Some(1 << 40), cpus: Some(0.5), ..Limits::default() },
        idle_timeout_ms: Some(60_000),
        metadata: [("project".into(), "7".into())].into(),
        one_shot: true,
        network: headwater_protocol::Network::Packages,
        place: None,
    };
    let row = SessionRow { spec, sandbox: SandboxKind::None, ended_at_ms: Some(1), ..session() };
    assert!(store.put_session(&row).await.unwrap());
    assert_eq!(store.session(row.id).await.unwrap(), Some(row));
    assert_eq!(store.session(SessionId::random()).await.unwrap(), None);
}

pub(crate) async fn the_first_put_of_an_id_stays(store: &dyn Store) {
    let row = session();
    assert!(store.put_session(&row).await.unwrap());
    let other = SessionRow { owner: "eve".into(), ..row.clone() };
    assert!(!store.put_session(&other).await.unwrap());
    assert_eq!(store.session(row.id).await.unwrap(), Some(row));
}

pub(crate) async fn lists_show_the_newest_first_and_only_what_was_asked_for(store: &dyn Store) {
    let named = SessionSpec { name: Some("x".into()), ..SessionSpec::default() };
    let first = SessionRow { spec: named.clone(), ..session() };
    let second = SessionRow { owner: "bob".into(), spec: named, ..session() };
    let third = SessionRow { ended_at_ms: Some(5), ..session() };
    for row in [&first, &second, &third] {
        store.put_session(row).await.unwrap();
    }
    let list =
        async |filter: SessionFilter| store.sessions(&filter, PageRequest::first(10)).await.unwrap().items;
    let any = SessionFilter::default();
    assert_eq!(list(any.clone()).await, [third.clone(), second.clone(), first.clone()]);
    let ada = SessionFilter { owner: Some("ada".into()), ..any.clone() };
    assert_eq!(list(ada.clone()).await, [third.clone(), first.clone()]);
    let x = SessionFilter { name: Some("x".into()), ..any.clone() };
    assert_eq!(list(x.clone()).await, [second.clone(), first.clone()]);
    assert_eq!(list(SessionFilter { ended: Some(true), ..any.clone() }).await, [third]);
    assert_eq!(list(SessionFilter { ended: Some(false), ..any }).await, [second, first.clone()]);
    assert_eq!(list(SessionFilter { ended: Some(false), name: x.name, ..ada }).await, [first]);
}

pub(crate) async fn sessions_are_searched_by_text(store: &dyn Store) {
    let metadata = [("ticket".to_owned(), "HW-7 ÄÖ".to_owned())].into();
    let first = SessionSpec { name: Some("API server".into()), metadata, ..SessionSpec::default() };
    let first = SessionRow { spec: first, ..session() };
    let second = SessionRow { owner: "Eve 50%".into(), ..session() };
    for row in [&first, &second] {
        store.put_session(row).await.unwrap();
    }
    for _ in 0..120 {
        put_session(store).await; // more than one page of a search looks at
    }
    let found = async |text: &str| {
        let filter = SessionFilter { text: Some(text.to_owned()), ..SessionFilter::default() };
        let (mut found, mut request) = (Vec::new(), PageRequest::first(1));
        loop {
            let page = store.sessions(&filter, request).await.unwrap();
            found.extend(page.items.iter().map(|row| row.id));
            let Some(next) = page.next else { return found };
            request.cursor = Some(next);
        }
    };
    for text in ["api", "I SERV", "hw-7", "ÄÖ", &first.id.to_string()] {
        assert_eq!(found(text).await, [first.id], "{text}");
    }
    assert_eq!(found("50%").await, [second.id]);
    // Names of fields, parts of an id and wildcards are only text.
    for text in ["ticket", &first.id.to_string()[4..], "api%", "_"] {
        let only_ids = found(text).await;
        assert!(!only_ids.contains(&first.id), "{text}");
    }
}

pub(crate) async fn pages_of_sessions_of_one_millisecond_hold_each_once(store: &dyn Store) {
    let mut put = Vec::new();
    for _ in 0..7 {
        put.insert(0, put_session(store).await);
    }
    for limit in [1, 2, 3, 7, 8] {
        let any = SessionFilter::default();
        let seen = all_pages(limit, async |page| store.sessions(&any, page).await).await;
        assert_eq!(seen.iter().map(|row| row.id).collect::<Vec<_>>(), put, "{limit}");
    }
}

pub(crate) async fn an_update_replaces_the_spec_and_the_name_it_is_found_by(store: &dyn Store) {
    let id = put_session(store).await;
    let spec = SessionSpec { name: Some("new".into()), idle_timeout_ms: Some(1), ..SessionSpec::default() };
    assert!(store.update_session(id, &spec).await.unwrap());
    let filter = SessionFilter { name: Some("new".into()), ..SessionFilter::default() };
    let found = store.sessions(&filter, PageRequest::first(10)).await.unwrap().items;
    assert_eq!(found.iter().map(|row| (row.id, &row.spec)).collect::<Vec<_>>(), [(id, &spec)]);
    assert!(!store.update_session(SessionId::random(), &spec).await.unwrap());
}

pub(crate) async fn a_session_ends_once(store: &dyn Store) {
    let id = put_session(store).await;
    assert!(store.end_session(id, 100).await.unwrap());
    assert!(!store.end_session(id, 200).await.unwrap());
    assert_eq!(store.session(id).await.unwrap().unwrap().ended_at_ms, Some(100));
    assert!(!store.end_session(SessionId::random(), 100).await.unwrap());
}

pub(crate) async fn the_last_activity_is_the_newest_start_or_end(store: &dyn Store) {
    let (idle, used) = (put_session(store).await, put_session(store).await);
    let at = async || store.last_activity(&[idle, used, SessionId::random()]).await.unwrap();
    assert_eq!(at().await, [(idle, NOW), (used, NOW)].into());
    let start = async |after_ms: u64| {
        let row = ExecutionRow { queued_at_ms: NOW + after_ms, ..execution(used) };
        put(store, row).await.id
    };
    let (long, _) = (start(100).await, start(200).await);
    assert_eq!(at().await, [(idle, NOW), (used, NOW + 200)].into());
    let ended = ExecutionEnd { exited_at_ms: NOW + 300, ..end(0) };
    store.end_execution(long, &ended).await.unwrap();
    assert_eq!(at().await, [(idle, NOW), (used, NOW + 300)].into());
    assert!(store.last_activity(&[]).await.unwrap().is_empty());
}

pub(crate) async fn a_removed_session_takes_its_executions_and_keys_along_and_nothing_else(
    store: &dyn Store,
) {
    let (gone, kept) = (put_session(store).await, put_session(store).await);
    let inside = put(store, execution(gone)).await;
    let outside = put(store, execution(kept)).await;
    let one_shot = KeyRow { session: Some(gone), ..key("exe_of_a_one_shot") };
    let going = [key(gone), key(inside.id), one_shot];
    let staying = [key(kept), key(outside.id)];
    for row in going.iter().chain(&staying) {
        assert_eq!(store.claim_key(row).await.unwrap(), Claim::New);
    }
    assert!(store.remove_session(gone).await.unwrap());
    assert_eq!(store.session(gone).await.unwrap(), None);
    assert_eq!(store.execution(inside.id).await.unwrap(), None);
    assert_eq!(store.execution(outside.id).await.unwrap(), Some(outside));
    assert!(store.session(kept).await.unwrap().is_some());
    for row in &going {
        assert_eq!(store.claim_key(row).await.unwrap(), Claim::New, "{row:?}");
    }
    for row in &staying {
        assert_eq!(store.claim_key(row).await.unwrap(), Claim::Known(row.clone()));
    }
    assert!(!store.remove_session(gone).await.unwrap());
}

fn named(owner: &str, name: &str) -> SessionRow {
    let spec = SessionSpec { name: Some(name.into()), ..SessionSpec::default() };
    SessionRow { owner: owner.into(), spec, ..session() }
}

pub(crate) async fn a_name_is_unique_among_the_live_sessions_of_an_owner(store: &dyn Store) {
    let (first, second, bobs) = (named("ann", "dev"), named("ann", "dev"), named("bob", "dev"));
    let found =
        async |owner: &str, name: &str| store.session_by_name(owner, name).await.unwrap().map(|row| row.id);
    assert!(store.create_session(&first).await.unwrap());
    assert!(!store.create_session(&first).await.unwrap(), "repeated with the same id");
    assert!(matches!(store.create_session(&second).await, Err(StoreError::NameTaken)));
    assert_eq!(store.session(second.id).await.unwrap(), None);
    assert!(store.create_session(&bobs).await.unwrap());
    assert_eq!((found("ann", "dev").await, found("bob", "dev").await), (Some(first.id), Some(bobs.id)));
    // A session that exists already is added all the same, and found by its id.
    assert!(store.put_session(&second).await.unwrap());
    assert_eq!(store.session(second.id).await.unwrap(), Some(second.clone()));
    assert_eq!(found("ann", "dev").await, Some(first.id));
    assert!(matches!(store.rename_session(second.id, Some("dev")).await, Err(StoreError::NameTaken)));
    assert!(store.rename_session(second.id, Some("other")).await.unwrap());
    assert_eq!(found("ann", "other").await, Some(second.id));
    assert!(store.end_session(first.id, NOW).await.unwrap());
    assert_eq!(found("ann", "dev").await, None, "the name of an ended session is free");
    assert!(store.rename_session(second.id, Some("dev")).await.unwrap());
    assert_eq!(found("ann", "dev").await, Some(second.id));
}

pub(crate) async fn sessions_are_found_by_a_prefix_of_their_ids(store: &dyn Store) {
    let with_id = |id: &str| SessionRow { id: format!("ses_{id:0<32}").parse().unwrap(), ..session() };
    for id in ["ab", "abf", "ac", "b"] {
        assert!(store.put_session(&with_id(id)).await.unwrap());
    }
    let count = async |prefix: &str| {
        let filter = SessionFilter { id_prefix: Some(format!("ses_{prefix}")), ..SessionFilter::default() };
        store.sessions(&filter, PageRequest::first(9)).await.unwrap().items.len()
    };
    assert_eq!((count("ab").await, count("abf").await, count("a").await), (2, 1, 3));
    assert_eq!((count("").await, count("c").await), (4, 0));
}
