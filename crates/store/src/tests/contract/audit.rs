//! Audit rows.

use super::all_pages;
use crate::tests::samples::{audit, put_session, session};
use crate::{AuditRow, Store};

pub(crate) async fn audit_rows_come_newest_first_page_by_page(store: &dyn Store) {
    for number in 0..7 {
        store.append_audit(&audit(number)).await.unwrap();
    }
    let expected: Vec<_> = (0..7).rev().map(audit).collect();
    for limit in [1, 3, 7, 8] {
        assert_eq!(all_pages(limit, async |page| store.audit(page).await).await, expected, "{limit}");
    }
}

pub(crate) async fn audit_rows_outlive_what_they_name(store: &dyn Store) {
    let id = put_session(store).await;
    let row = AuditRow { object: id.to_string(), ..audit(1) };
    store.append_audit(&row).await.unwrap();
    store.append_audit(&row).await.unwrap();
    store.remove_session(id).await.unwrap();
    store.put_session(&session()).await.unwrap();
    assert_eq!(all_pages(10, async |page| store.audit(page).await).await, [row.clone(), row]);
}
