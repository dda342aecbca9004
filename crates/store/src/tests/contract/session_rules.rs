//! Tests of the rules of sessions.

use headwater_protocol::SessionId;
use serde_json::json;

use crate::tests::samples::{NOW, put_session};
use crate::{SessionRuleRow, Store, StoreError};

fn rule(session_id: SessionId, owner: &str, subject: &str) -> SessionRuleRow {
    SessionRuleRow {
        number: 0,
        session_id,
        owner: owner.into(),
        subject: subject.into(),
        rule: json!({"prefix": [subject], "action": "allow"}),
        created_at_ms: NOW,
    }
}

async fn subjects(store: &dyn Store, session: SessionId, owner: Option<&str>) -> Vec<String> {
    let rules = store.session_rules(session, owner).await.unwrap();
    rules.into_iter().map(|row| row.subject).collect()
}

pub(crate) async fn the_rules_of_a_session_are_of_their_owner_and_the_newest_about_the_same_holds(
    store: &dyn Store,
) {
    let (session, other) = (put_session(store).await, put_session(store).await);
    for row in [rule(session, "ada", "make"), rule(session, "bob", "make"), rule(session, "ada", "git")] {
        assert!(store.put_session_rule(&row, 10).await.unwrap());
    }
    let newer = SessionRuleRow { rule: json!({"prefix": ["make", "all"]}), ..rule(session, "ada", "make") };
    assert!(store.put_session_rule(&newer, 10).await.unwrap());
    assert_eq!(subjects(store, session, None).await, ["make", "git", "make"]);
    assert_eq!(subjects(store, session, Some("bob")).await, ["make"]);
    let own = store.session_rules(session, Some("ada")).await.unwrap();
    assert_eq!(own.last().map(|row| &row.rule), Some(&newer.rule));
    let number = own[0].number;
    assert!(!store.remove_session_rule(other, number).await.unwrap(), "it is of another session");
    assert!(store.remove_session_rule(session, number).await.unwrap());
    assert!(!store.remove_session_rule(session, number).await.unwrap());
    assert_eq!(subjects(store, session, Some("ada")).await, ["make"]);
    assert!(subjects(store, other, None).await.is_empty());
}

pub(crate) async fn the_rules_of_a_session_are_bounded_and_removed_with_it(store: &dyn Store) {
    let session = put_session(store).await;
    for subject in ["a", "b"] {
        assert!(store.put_session_rule(&rule(session, "ada", subject), 2).await.unwrap());
    }
    assert!(!store.put_session_rule(&rule(session, "bob", "c"), 2).await.unwrap());
    assert!(store.put_session_rule(&rule(session, "ada", "a"), 2).await.unwrap(), "it replaces one");
    assert_eq!(subjects(store, session, None).await, ["b", "a"]);
    store.remove_session(session).await.unwrap();
    assert!(subjects(store, session, None).await.is_empty());
    let late = store.put_session_rule(&rule(session, "ada", "a"), 2).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
}
