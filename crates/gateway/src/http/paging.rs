//! Paging of lists: the requested page, and the response.

use headwater_protocol::api::PageBody;
use headwater_store::{BuildRow, ExecutionRow, MAX_PAGE, Page, PageRequest, SessionRow, ToolCallRow};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::error::ApiError;

/// The number of items of a page if the request has no `limit`.
const DEFAULT: u32 = 100;

/// The query string of a list that can only be paged.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// The maximum number of items on a page: 100 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    #[param(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
}

impl PageQuery {
    /// The requested page.
    pub(crate) fn page(&self) -> Result<PageRequest, ApiError> {
        page_request(self.limit, self.cursor.as_deref())
    }
}

/// Checks the `limit` and `cursor` of a request.
pub(crate) fn page_request(limit: Option<u32>, cursor: Option<&str>) -> Result<PageRequest, ApiError> {
    let limit = limit.unwrap_or(DEFAULT);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(ApiError::invalid(format!("`limit` is `{limit}`: it must be from 1 to {MAX_PAGE}")));
    }
    let cursor = cursor.map(|text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or_else(|| {
            ApiError::invalid("`cursor` is not valid").hint("use `next_cursor` of the previous page")
        })
    });
    Ok(PageRequest { limit, cursor: cursor.transpose()? })
}

/// The number of rows that are read at once: each may hold megabytes that a list does not show.
const ROWS_AT_ONCE: u32 = 8;
/// A page ends with the part in which its rows reach this many bytes of JSON, so that even a page of large
/// rows has a few MiB at most.
const PAGE_BYTES: usize = 1 << 20;

/// A row of a list whose rows can be large.
pub(crate) trait Row {
    /// The approximate size of the row as JSON, in bytes.
    fn size(&self) -> usize;
}

impl Row for SessionRow {
    fn size(&self) -> usize {
        json_bytes(&self.spec)
    }
}

impl Row for ExecutionRow {
    fn size(&self) -> usize {
        json_bytes(&self.spec)
    }
}

impl Row for BuildRow {
    fn size(&self) -> usize {
        json_bytes(&self.request) + self.result.as_ref().map_or(0, |result| json_bytes(&result.artifacts))
    }
}

impl Row for ToolCallRow {
    fn size(&self) -> usize {
        json_bytes(&self.arguments) + self.result.as_ref().map_or(0, String::len)
    }
}

/// A page that is read in parts. It ends early if its rows are large; `next` is the cursor of the next page.
#[derive(Debug)]
pub(crate) struct InParts<T> {
    items: Vec<T>,
    next: Option<i64>,
    left: u32,
    bytes: usize,
    is_over: bool,
}

impl<T: Row> InParts<T> {
    /// Begins to read this page.
    pub(crate) const fn new(page: PageRequest) -> Self {
        Self { items: Vec::new(), next: page.cursor, left: page.limit, bytes: 0, is_over: false }
    }

    /// The part to read next, unless the page is complete.
    pub(crate) fn wanted(&self) -> Option<PageRequest> {
        (!self.is_over).then(|| PageRequest { limit: self.left.min(ROWS_AT_ONCE), cursor: self.next })
    }

    /// Adds the part that was wanted. A short part ends the page: a search looks at a bounded number of rows.
    pub(crate) fn add(&mut self, found: Page<T>) {
        let is_short = found.items.len() < self.left.min(ROWS_AT_ONCE) as usize;
        self.left = self.left.saturating_sub(ROWS_AT_ONCE);
        self.next = found.next;
        self.bytes += found.items.iter().map(Row::size).sum::<usize>();
        self.items.extend(found.items);
        self.is_over = self.next.is_none() || self.left == 0 || self.bytes >= PAGE_BYTES || is_short;
    }

    /// Returns the complete page.
    pub(crate) fn page(self) -> Page<T> {
        Page { items: self.items, next: self.next }
    }
}

/// The length of a value as JSON, in bytes.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting does not fail, and everything in the store can be written as JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The response for a page.
pub(crate) fn page_body<T>(items: Vec<T>, next: Option<i64>) -> PageBody<T> {
    PageBody { items, next_cursor: next.map(|next| next.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bounded_and_unknown_cursors_are_refused() {
        assert_eq!(page_request(None, None).unwrap(), PageRequest::first(100));
        assert_eq!(
            page_request(Some(1000), Some("42")).unwrap(),
            PageRequest { limit: 1000, cursor: Some(42) }
        );
        for (limit, cursor) in
            [(0, "1"), (1001, "1"), (1, ""), (1, "+1"), (1, "-1"), (1, "x"), (1, "99999999999999999999")]
        {
            let error = page_request(Some(limit), Some(cursor)).unwrap_err();
            assert_eq!(error.status, 400, "{limit} {cursor}");
        }
        assert_eq!(page_body(vec![()], Some(42)).next_cursor.as_deref(), Some("42"));
    }
}
