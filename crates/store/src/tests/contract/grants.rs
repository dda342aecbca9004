//! Tests of OAuth grants.

use crate::tests::samples::NOW;
use crate::{GrantRenewal, GrantRow, Role, Store};

fn grant(number: u8, owner: &str) -> GrantRow {
    GrantRow {
        id: format!("grn_{number}"),
        owner: owner.into(),
        role: Role::Member,
        client_id_hash: [7; 32],
        client_name: "a client".into(),
        scopes: vec!["files:read".into()],
        redirect_uri: "http://127.0.0.1/callback".into(),
        challenge: "challenge".into(),
        code_hash: [number; 32],
        code_expires_at_ms: NOW + 60,
        token_id: None,
        refresh_hash: None,
        used_refresh_hash: None,
        created_at_ms: NOW,
        expires_at_ms: NOW + 1000,
    }
}

fn renewal(number: u8) -> GrantRenewal {
    GrantRenewal { refresh_hash: [number; 32], at_ms: NOW + 1, expires_at_ms: NOW + 5000 }
}

pub(crate) async fn a_code_is_redeemed_once_and_a_refresh_token_replaced_once(store: &dyn Store) {
    store.put_grant(&grant(1, "ann"), 10).await.unwrap();
    assert_eq!(store.grant_by_code(&[1; 32]).await.unwrap(), Some(grant(1, "ann")));
    let (one, two) = (renewal(11), renewal(12));
    let (a, b) =
        tokio::join!(store.redeem_grant("grn_1", "tok_1", &one), store.redeem_grant("grn_1", "tok_2", &two));
    assert!(a.unwrap() != b.unwrap());
    let found = store.grant_by_code(&[1; 32]).await.unwrap().unwrap();
    let valid = found.refresh_hash.unwrap();
    assert_eq!((found.token_id.is_some(), found.expires_at_ms), (true, NOW + 5000));
    let (one, two) = (renewal(21), renewal(22));
    let (a, b) =
        tokio::join!(store.renew_grant("grn_1", &valid, &one), store.renew_grant("grn_1", &valid, &two));
    assert!(a.unwrap() != b.unwrap());
    let renewed = store.grant_by_refresh(&valid).await.unwrap().unwrap();
    assert_eq!(renewed.used_refresh_hash, Some(valid), "a used one is found, to recognise theft");
    let by_new = store.grant_by_refresh(&renewed.refresh_hash.unwrap()).await.unwrap();
    assert_eq!(by_new, Some(renewed));
    assert!(store.remove_grant("grn_1").await.unwrap() && !store.remove_grant("grn_1").await.unwrap());
    store.put_grant(&grant(2, "ann"), 10).await.unwrap();
    let late = GrantRenewal { at_ms: NOW + 60, ..renewal(1) };
    assert!(!store.redeem_grant("grn_2", "tok_3", &late).await.unwrap(), "the code has expired");
}

pub(crate) async fn grants_end_with_their_tokens_their_time_and_past_an_owners_number(store: &dyn Store) {
    store.put_grant(&GrantRow { expires_at_ms: NOW, ..grant(1, "ann") }, 3).await.unwrap();
    store.put_grant(&grant(9, "bob"), 3).await.unwrap();
    for number in 2..=5 {
        store.put_grant(&grant(number, "ann"), 3).await.unwrap();
    }
    let mut kept = Vec::new();
    for number in 1..=9 {
        if store.grant_by_code(&[number; 32]).await.unwrap().is_some() {
            kept.push(number);
        }
    }
    assert_eq!(kept, [3, 4, 5, 9]);
    assert!(store.redeem_grant("grn_5", "tok_5", &renewal(50)).await.unwrap());
    store.revoke_token("tok_5", NOW).await.unwrap();
    assert_eq!(store.grant_by_refresh(&[50; 32]).await.unwrap(), None);
}

pub(crate) async fn a_token_is_renewed_unless_it_is_revoked(store: &dyn Store) {
    let token = crate::tests::samples::token(1);
    store.put_token(&token).await.unwrap();
    assert!(store.renew_token(&token.id, &[42; 32], NOW + 99).await.unwrap());
    let found = store.token_by_hash(&[42; 32]).await.unwrap().unwrap();
    assert_eq!((found.id.as_str(), found.expires_at_ms), (token.id.as_str(), Some(NOW + 99)));
    assert_eq!(store.token_by_hash(&token.hash).await.unwrap(), None);
    store.revoke_token(&token.id, NOW).await.unwrap();
    assert!(!store.renew_token(&token.id, &[43; 32], NOW + 99).await.unwrap());
    assert!(!store.renew_token("tok_missing", &[44; 32], NOW + 99).await.unwrap());
}
