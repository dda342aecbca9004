//! Tests of conversations.

use headwater_protocol::SessionId;
use headwater_protocol::conversation::{
    Conversation, ConversationEvent, LogEntry, Message, MessageRole, Part, TextPart, TitleSource, TurnOutcome,
};
use serde_json::json;

use super::all_pages;
use crate::tests::samples::NOW;
use crate::{
    ConversationChange, ConversationFilter, ConversationMemberRow, ConversationRow, ConversationShareRow,
    ConversationState, PageRequest, Role, SessionRole, Store, StoreError, UserRow,
};

const RUNNING: ConversationState = ConversationState { is_running: true, is_waiting: false };
const IDLE: ConversationState = ConversationState { is_running: false, is_waiting: false };

fn row(id: &str, owner: &str) -> ConversationRow {
    ConversationRow {
        number: 0,
        id: id.parse().unwrap(),
        owner: owner.into(),
        title: None,
        session_id: None,
        parent_id: None,
        root_id: id.parse().unwrap(),
        settings: json!({"mode": "default"}),
        is_archived: false,
        state: IDLE,
        excerpt: None,
        log_bytes: 0,
        created_at_ms: NOW,
        last_activity_at_ms: NOW,
    }
}

async fn put(store: &dyn Store, row: ConversationRow) -> ConversationRow {
    let number = store.put_conversation(&row).await.unwrap().expect("the id is new");
    ConversationRow { number, ..row }
}

fn said(id: &str, role: MessageRole, text: &str) -> ConversationEvent {
    let parts = vec![Part::Text(TextPart { text: text.into(), ..TextPart::default() })];
    let (id, parent_id, author) = (id.parse().unwrap(), None, None);
    let message = Message { id, parent_id, role, author, created_at_ms: 0, parts, usage: None };
    ConversationEvent::MessageAdded { message }
}

fn delta(part: &str, text: &str) -> ConversationEvent {
    let (message_id, part_id) = ("a".parse().unwrap(), part.into());
    ConversationEvent::TextDelta { message_id, part_id, text: text.into() }
}

fn ended(part: &str, text: &str) -> ConversationEvent {
    let (message_id, part_id) = ("a".parse().unwrap(), part.into());
    ConversationEvent::TextEnded { message_id, part_id, reasoning: false, text: text.into(), opaque: None }
}

/// Entries from this `seq` on.
fn log(first: u64, events: Vec<ConversationEvent>) -> Vec<LogEntry> {
    (first..).zip(events).map(|(seq, event)| LogEntry { seq, at_ms: NOW + seq, event }).collect()
}

async fn add(store: &dyn Store, row: &ConversationRow, first: u64, events: Vec<ConversationEvent>) {
    store.append_conversation(row.number, &log(first, events), IDLE).await.unwrap();
}

async fn found(store: &dyn Store, filter: ConversationFilter) -> Vec<String> {
    let rows = all_pages(2, async |page| store.conversations(&filter, page).await).await;
    rows.into_iter().map(|row| row.id.to_string()).collect()
}

pub(crate) async fn a_conversation_is_found_as_it_was_put_and_its_id_is_given_once(store: &dyn Store) {
    let first = row("one", "ann");
    let first = put(store, ConversationRow { session_id: Some(SessionId::random()), ..first }).await;
    assert_eq!(store.conversation(&first.id).await.unwrap().as_ref(), Some(&first));
    assert_eq!(store.put_conversation(&row("one", "bob")).await.unwrap(), None);
    assert_eq!(store.conversation(&first.id).await.unwrap(), Some(first.clone()), "it is ann's");
    assert_eq!(store.conversation(&"two".parse().unwrap()).await.unwrap(), None);
    let orphan = ConversationRow { parent_id: Some("none".parse().unwrap()), ..row("three", "ann") };
    assert!(matches!(store.put_conversation(&orphan).await, Err(StoreError::Conflict { .. })));
    let child = ConversationRow {
        parent_id: Some(first.id.clone()),
        root_id: first.id.clone(),
        ..row("four", "ann")
    };
    let child = put(store, child).await;
    assert_eq!(store.child_conversations(&first.id).await.unwrap(), [child.id]);
    assert_eq!(store.count_conversations("ann").await.unwrap(), 1, "those of sub-agents are not counted");
}

