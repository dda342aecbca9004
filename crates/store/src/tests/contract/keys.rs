//! Tests of idempotency keys.

use futures_util::future::join_all;
use headwater_protocol::{ExecutionId, SessionId};

use crate::tests::samples::{NOW, key};
use crate::{Claim, KeyRow, Store};

pub(crate) async fn the_second_claim_learns_what_the_first_wrote(store: &dyn Store) {
    let mut hash = [0; 32];
    hash.iter_mut().zip(0_u8..).for_each(|(byte, n)| *byte = n * 8);
    let first = KeyRow {
        key: "k".into(),
        request_hash: hash,
        session: Some(SessionId::random()),
        ..key(ExecutionId::random())
    };
    assert_eq!(store.claim_key(&first).await.unwrap(), Claim::New);
    let second = KeyRow { key: "k".into(), request_hash: [1; 32], ..key(ExecutionId::random()) };
    assert_eq!(store.claim_key(&second).await.unwrap(), Claim::Known(first.clone()));
    assert_eq!(store.claim_key(&first).await.unwrap(), Claim::Known(first));
}

pub(crate) async fn owners_do_not_share_keys(store: &dyn Store) {
    let row = KeyRow { key: "k".into(), ..key("exe_1") };
    assert_eq!(store.claim_key(&row).await.unwrap(), Claim::New);
    assert_eq!(store.claim_key(&KeyRow { owner: "bob".into(), ..row }).await.unwrap(), Claim::New);
}

pub(crate) async fn of_fifty_parallel_claims_one_is_new(store: &dyn Store) {
    for round in 0..10 {
        let rows: Vec<_> =
            (0..50).map(|_| KeyRow { key: format!("k{round}"), ..key(ExecutionId::random()) }).collect();
        let claims = join_all(rows.iter().map(|row| store.claim_key(row))).await;
        let claims: Vec<_> = claims.into_iter().map(Result::unwrap).collect();
        let winners: Vec<_> =
            rows.iter().zip(&claims).filter(|(_, claim)| **claim == Claim::New).map(|(row, _)| row).collect();
        let [winner] = winners[..] else { panic!("{winners:?}") };
        let known = claims.iter().filter(|claim| **claim == Claim::Known(winner.clone())).count();
        assert_eq!(known, 49);
    }
}

pub(crate) async fn old_keys_are_forgotten_and_can_be_claimed_again(store: &dyn Store) {
    let old = [key("exe_1"), key("exe_2")];
    let new = KeyRow { created_at_ms: NOW + 10, ..key("exe_3") };
    for row in old.iter().chain([&new]) {
        store.claim_key(row).await.unwrap();
    }
    assert_eq!(store.forget_keys(NOW).await.unwrap(), 0);
    assert_eq!(store.forget_keys(NOW + 10).await.unwrap(), 2);
    assert_eq!(store.claim_key(&old[0]).await.unwrap(), Claim::New);
    assert_eq!(store.claim_key(&new).await.unwrap(), Claim::Known(new));
}

pub(crate) async fn a_key_names_its_object_and_the_session_of_that(store: &dyn Store) {
    let (execution, session, other) = (ExecutionId::random(), SessionId::random(), ExecutionId::random());
    let row = KeyRow { session: Some(session), ..key(execution) };
    assert!(!store.has_key(&execution.to_string()).await.unwrap());
    store.claim_key(&row).await.unwrap();
    assert!(store.has_key(&execution.to_string()).await.unwrap());
    assert!(store.has_key(&session.to_string()).await.unwrap());
    assert!(!store.has_key(&other.to_string()).await.unwrap());
    store.forget_keys(NOW + 1).await.unwrap();
    assert!(!store.has_key(&execution.to_string()).await.unwrap());
}
