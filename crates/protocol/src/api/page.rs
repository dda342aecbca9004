//! Pages of lists.

use serde::{Deserialize, Serialize};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PageBody<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// The cursor of the next page (`cursor=`); absent on the last page.
    #[serde(default)]
    pub next_cursor: Option<String>,
}
