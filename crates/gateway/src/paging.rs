//! Lists, a page at a time: what a client asks for, and how a page is told.

use headwater_protocol::api::PageBody;
use headwater_store::{MAX_PAGE, PageRequest};

use crate::error::ApiError;

/// How many are on a page, unless told.
const DEFAULT: u32 = 100;

/// The page that was asked for.
pub(crate) fn page_request(limit: Option<u32>, cursor: Option<&str>) -> Result<PageRequest, ApiError> {
    let limit = limit.unwrap_or(DEFAULT);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(ApiError::invalid(format!("`limit` is `{limit}`: it must be from 1 to {MAX_PAGE}")));
    }
    let cursor = cursor.map(|text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or_else(|| {
            ApiError::invalid("`cursor` is not one").hint("use `next_cursor` of the page before")
        })
    });
    Ok(PageRequest { limit, cursor: cursor.transpose()? })
}

/// A page as it is told.
pub(crate) fn page_body<T>(items: Vec<T>, next: Option<i64>) -> PageBody<T> {
    PageBody { items, next_cursor: next.map(|next| next.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bounded_and_cursors_are_those_that_were_given_out() {
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
