//! Lists, a page at a time.

use serde::{Deserialize, Serialize};

/// A page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PageBody<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins (`cursor=`); absent on the last one.
    #[serde(default)]
    pub next_cursor: Option<String>,
}
