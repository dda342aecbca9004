//! Tests of members and links.

use headwater_protocol::SessionId;

use crate::tests::samples::{NOW, execution, put, put_session, session};
use crate::{
    ExecutionFilter, MemberRow, PageRequest, SessionFilter, SessionRole, SessionRow, ShareRow, Store,
    StoreError,
};

fn member(session_id: SessionId, name: &str) -> MemberRow {
    MemberRow { session_id, member: name.into(), role: SessionRole::Viewer, added_at_ms: NOW }
}

fn share(session_id: SessionId, number: u8) -> ShareRow {
    ShareRow {
        id: format!("shr_{number:032x}"),
        session_id,
        role: SessionRole::Editor,
        hash: [number; 32],
        made_by: "ada".into(),
        created_at_ms: NOW,
        expires_at_ms: NOW + 100,
        revoked_at_ms: None,
    }
}

pub(crate) async fn a_member_is_found_and_its_role_changes(store: &dyn Store) {
    let id = put_session(store).await;
    store.put_member(&member(id, "bob")).await.unwrap();
    assert_eq!(store.member(id, "bob").await.unwrap(), Some(member(id, "bob")));
    let more = MemberRow { role: SessionRole::Editor, ..member(id, "bob") };
    store.put_member(&more).await.unwrap();
    store.put_member(&member(id, "ann")).await.unwrap();
    assert_eq!(store.members(id).await.unwrap(), [member(id, "ann"), more]);
    assert_eq!(store.member(id, "eve").await.unwrap(), None);
    assert!(store.remove_member(id, "bob").await.unwrap());
    assert!(!store.remove_member(id, "bob").await.unwrap());
    assert_eq!(store.member(id, "bob").await.unwrap(), None);
    let error = store.put_member(&member(SessionId::random(), "bob")).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
}

pub(crate) async fn sessions_are_found_by_their_members_and_among_some(store: &dyn Store) {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(put_session(store).await);
    }
    for id in [ids[0], ids[2], ids[4]] {
        store.put_member(&member(id, "bob")).await.unwrap();
        put(store, execution(id)).await;
    }
    let found = async |filter: SessionFilter, page: PageRequest| {
        let page = store.sessions(&filter, page).await.unwrap();
        (page.items.into_iter().map(|row: SessionRow| row.id).collect::<Vec<_>>(), page.next)
    };
    let shared = SessionFilter { member: Some("bob".into()), ..SessionFilter::default() };
    let (first, next) = found(shared.clone(), PageRequest::first(2)).await;
    assert_eq!(first, [ids[4], ids[2]]);
    assert_eq!(found(shared.clone(), PageRequest { limit: 2, cursor: next }).await, (vec![ids[0]], None));
    let among = SessionFilter { among: Some(vec![ids[1], ids[2]]), ..SessionFilter::default() };
    assert_eq!(found(among.clone(), PageRequest::first(9)).await.0, [ids[2], ids[1]]);
    let both = SessionFilter { member: Some("bob".into()), ..among };
    assert_eq!(found(both, PageRequest::first(9)).await.0, [ids[2]]);
    let none = SessionFilter { among: Some(Vec::new()), ..SessionFilter::default() };
    assert_eq!(found(none, PageRequest::first(9)).await.0, []);
    let among = ExecutionFilter { among: Some(vec![ids[1], ids[2]]), ..ExecutionFilter::default() };
    let page = store.executions(&among, PageRequest::first(9)).await.unwrap();
    assert_eq!(page.items.iter().map(|row| row.session_id).collect::<Vec<_>>(), [ids[2]]);
}

pub(crate) async fn a_link_is_found_by_its_hash_whatever_became_of_it(store: &dyn Store) {
    let (id, other) = (put_session(store).await, put_session(store).await);
    for number in [1, 2] {
        store.put_share(&share(id, number)).await.unwrap();
    }
    assert_eq!(store.share_by_hash(&[1; 32]).await.unwrap(), Some(share(id, 1)));
    assert_eq!(store.shares(id).await.unwrap(), [share(id, 1), share(id, 2)]);
    let first = share(id, 1).id;
    assert!(!store.revoke_share(other, &first, NOW + 1).await.unwrap(), "it is another session's");
    assert!(store.revoke_share(id, &first, NOW + 1).await.unwrap());
    assert!(!store.revoke_share(id, &first, NOW + 2).await.unwrap());
    let stored = store.share_by_hash(&[1; 32]).await.unwrap().unwrap();
    assert_eq!(stored.revoked_at_ms, Some(NOW + 1));
    assert_eq!(store.share_by_hash(&[9; 32]).await.unwrap(), None);
    let again = ShareRow { id: "shr_x".into(), ..share(id, 2) };
    assert!(matches!(store.put_share(&again).await.unwrap_err(), StoreError::Conflict { .. }));
}

pub(crate) async fn members_and_links_go_with_their_session(store: &dyn Store) {
    let row = session();
    store.put_session(&row).await.unwrap();
    store.put_member(&member(row.id, "bob")).await.unwrap();
    store.put_share(&share(row.id, 1)).await.unwrap();
    assert!(store.remove_session(row.id).await.unwrap());
    assert_eq!(store.member(row.id, "bob").await.unwrap(), None);
    assert_eq!(store.share_by_hash(&[1; 32]).await.unwrap(), None);
}
