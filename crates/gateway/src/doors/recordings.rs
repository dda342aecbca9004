//! Any terminal or execution as an asciicast.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
}
