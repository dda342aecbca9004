//! What every store must do: functions over `&dyn Store`, run on each database. Each gets an empty store.

pub(super) mod audit;
pub(super) mod builds;
pub(super) mod chat;
pub(super) mod conversations;
pub(super) mod execution_search;
pub(super) mod executions;
pub(super) mod grants;
pub(super) mod keys;
pub(super) mod retention;
pub(super) mod service;
pub(super) mod session_rules;
pub(super) mod sessions;
pub(super) mod shares;
pub(super) mod tickets;
pub(super) mod tokens;
pub(super) mod tool_calls;
pub(super) mod usage;
pub(super) mod users;

use std::fmt::Debug;

use crate::{Page, PageRequest, StoreError};

/// All rows, page by page; every page but the last is full.
async fn all_pages<T: Debug>(
    limit: u32,
    mut page: impl AsyncFnMut(PageRequest) -> Result<Page<T>, StoreError>,
) -> Vec<T> {
    let mut all = Vec::new();
    let mut request = PageRequest::first(limit);
    loop {
        let Page { items, next } = page(request).await.unwrap();
        assert!(items.len() == limit as usize || next.is_none(), "{items:?}");
        all.extend(items);
        if next.is_none() {
            return all;
        }
        request.cursor = next;
    }
}
