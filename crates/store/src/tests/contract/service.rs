//! Tests of the store as a whole.

use crate::tests::samples::{execution, put, put_session, session};
use crate::{ExecutionFilter, ExecutionRow, PageRequest, Store, StoreError};

pub(crate) async fn a_store_answers_until_it_is_closed(store: &dyn Store) {
    store.ping().await.unwrap();
    let id = put_session(store).await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    assert!(matches!(store.ping().await, Err(StoreError::Closed)));
    assert!(matches!(store.session(id).await, Err(StoreError::Closed)));
    assert!(matches!(store.put_session(&session()).await, Err(StoreError::Closed)));
}

pub(crate) async fn text_of_every_kind_survives(store: &dyn Store) {
    let session = put_session(store).await;
    let long = "x".repeat(1 << 20);
    for text in ["", " ", "'; DROP TABLE sessions; --", "$1", "?1", "🐟", &long] {
        let row = ExecutionRow { conversation_id: Some(text.into()), ..execution(session) };
        let row = put(store, row).await;
        let filter = ExecutionFilter { conversation_id: Some(text.into()), ..ExecutionFilter::default() };
        assert_eq!(store.executions(&filter, PageRequest::first(2)).await.unwrap().items, [row]);
    }
}
