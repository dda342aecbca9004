//! Tests of usage.

use crate::Store;
use crate::tests::samples::{NOW, put_session};

pub(crate) async fn processor_time_adds_up_by_owner_and_day(store: &dyn Store) {
    assert_eq!(store.cpu_of_day("ada", 7).await.unwrap(), 0);
    for (owner, day, ms) in [("ada", 7, 10), ("ada", 7, 5), ("ada", 8, 1), ("bob", 7, 100)] {
        store.add_cpu(owner, day, ms).await.unwrap();
    }
    assert_eq!(store.cpu_of_day("ada", 7).await.unwrap(), 15);
    assert_eq!(store.cpu_of_day("ada", 8).await.unwrap(), 1);
    assert_eq!(store.cpu_of_day("bob", 7).await.unwrap(), 100);
}

pub(crate) async fn sessions_that_have_not_ended_are_counted(store: &dyn Store) {
    let (first, _) = (put_session(store).await, put_session(store).await);
    let owner = store.session(first).await.unwrap().unwrap().owner;
    assert_eq!(store.count_sessions(&owner).await.unwrap(), 2);
    store.end_session(first, NOW).await.unwrap();
    assert_eq!(store.count_sessions(&owner).await.unwrap(), 1);
    assert_eq!(store.count_sessions("nobody").await.unwrap(), 0);
}
