//! Tests of audit rows.

use super::all_pages;
use crate::tests::samples::{audit, put_session, session};
use crate::{AuditFilter, AuditRow, PageRequest, Store};

pub(crate) async fn audit_rows_come_newest_first_page_by_page(store: &dyn Store) {
    for number in 0..7 {
        store.append_audit(&audit(number)).await.unwrap();
    }
    let expected: Vec<_> = (0..7).rev().map(audit).collect();
    for limit in [1, 3, 7, 8] {
        assert_eq!(
            all_pages(limit, async |page| store.audit(&AuditFilter::default(), page).await).await,
            expected,
            "{limit}"
        );
    }
}

pub(crate) async fn audit_rows_outlive_what_they_name(store: &dyn Store) {
    let id = put_session(store).await;
    let row = AuditRow { object: id.to_string(), ..audit(1) };
    store.append_audit(&row).await.unwrap();
    store.append_audit(&row).await.unwrap();
    store.remove_session(id).await.unwrap();
    store.put_session(&session()).await.unwrap();
    assert_eq!(
        all_pages(10, async |page| store.audit(&AuditFilter::default(), page).await).await,
        [row.clone(), row]
    );
}

pub(crate) async fn audit_rows_are_found_by_who_what_and_when(store: &dyn Store) {
    let rows = [
        audit(0),
        AuditRow { owner: "bob".into(), at_ms: audit(0).at_ms + 10, ..audit(1) },
        AuditRow { action: "session.delete".into(), result: "denied".into(), ..audit(2) },
    ];
    for row in &rows {
        store.append_audit(row).await.unwrap();
    }
    let found = async |filter: AuditFilter| store.audit(&filter, PageRequest::first(10)).await.unwrap().items;
    let by = AuditFilter::default;
    let later = audit(0).at_ms + 5;
    assert_eq!(found(AuditFilter { owner: Some("bob".into()), ..by() }).await, [rows[1].clone()]);
    assert_eq!(found(AuditFilter { action: Some("session.delete".into()), ..by() }).await, [rows[2].clone()]);
    assert_eq!(found(AuditFilter { result: Some("denied".into()), ..by() }).await, [rows[2].clone()]);
    assert_eq!(found(AuditFilter { object: Some(rows[0].object.clone()), ..by() }).await, [rows[0].clone()]);
    assert_eq!(found(AuditFilter { since_ms: Some(later), ..by() }).await, [rows[1].clone()]);
    assert_eq!(found(AuditFilter { until_ms: Some(later), ..by() }).await.len(), 2);
}
