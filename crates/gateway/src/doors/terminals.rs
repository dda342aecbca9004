//! Terminals of a session: their list, and the WebSocket that speaks both dialects.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
}