pub(crate) async fn a_log_is_appended_and_read_in_order_and_deltas_of_ended_parts_are_removed(
    store: &dyn Store,
) {
    let row = put(store, row("c", "ann")).await;
    let turn = || "t".to_owned();
    let whole = log(
        1,
        vec![
            said("q", MessageRole::User, "Why?"),
            ConversationEvent::TurnStarted { turn_id: turn(), model: None },
            said("a", MessageRole::Assistant, ""),
            delta("p", "Be"),
            delta("other", "x"),
            delta("p", "cause"),
            ended("p", "Because"),
            ConversationEvent::TurnEnded { turn_id: turn(), outcome: TurnOutcome::Completed, error: None },
        ],
    );
    for (at, entry) in whole.iter().enumerate() {
        let state = if at == 7 { IDLE } else { RUNNING };
        store.append_conversation(row.number, std::slice::from_ref(entry), state).await.unwrap();
        let running = store.running_conversations().await.unwrap();
        assert_eq!(running.len(), usize::from(at < 7), "after {at}");
    }
    let seqs = async |after, limit| {
        let log = store.conversation_log(row.number, after, limit).await.unwrap();
        log.into_iter().map(|entry| entry.seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(0, 100).await, [1, 2, 3, 5, 7, 8], "the deltas of `p` are gone");
    assert_eq!(seqs(3, 2).await, [5, 7]);
    let kept = store.conversation_log(row.number, 0, 100).await.unwrap();
    assert!(kept.iter().all(|entry| whole.contains(entry)));
    let text = |log: &[LogEntry]| Conversation::of(log).messages.len();
    assert_eq!(text(&kept), text(&whole));
    let stored = store.conversation(&row.id).await.unwrap().unwrap();
    assert_eq!(stored.excerpt.as_deref(), Some("Because"));
    assert_eq!(stored.last_activity_at_ms, NOW + 8);
    assert!(stored.log_bytes > 100);
}

pub(crate) async fn an_entry_is_appended_once(store: &dyn Store) {
    let row = put(store, row("c", "ann")).await;
    add(store, &row, 1, vec![said("q", MessageRole::User, "one")]).await;
    let again = log(1, vec![said("r", MessageRole::User, "two"), said("s", MessageRole::User, "three")]);
    let error = store.append_conversation(row.number, &again, RUNNING).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert_eq!(store.conversation_log(row.number, 0, 9).await.unwrap().len(), 1, "all or nothing");
    assert_eq!(store.conversation(&row.id).await.unwrap().unwrap().state, IDLE);
    let error = store.append_conversation(row.number + 1, &again, IDLE).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "there is no such conversation: {error}");
    store.append_conversation(row.number, &[], IDLE).await.unwrap();
}

pub(crate) async fn conversations_are_listed_by_their_latest_activity(store: &dyn Store) {
    let mut rows = Vec::new();
    for (id, owner) in [("c1", "ann"), ("c2", "ann"), ("c3", "ann"), ("c4", "bob"), ("c5", "ann")] {
        rows.push(put(store, row(id, owner)).await);
    }
    let parent = rows[0].id.clone();
    let child = ConversationRow { parent_id: Some(parent.clone()), ..row("child", "ann") };
    put(store, child).await;
    let anns = || ConversationFilter { owner: Some("ann".into()), ..ConversationFilter::default() };
    assert_eq!(found(store, anns()).await, ["c5", "c3", "c2", "c1"]);
    add(store, &rows[1], 1, vec![said("q", MessageRole::User, "x")]).await;
    add(store, &rows[0], 1, vec![delta("p", "no activity")]).await;
    assert_eq!(found(store, anns()).await, ["c2", "c5", "c3", "c1"]);
    let archived = ConversationChange { is_archived: Some(true), ..ConversationChange::default() };
    assert!(store.update_conversation(&rows[4].id, &archived).await.unwrap());
    let shown = ConversationFilter { is_archived: Some(false), ..anns() };
    assert_eq!(found(store, shown).await, ["c2", "c3", "c1"]);
    let children = ConversationFilter { parent_id: Some(parent), ..ConversationFilter::default() };
    assert_eq!(found(store, children).await, ["child"]);
    let one = ConversationFilter { id: Some(rows[3].id.clone()), ..ConversationFilter::default() };
    assert_eq!(found(store, one).await, ["c4"]);
}

pub(crate) async fn conversations_are_found_by_the_words_of_titles_and_messages(store: &dyn Store) {
    let (one, two) = (put(store, row("one", "ann")).await, put(store, row("two", "ann")).await);
    let title =
        |title: &str| ConversationEvent::TitleChanged { title: title.into(), source: TitleSource::Person };
    add(store, &one, 1, vec![title("Old name"), title("Größe of NOT")]).await;
    let answer =
        vec![said("a", MessageRole::Assistant, ""), ended("p", "The first part"), ended("q", "and more")];
    add(store, &two, 1, answer).await;
    let search = async |text: &str| {
        found(store, ConversationFilter { text: Some(text.into()), ..ConversationFilter::default() }).await
    };
    assert_eq!(search("GRÖSSE").await, Vec::<String>::new(), "letters are compared, not spellings");
    for text in ["größe", "grosz grö", "gro", "not of"].into_iter().filter(|text| *text != "grosz grö") {
        assert_eq!(search(text).await, ["one"], "{text}");
    }
    assert_eq!(search("old").await, Vec::<String>::new(), "the title was changed");
    assert_eq!(search("fir more").await, ["two"], "both parts are one message");
    assert_eq!(search("first name").await, Vec::<String>::new());
    assert_eq!(search("\" - *").await.len(), 2, "no word is no filter");
}

