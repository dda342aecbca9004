//! Tests of the history of tool calls.

use headwater_protocol::{ExecutionId, SessionId};
use serde_json::json;

use super::all_pages;
use super::retention::rules;
use crate::tests::samples::{NOW, put_session};
use crate::{PageRequest, RowRules, Store, StoreError, ToolCallRow};

fn call(session_id: SessionId, owner: &str, number: u32) -> ToolCallRow {
    ToolCallRow {
        session_id,
        owner: owner.into(),
        caller: "bob".into(),
        agent: "default".into(),
        conversation_id: Some("talk".into()),
        tool_call_id: None,
        tool: "exec_command".into(),
        arguments: Some(json!({"cmd": format!("echo {number}")})),
        result: Some(number.to_string()),
        is_error: number.is_multiple_of(2),
        executions: vec![ExecutionId::random()],
        called_at_ms: NOW + u64::from(number),
        duration_ms: 12,
    }
}

async fn results(store: &dyn Store, session: SessionId) -> Vec<String> {
    let calls = all_pages(3, async |page| store.tool_calls(session, page).await).await;
    calls.into_iter().filter_map(|row| row.result).collect()
}

pub(crate) async fn the_calls_of_a_session_come_newest_first_page_by_page(store: &dyn Store) {
    let (session, other) = (put_session(store).await, put_session(store).await);
    let left =
        ToolCallRow { arguments: None, result: None, executions: Vec::new(), ..call(session, "ada", 0) };
    let mut expected = vec![left];
    expected.extend((1..7).map(|number| call(session, "ada", number)));
    for row in &expected {
        store.put_tool_call(row).await.unwrap();
        store.put_tool_call(&call(other, "ada", 9)).await.unwrap();
    }
    expected.reverse();
    for limit in [1, 3, 7, 8] {
        assert_eq!(all_pages(limit, async |page| store.tool_calls(session, page).await).await, expected);
    }
}

pub(crate) async fn the_calls_of_a_session_are_removed_with_it(store: &dyn Store) {
    let session = put_session(store).await;
    store.put_tool_call(&call(session, "ada", 1)).await.unwrap();
    store.remove_session(session).await.unwrap();
    assert_eq!(store.tool_calls(session, PageRequest::first(10)).await.unwrap().items, []);
    let late = store.put_tool_call(&call(session, "ada", 2)).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
}

pub(crate) async fn old_calls_of_an_owner_are_removed_by_number_and_by_age(store: &dyn Store) {
    let (session, other) = (put_session(store).await, put_session(store).await);
    for number in 1..=6 {
        store.put_tool_call(&call(session, "ada", number)).await.unwrap();
        store.put_tool_call(&call(other, "bob", number)).await.unwrap();
    }
    assert_eq!(store.trim_tool_calls("ada", 10).await.unwrap(), 0);
    assert_eq!(store.trim_tool_calls("ada", 4).await.unwrap(), 2);
    assert_eq!(results(store, session).await, ["6", "5", "4", "3"]);
    assert_eq!(results(store, other).await.len(), 6);
    store.remove_old_rows(&RowRules { of_owner: Some(3), ..rules() }).await.unwrap();
    assert_eq!((results(store, session).await.len(), results(store, other).await.len()), (3, 3));
    store.remove_old_rows(&RowRules { before_ms: Some(NOW + 6), ..rules() }).await.unwrap();
    assert_eq!((results(store, session).await, results(store, other).await.len()), (vec!["6".to_owned()], 1));
    store.remove_old_rows(&RowRules { in_all: Some(1), ..rules() }).await.unwrap();
    assert_eq!(results(store, session).await.len() + results(store, other).await.len(), 1);
}
