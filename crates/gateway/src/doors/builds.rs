//! Builds: `POST /v1/sessions/build/cpp`, `/v1/sessions/{id}/builds` and what became of them.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
}