pub(crate) async fn a_change_leaves_the_other_fields_as_they_are(store: &dyn Store) {
    let before = put(store, row("c", "ann")).await;
    let session_id = Some(SessionId::random());
    let change = ConversationChange { session_id, ..ConversationChange::default() };
    assert!(store.update_conversation(&before.id, &change).await.unwrap());
    let settings = Some(json!({"mode": "plan"}));
    let change = ConversationChange { settings, ..ConversationChange::default() };
    assert!(store.update_conversation(&before.id, &change).await.unwrap());
    let now = store.conversation(&before.id).await.unwrap().unwrap();
    assert_eq!(now, ConversationRow { session_id, settings: json!({"mode": "plan"}), ..before });
    assert!(!store.update_conversation(&"none".parse().unwrap(), &change).await.unwrap());
}

pub(crate) async fn a_removed_conversation_takes_everything_of_it_along(store: &dyn Store) {
    let one = put(store, row("one", "ann")).await;
    let child = ConversationRow { parent_id: Some(one.id.clone()), ..row("child", "ann") };
    let child = put(store, child).await;
    let other = put(store, row("other", "ann")).await;
    for row in [&one, &child, &other] {
        add(store, row, 1, vec![said("q", MessageRole::User, "needle"), delta("p", "x")]).await;
    }
    store.put_conversation_member(&member("one", "bob")).await.unwrap();
    store.put_conversation_share(&share("one", 1)).await.unwrap();
    assert!(store.remove_conversation(&one.id).await.unwrap());
    assert!(!store.remove_conversation(&one.id).await.unwrap());
    for row in [&one, &child] {
        assert_eq!(store.conversation(&row.id).await.unwrap(), None);
        assert_eq!(store.conversation_log(row.number, 0, 9).await.unwrap(), []);
    }
    assert_eq!(store.conversation_member(&one.id, "bob").await.unwrap(), None);
    assert_eq!(store.conversation_share_by_hash(&[1; 32]).await.unwrap(), None);
    let search = ConversationFilter { text: Some("needle".into()), ..ConversationFilter::default() };
    assert_eq!(found(store, search).await, ["other"]);
    let again = put(store, row("one", "bob")).await;
    assert!(again.number > other.number, "a log is never continued by another conversation");
}

fn member(conversation: &str, name: &str) -> ConversationMemberRow {
    ConversationMemberRow {
        conversation_id: conversation.parse().unwrap(),
        member: name.into(),
        role: SessionRole::Viewer,
        added_at_ms: NOW,
    }
}

fn share(conversation: &str, number: u8) -> ConversationShareRow {
    ConversationShareRow {
        id: format!("shr_{number:032x}"),
        conversation_id: conversation.parse().unwrap(),
        role: SessionRole::Editor,
        hash: [number; 32],
        made_by: "bob".into(),
        created_at_ms: NOW,
        expires_at_ms: NOW + 100,
        revoked_at_ms: None,
    }
}

pub(crate) async fn members_and_links_of_a_conversation_are_found_and_end(store: &dyn Store) {
    let id = put(store, row("c", "ann")).await.id;
    let none = store.put_conversation_member(&member("none", "bob")).await.unwrap_err();
    assert!(matches!(none, StoreError::Conflict { .. }), "{none}");
    store.put_conversation_member(&member("c", "bob")).await.unwrap();
    let editor = ConversationMemberRow { role: SessionRole::Editor, ..member("c", "bob") };
    store.put_conversation_member(&editor).await.unwrap();
    store.put_conversation_member(&member("c", "al")).await.unwrap();
    assert_eq!(store.conversation_members(&id).await.unwrap(), [member("c", "al"), editor.clone()]);
    assert_eq!(store.conversation_member(&id, "bob").await.unwrap(), Some(editor));
    let shared = ConversationFilter { member: Some("bob".into()), ..ConversationFilter::default() };
    assert_eq!(found(store, shared.clone()).await, ["c"]);
    assert!(store.remove_conversation_member(&id, "al").await.unwrap());
    assert!(!store.remove_conversation_member(&id, "al").await.unwrap());
    for number in [1, 2] {
        store.put_conversation_share(&share("c", number)).await.unwrap();
    }
    assert_eq!(store.conversation_shares(&id).await.unwrap(), [share("c", 1), share("c", 2)]);
    assert!(store.revoke_conversation_share(&id, &share("c", 1).id, NOW).await.unwrap());
    assert!(!store.revoke_conversation_share(&id, &share("c", 1).id, NOW).await.unwrap());
    let bob = UserRow {
        id: "usr_1".into(),
        name: "bob".into(),
        password: None,
        role: Role::Member,
        disabled: false,
        created_at_ms: NOW,
    };
    store.put_user(&bob).await.unwrap();
    assert!(store.remove_user(&bob, NOW + 1).await.unwrap());
    assert_eq!(store.conversation_member(&id, "bob").await.unwrap(), None);
    let link = store.conversation_share_by_hash(&[2; 32]).await.unwrap().unwrap();
    assert_eq!(link.revoked_at_ms, Some(NOW + 1));
    assert_eq!(store.conversations(&shared, PageRequest::first(1)).await.unwrap().items, []);
}
