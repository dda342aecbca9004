//! Operations on a workspace as a whole: watch, search, archive, diff, snapshot, fork.

mod archive;
mod bodies;
mod diff;
mod fork;
mod search;
mod snapshots;
mod watch;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(watch::watch))
        .routes(routes!(search::search))
        .routes(routes!(archive::download, archive::upload, archive::import))
        .routes(routes!(diff::diff))
        .routes(routes!(snapshots::create, snapshots::list))
        .routes(routes!(snapshots::remove))
        .routes(routes!(snapshots::restore))
        .routes(routes!(fork::fork))
}
