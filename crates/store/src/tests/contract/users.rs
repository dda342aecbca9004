//! Tests of users and sign-ins.

use crate::tests::samples::{NOW, put_session, token};
use crate::{
    MemberRow, PageRequest, Role, SessionRole, ShareRow, SignInKind, SignInRow, Store, StoreError, TokenRow,
    UserChange, UserRow,
};

fn user(number: u8) -> UserRow {
    UserRow {
        id: format!("usr_{number:032x}"),
        name: format!("user{number}"),
        password: Some("$argon2id$".into()),
        role: Role::Member,
        disabled: false,
        created_at_ms: NOW,
    }
}

fn sign_in(number: u8, user: &UserRow) -> SignInRow {
    SignInRow {
        id: format!("sgn_{number:032x}"),
        kind: SignInKind::Refresh,
        hash: [number; 32],
        user_id: Some(user.id.clone()),
        stands_for: None,
        created_at_ms: NOW,
        expires_at_ms: NOW + 100,
    }
}

pub(crate) async fn a_user_is_found_by_its_id_and_its_name(store: &dyn Store) {
    let rows = [user(1), UserRow { password: None, disabled: true, role: Role::Admin, ..user(2) }];
    for row in &rows {
        assert!(store.put_user(row).await.unwrap());
        assert_eq!(store.user(&row.id).await.unwrap().as_ref(), Some(row));
        assert_eq!(store.user_by_name(&row.name).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(store.user("usr_unknown").await.unwrap(), None);
    assert_eq!(store.user_by_name("nobody").await.unwrap(), None);
    let page = store.users(PageRequest::first(1)).await.unwrap();
    assert_eq!(page.items, [rows[1].clone()]);
    let page = store.users(PageRequest { limit: 1, cursor: page.next }).await.unwrap();
    assert_eq!((page.items, page.next), (vec![rows[0].clone()], None));
}

pub(crate) async fn a_name_is_given_once(store: &dyn Store) {
    assert!(store.put_user(&user(1)).await.unwrap());
    assert!(!store.put_user(&UserRow { name: "user1".into(), ..user(2) }).await.unwrap());
    assert!(!store.put_user(&UserRow { name: "other".into(), ..user(1) }).await.unwrap());
    assert_eq!(store.users(PageRequest::first(9)).await.unwrap().items, [user(1)]);
}

pub(crate) async fn a_change_leaves_what_it_does_not_name(store: &dyn Store) {
    let row = user(1);
    store.put_user(&row).await.unwrap();
    store.put_sign_in(&sign_in(1, &row)).await.unwrap();
    let change = UserChange { role: Some(Role::Reader), ..UserChange::default() };
    assert!(store.update_user(&row.id, &change).await.unwrap());
    let now = store.user(&row.id).await.unwrap().unwrap();
    assert_eq!(now, UserRow { role: Role::Reader, ..row.clone() });
    assert!(store.sign_in("sgn_00000000000000000000000000000001").await.unwrap().is_some());
    let change = UserChange {
        password: Some("other".into()),
        disabled: Some(true),
        end_sign_ins: true,
        ..UserChange::default()
    };
    assert!(store.update_user(&row.id, &change).await.unwrap());
    let now = store.user(&row.id).await.unwrap().unwrap();
    assert_eq!((now.password.as_deref(), now.disabled, now.role), (Some("other"), true, Role::Reader));
    assert!(store.sign_in_by_hash(&[1; 32]).await.unwrap().is_none(), "its sign-ins ended with it");
    assert!(!store.update_user("usr_unknown", &change).await.unwrap());
}

pub(crate) async fn a_removed_user_takes_its_sign_ins_memberships_and_tokens_along(store: &dyn Store) {
    let (row, other) = (user(1), user(2));
    for row in [&row, &other] {
        store.put_user(row).await.unwrap();
    }
    store.put_sign_in(&sign_in(1, &row)).await.unwrap();
    store.put_sign_in(&sign_in(2, &other)).await.unwrap();
    store.put_token(&TokenRow { owner: row.name.clone(), ..token(1) }).await.unwrap();
    store.put_token(&TokenRow { owner: other.name.clone(), ..token(2) }).await.unwrap();
    let session_id = put_session(store).await;
    for member in [&row.name, &other.name] {
        let member =
            MemberRow { session_id, member: member.clone(), role: SessionRole::Viewer, added_at_ms: NOW };
        store.put_member(&member).await.unwrap();
    }
    for (number, made_by) in [(1, "User1"), (2, "user2")] {
        let share = ShareRow {
            id: format!("shr_{number:032x}"),
            session_id,
            role: SessionRole::Editor,
            hash: [number; 32],
            made_by: made_by.into(),
            created_at_ms: NOW,
            expires_at_ms: NOW + 100,
            revoked_at_ms: None,
        };
        store.put_share(&share).await.unwrap();
    }
    assert!(store.remove_user(&row, NOW + 5).await.unwrap());
    assert!(!store.remove_user(&row, NOW + 6).await.unwrap());
    assert!(store.sign_in_by_hash(&[1; 32]).await.unwrap().is_none());
    assert!(store.sign_in_by_hash(&[2; 32]).await.unwrap().is_some());
    let revoked: Vec<_> = store.tokens().await.unwrap().into_iter().map(|row| row.revoked_at_ms).collect();
    assert_eq!(revoked, [Some(NOW + 5), None]);
    for (number, revoked) in [(1, Some(NOW + 5)), (2, None)] {
        let share = store.share_by_hash(&[number; 32]).await.unwrap().unwrap();
        assert_eq!(share.revoked_at_ms, revoked, "{}", share.made_by);
    }
    let left: Vec<_> = store.members(session_id).await.unwrap().into_iter().map(|row| row.member).collect();
    assert_eq!(left, [other.name]);
}

pub(crate) async fn a_sign_in_is_found_by_its_secret_and_by_the_one_before(store: &dyn Store) {
    let owner = user(1);
    store.put_user(&owner).await.unwrap();
    let cookie = SignInRow {
        kind: SignInKind::Cookie,
        user_id: None,
        stands_for: Some([9; 32]),
        ..sign_in(2, &owner)
    };
    store.put_sign_in(&cookie).await.unwrap();
    assert_eq!(store.sign_in_by_hash(&[2; 32]).await.unwrap(), Some(cookie));
    let row = sign_in(1, &owner);
    store.put_sign_in(&row).await.unwrap();
    let error = store.put_sign_in(&SignInRow { id: "sgn_x".into(), ..row.clone() }).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert!(store.rotate_sign_in(&row.id, &[1; 32], &[3; 32], NOW + 500).await.unwrap());
    assert_eq!(store.sign_in_by_hash(&[1; 32]).await.unwrap(), None);
    let now = SignInRow { hash: [3; 32], expires_at_ms: NOW + 500, ..row.clone() };
    assert_eq!(store.sign_in_by_hash(&[3; 32]).await.unwrap(), Some(now.clone()));
    assert_eq!(store.sign_in_by_previous(&[1; 32]).await.unwrap(), Some(now));
    assert!(store.remove_sign_in(&row.id).await.unwrap() && !store.remove_sign_in(&row.id).await.unwrap());
    store.put_sign_in(&sign_in(7, &owner)).await.unwrap();
    assert_eq!(store.remove_sign_ins_of(&owner.id).await.unwrap(), 1);
}

pub(crate) async fn of_many_that_rotate_one_secret_one_does(store: &dyn Store) {
    let owner = user(1);
    store.put_user(&owner).await.unwrap();
    let row = sign_in(1, &owner);
    store.put_sign_in(&row).await.unwrap();
    let targets: Vec<[u8; 32]> = (10..30).map(|number| [number; 32]).collect();
    let tries = targets.iter().map(|to| store.rotate_sign_in(&row.id, &[1; 32], to, NOW));
    let done = futures_util::future::join_all(tries).await;
    assert_eq!(done.into_iter().filter(|done| *done.as_ref().unwrap()).count(), 1);
}

pub(crate) async fn old_sign_ins_are_forgotten(store: &dyn Store) {
    let owner = user(1);
    store.put_user(&owner).await.unwrap();
    store.put_sign_in(&sign_in(1, &owner)).await.unwrap();
    store.put_sign_in(&SignInRow { expires_at_ms: NOW + 200, ..sign_in(2, &owner) }).await.unwrap();
    assert_eq!(store.forget_sign_ins(NOW + 150).await.unwrap(), 1);
    assert!(store.sign_in_by_hash(&[2; 32]).await.unwrap().is_some());
}

pub(crate) async fn a_token_tells_when_it_was_used(store: &dyn Store) {
    let scopes = Some(vec!["files:read".to_owned()]);
    let row = TokenRow { scopes, sessions: Some(vec![put_session(store).await]), ..token(1) };
    store.put_token(&row).await.unwrap();
    assert_eq!(store.token_by_hash(&row.hash).await.unwrap().as_ref(), Some(&row));
    store.touch_token(&row.id, NOW + 7).await.unwrap();
    let stored = store.token_by_hash(&row.hash).await.unwrap().unwrap();
    assert_eq!(stored, TokenRow { last_used_at_ms: Some(NOW + 7), ..row });
}
