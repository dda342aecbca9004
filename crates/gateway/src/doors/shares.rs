//! Who else may use a session: members with roles, and links.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
}
