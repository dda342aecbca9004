//! Files of a workspace, one at a time, and the editor's three routes.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
}
