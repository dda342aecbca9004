//! Tests of removing rows that are no longer kept.

use headwater_protocol::{LogRemoved, StartSpec};

use super::all_pages;
use crate::tests::samples::{audit, end, execution, put, put_session, session, token};
use crate::{
    AuditFilter, AuditRow, AuditRules, ExecutionEnd, ExecutionRow, PageRequest, RemovedLogRow, RowRules,
    SessionRow, Store, TokenRow,
};

const DAY: u64 = 86_400_000;

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

fn removed(row: &ExecutionRow, at_ms: u64) -> RemovedLogRow {
    let removed = LogRemoved { at_ms, reason: "age".into() };
    RemovedLogRow { id: row.id, removed, spec: StartSpec::shell("short") }
}

pub(super) fn rules() -> RowRules {
    RowRules {
        keys_ms: u64::MAX >> 2,
        before_ms: None,
        of_owner: None,
        in_all: None,
        credentials_ms: None,
        usage_day: 0,
    }
}

/// Stores a closed execution.
async fn closed(store: &dyn Store, owner: &str) -> ExecutionRow {
    let session = put_session(store).await;
    let end = Some(ExecutionEnd { closed: true, ..end(3) });
    put(store, ExecutionRow { owner: owner.into(), end, ..execution(session) }).await
}

pub(crate) async fn a_removed_log_is_noted_once_and_shown_with_its_row(store: &dyn Store) {
    let row = closed(store, "ann").await;
    let session = put_session(store).await;
    let running = put(store, execution(session)).await;
    assert_eq!(store.execution(row.id).await.unwrap().unwrap().log_removed, None);
    store
        .note_removed_logs(&[removed(&row, 7), removed(&running, 7), removed(&execution(session), 7)])
        .await
        .unwrap();
    store.note_removed_logs(&[removed(&row, 9)]).await.unwrap();
    store.note_removed_logs(&[]).await.unwrap();
    let found = store.execution(row.id).await.unwrap().unwrap();
    assert_eq!(found.log_removed, Some(LogRemoved { at_ms: 7, reason: "age".into() }));
    assert_eq!((found.spec, found.end), (StartSpec::shell("short"), row.end));
    let found = store.execution(running.id).await.unwrap().unwrap();
    assert_eq!((found.log_removed, found.end), (None, None), "what runs has its log");
}

pub(crate) async fn rows_of_removed_logs_go_by_age_and_number_and_others_stay(store: &dyn Store) {
    let mut rows = Vec::new();
    for n in 0..6 {
        rows.push(closed(store, if n < 4 { "ann" } else { "bob" }).await);
    }
    let there = async || {
        let mut there = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            if store.execution(row.id).await.unwrap().is_some() {
                there.push(n);
            }
        }
        there
    };
    let noted: Vec<_> = [0, 1, 2, 4].iter().map(|n| removed(&rows[*n], 100 + *n as u64)).collect();
    store.note_removed_logs(&noted).await.unwrap();
    let kept_for_keys = RowRules { keys_ms: 0, before_ms: Some(1_000), ..rules() };
    store.remove_old_rows(&kept_for_keys).await.unwrap();
    assert_eq!(there().await.len(), 6, "a key may name them");
    store.remove_old_rows(&RowRules { before_ms: Some(101), ..rules() }).await.unwrap();
    assert_eq!(there().await, [1, 2, 3, 4, 5]);
    store.remove_old_rows(&RowRules { of_owner: Some(2), ..rules() }).await.unwrap();
    assert_eq!(there().await, [2, 3, 4, 5]);
    store.remove_old_rows(&RowRules { in_all: Some(1), ..rules() }).await.unwrap();
    assert_eq!(there().await, [3, 5], "those whose logs are kept stay, whatever the number");
}

pub(crate) async fn ended_sessions_without_executions_go_and_expired_tokens_do(store: &dyn Store) {
    let used = closed(store, "ann").await;
    store.end_session(used.session_id, 50).await.unwrap();
    let empty = SessionRow { ended_at_ms: Some(50), ..session() };
    let open = session();
    for row in [&empty, &open] {
        store.put_session(row).await.unwrap();
    }
    let expired = TokenRow { expires_at_ms: Some(50), ..token(1) };
    let revoked = TokenRow { revoked_at_ms: Some(50), ..token(2) };
    let good = TokenRow { expires_at_ms: None, revoked_at_ms: None, ..token(3) };
    for row in [&expired, &revoked, &good] {
        store.put_token(row).await.unwrap();
    }
    store.remove_old_rows(&RowRules { keys_ms: 50, ..rules() }).await.unwrap();
    assert!(store.session(empty.id).await.unwrap().is_some(), "it ended just now");
    store.remove_old_rows(&RowRules { keys_ms: 51, credentials_ms: Some(51), ..rules() }).await.unwrap();
    assert!(store.session(empty.id).await.unwrap().is_none());
    assert!(store.session(open.id).await.unwrap().is_some());
    assert!(store.session(used.session_id).await.unwrap().is_some());
    assert_eq!(store.tokens().await.unwrap(), [good]);
}

pub(crate) async fn old_audit_rows_go_by_age_and_number_and_recent_ones_never_do(store: &dyn Store) {
    let now = now();
    let at = |days: u64| AuditRow { at_ms: now - days * DAY, ..audit(days) };
    for days in [400, 300, 20, 10, 6, 1, 0] {
        store.append_audit(&at(days)).await.unwrap();
    }
    let days = async || {
        let rows =
            all_pages(10, async |page: PageRequest| store.audit(&AuditFilter::default(), page).await).await;
        rows.iter().map(|row| (now - row.at_ms) / DAY).collect::<Vec<_>>()
    };
    let none = AuditRules { now_ms: now, before_ms: None, rows: None };
    assert_eq!(store.remove_old_audit(&none).await.unwrap(), 0);
    let old = AuditRules { before_ms: Some(now - 365 * DAY), ..none };
    assert_eq!(store.remove_old_audit(&old).await.unwrap(), 1);
    assert_eq!(days().await, [0, 1, 6, 10, 20, 300]);
    let few = AuditRules { rows: Some(5), ..none };
    assert_eq!(store.remove_old_audit(&few).await.unwrap(), 1);
    // Whatever the rules say, and whatever the caller's clock says.
    let all = AuditRules { before_ms: Some(now), rows: Some(1), ..none };
    assert_eq!(store.remove_old_audit(&all).await.unwrap(), 2);
    assert_eq!(days().await, [0, 1, 6]);
    assert!(store.remove_old_audit(&AuditRules { now_ms: now + 100 * DAY, ..all }).await.is_err());
    assert_eq!(days().await, [0, 1, 6]);
}
