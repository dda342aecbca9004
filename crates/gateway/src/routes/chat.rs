//! Chats of AI SDK front ends: the UI message stream of conversations, and the results that a front end ran itself.
//!
//! 1. [`request`] is what a client sends, over HTTP or as a frame of the socket.
//! 2. [`respond`] does it, and returns the stream of the response.
//! 3. [`door`] has the routes, [`socket`] the WebSocket.

mod door;
mod executions;
mod files;
mod request;
mod respond;
mod socket;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    executions::routes().merge(door::routes()).merge(socket::routes())
}
