//! Tests of tokens.

use crate::tests::samples::{NOW, token};
use crate::{Role, Store, StoreError, TokenRow};

pub(crate) async fn a_token_is_found_by_its_hash_whatever_became_of_it(store: &dyn Store) {
    let rows = [
        token(1),
        TokenRow { role: Role::Admin, expires_at_ms: Some(1), ..token(2) },
        TokenRow { role: Role::Reader, revoked_at_ms: Some(2), ..token(3) },
    ];
    for row in &rows {
        assert!(store.put_token(row).await.unwrap());
    }
    for row in &rows {
        assert_eq!(store.token_by_hash(&row.hash).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(store.token_by_hash(&[9; 32]).await.unwrap(), None);
    assert!(!store.put_token(&TokenRow { hash: [9; 32], ..token(1) }).await.unwrap(), "the id is there");
    assert_eq!(store.token_by_hash(&[9; 32]).await.unwrap(), None);
}

pub(crate) async fn two_tokens_of_one_hash_are_refused(store: &dyn Store) {
    store.put_token(&token(1)).await.unwrap();
    let error = store.put_token(&TokenRow { hash: [1; 32], ..token(2) }).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert_eq!(store.tokens().await.unwrap(), [token(1)]);
}

pub(crate) async fn tokens_are_listed_in_the_order_they_came(store: &dyn Store) {
    let rows = [token(9), token(1), token(5)];
    for row in &rows {
        store.put_token(row).await.unwrap();
    }
    assert_eq!(store.tokens().await.unwrap(), rows);
}

pub(crate) async fn a_token_is_revoked_once(store: &dyn Store) {
    let row = token(1);
    store.put_token(&row).await.unwrap();
    assert!(store.revoke_token(&row.id, NOW + 1).await.unwrap());
    assert!(!store.revoke_token(&row.id, NOW + 2).await.unwrap());
    assert_eq!(store.token_by_hash(&row.hash).await.unwrap().unwrap().revoked_at_ms, Some(NOW + 1));
    assert!(!store.revoke_token("tok_unknown", NOW).await.unwrap());
}
