//! The table `audit`.

use super::{Columns, Select, Statement, page_size, time};
use crate::{AuditFilter, AuditRow, PageRequest, StoreError};

const COLUMNS: &str = "number, at_ms, owner, token_id, action, object, address, detail, result FROM audit";

pub(crate) fn append(row: &AuditRow) -> Statement {
    let values = [
        row.at_ms.into(),
        row.owner.as_str().into(),
        row.token_id.as_str().into(),
        row.action.as_str().into(),
        row.object.as_str().into(),
        row.address.as_str().into(),
        row.detail.as_str().into(),
        row.result.as_str().into(),
    ];
    Statement::new(
        "INSERT INTO audit (at_ms, owner, token_id, action, object, address, detail, result) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        values,
    )
}

pub(crate) fn list(filter: &AuditFilter, page: PageRequest) -> Statement {
    Select::new(COLUMNS)
        .when("owner =", filter.owner.as_deref())
        .when("action =", filter.action.as_deref())
        .when("object =", filter.object.as_deref())
        .when("result =", filter.result.as_deref())
        .when("at_ms >=", filter.since_ms)
        .when("at_ms <", filter.until_ms)
        .when("number <", page.cursor)
        .page("number DESC", page_size(page.limit) + 1)
}

/// Converts a row; returns its number, too.
pub(crate) fn read(row: &impl Columns) -> Result<(i64, AuditRow), StoreError> {
    let audit = AuditRow {
        at_ms: time(row, "at_ms")?,
        owner: row.some_text("owner")?,
        token_id: row.some_text("token_id")?,
        action: row.some_text("action")?,
        object: row.some_text("object")?,
        address: row.some_text("address")?,
        detail: row.some_text("detail")?,
        result: row.some_text("result")?,
    };
    Ok((row.some_number("number")?, audit))
}
