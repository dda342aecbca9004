//! Tests of results that chats save.

use crate::tests::samples::NOW;
use crate::{ChatExecutionRow, Store};

fn result(owner: &str, message: &str, execution: u32) -> ChatExecutionRow {
    ChatExecutionRow {
        owner: owner.into(),
        message_uuid: message.into(),
        artifact_uuid: "artifact".into(),
        execution_id: format!("e{execution}"),
        saved_at_ms: NOW + u64::from(execution),
        result: format!("{{\"n\":{execution}}}"),
    }
}

pub(crate) async fn a_message_has_its_results_in_order_and_each_once(store: &dyn Store) {
    assert_eq!(store.chat_executions("ann", "m", 10).await.unwrap(), []);
    for row in [result("ann", "m", 1), result("ann", "m", 2), result("ann", "n", 3), result("bob", "m", 4)] {
        store.put_chat_execution(&row, 10).await.unwrap();
    }
    let again = ChatExecutionRow { result: "{}".into(), ..result("ann", "m", 1) };
    store.put_chat_execution(&again, 10).await.unwrap();
    assert_eq!(store.chat_executions("ann", "m", 10).await.unwrap(), [again, result("ann", "m", 2)]);
    assert_eq!(store.chat_executions("ann", "m", 1).await.unwrap(), [result("ann", "m", 2)], "the newest");
}

pub(crate) async fn the_oldest_results_of_an_owner_past_its_number_are_removed(store: &dyn Store) {
    store.put_chat_execution(&result("bob", "m", 0), 3).await.unwrap();
    for execution in 1..=5 {
        store.put_chat_execution(&result("ann", "m", execution), 3).await.unwrap();
    }
    let kept = store.chat_executions("ann", "m", 10).await.unwrap();
    assert_eq!(kept, [3, 4, 5].map(|execution| result("ann", "m", execution)));
    assert_eq!(store.chat_executions("bob", "m", 10).await.unwrap().len(), 1);
}
