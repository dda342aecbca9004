//! The table of all routes. `/v1/...`, `/api/...`, `/api/v1/...` and `/v1/v1/...` are the same routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use headwater_protocol::api::ErrorCode;
use utoipa_axum::router::OpenApiRouter;

use crate::auth::guard;
use crate::error::ApiError;
use crate::http::openapi;
use crate::routes;
use crate::routes::web_app;
use crate::state::Gateway;

/// Routes without authentication: health checks, sign-in, and the description of the API.
const PUBLIC_PATHS: [&str; 6] =
    ["/healthz", "/readyz", "/login", "/v1/login", "/v1/login/refresh", "/openapi.json"];

/// Whether a path needs no authentication.
pub(crate) fn is_public(path: &str) -> bool {
    PUBLIC_PATHS.contains(&path)
        || routes::oauth::PUBLIC_PATHS.contains(&path)
        || routes::home::is_live_page(path)
}

/// Whether the path accepts a token in the query string: streams that a browser opens without being able to
/// set a header.
pub(crate) fn takes_query_token(path: &str) -> bool {
    path.ends_with("/events")
        || path.ends_with("/attach")
        || is_terminal(path)
        || path.ends_with("/files/watch")
        || is_conversation_log(path)
        || is_chat_stream(path)
        || path.starts_with("/tool-progress/")
        || path.starts_with("/v1/tool-progress/")
}

/// Whether this is the log of a conversation, which is also a stream.
fn is_conversation_log(path: &str) -> bool {
    path.starts_with("/v1/conversations/") && path.ends_with("/log")
}

/// Whether this is a stream of AI SDK front ends, or their WebSocket.
fn is_chat_stream(path: &str) -> bool {
    path.starts_with("/v1/chat/") && (path.ends_with("/stream") || path == "/v1/chat/socket")
}

/// Whether this is the terminal's WebSocket, whose URL may carry a token or a JWT.
pub(crate) fn is_terminal(path: &str) -> bool {
    path.ends_with("/terminal")
}

fn all() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::with_openapi(openapi::head())
        .merge(routes::attach::routes())
        .merge(routes::audit::routes())
        .merge(routes::builds::routes())
        .merge(routes::chat::routes())
        .merge(routes::conversations::routes())
        .merge(routes::events::routes())
        .merge(routes::executions::routes())
        .merge(routes::feeds::routes())
        .merge(routes::files::routes())
        .merge(routes::health::routes())
        .merge(routes::home::routes())
        .merge(routes::editor::routes())
        .merge(routes::info::routes())
        .merge(routes::login::routes())
        .merge(routes::oauth::routes())
        .merge(routes::output::routes())
        .merge(routes::packages::routes())
        .merge(routes::ports::routes())
        .merge(routes::recordings::routes())
        .merge(routes::reports::routes())
        .merge(routes::sessions::routes())
        .merge(routes::rules::routes())
        .merge(routes::shares::routes())
        .merge(routes::templates::routes())
        .merge(routes::terminals::routes())
        .merge(routes::tokens::routes())
        .merge(routes::tool_progress::routes())
        .merge(routes::tools::routes())
        .merge(routes::workspace::routes())
        .merge(routes::usage::routes())
        .merge(routes::prune::routes())
        .merge(routes::users::routes())
        .merge(routes::web_app::routes())
}

/// The OpenAPI document of all routes.
pub(crate) fn openapi_document() -> utoipa::openapi::OpenApi {
    let mut document = all().into_openapi();
    openapi::complete(&mut document);
    document
}

/// The OpenAPI document of all routes, as JSON.
pub fn openapi_json() -> String {
    openapi_document().to_pretty_json().unwrap_or_default()
}

/// All routes, behind the guard.
pub(crate) fn router(gateway: &Arc<Gateway>) -> Router {
    let (router, _) = all().split_for_parts();
    router
        .merge(routes::mcp::routes(gateway))
        .fallback(no_such_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(gateway.config.max_body_bytes))
        .layer(from_fn_with_state(Arc::clone(gateway), guard))
        .with_state(Arc::clone(gateway))
}

/// A person gets the app, which says that there is no such page.
async fn no_such_route(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let headers = request.headers();
    if request.method() == Method::GET
        && web_app::takes_html(headers)
        && let Some(page) = web_app::page(&gateway, headers)
    {
        return (StatusCode::NOT_FOUND, page).into_response();
    }
    let path: String = request.uri().path().chars().take(128).collect();
    let message = format!("no route matches `{path}`");
    ApiError::new(ErrorCode::NoSuchRoute, message, "`/docs` lists all routes").into_response()
}

async fn wrong_method(request: Request) -> ApiError {
    let path: String = request.uri().path().chars().take(128).collect();
    ApiError::new(
        ErrorCode::MethodNotAllowed,
        format!("`{path}` does not take `{}`", request.method()),
        "the header `Allow` and `/docs` list the methods it takes",
    )
}

/// Rewrites the other spellings of a path to the one that is routed.
pub(crate) fn rewrite<B>(request: &mut axum::http::Request<B>) {
    let path = request.uri().path();
    // A development proxy that maps `/api` to `/v1` sends `/v1/v1/...` for `/api/v1/...`.
    let rest = match (path.strip_prefix("/api/"), path.strip_prefix("/v1/v1/")) {
        (Some(rest), _) => rest.strip_prefix("v1/").unwrap_or(rest),
        (None, Some(rest)) => rest,
        (None, None) => return,
    };
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let Ok(path) = PathAndQuery::try_from(format!("/v1/{rest}{query}")) else {
        return;
    };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(path);
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openapi_document_is_the_committed_one() {
        let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let document = openapi_json() + "\n";
        if std::env::var_os("UPDATE_OPENAPI").is_some() {
            std::fs::write(committed, &document).unwrap();
        }
        let is_same = std::fs::read_to_string(committed).is_ok_and(|committed| committed == document);
        assert!(is_same, "the API has changed: run `make openapi`, and commit docs/openapi.json for review");
    }

    #[test]
    fn all_spellings_of_a_path_lead_to_one() {
        for (requested, routed) in [
            ("/v1/sessions?limit=1", "/v1/sessions?limit=1"),
            ("/api/sessions?limit=1", "/v1/sessions?limit=1"),
            ("/api/v1/sessions", "/v1/sessions"),
            ("/v1/v1/sessions?limit=1", "/v1/sessions?limit=1"),
            ("/v1/v1", "/v1/v1"),
            ("/healthz", "/healthz"),
            ("/apis", "/apis"),
        ] {
            let mut request = axum::http::Request::builder().uri(requested).body(()).unwrap();
            rewrite(&mut request);
            assert_eq!(request.uri().to_string(), routed);
        }
    }
}
