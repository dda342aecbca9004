//! The head of the OpenAPI document: title, servers, tags, and how callers are identified.

use headwater_protocol::api::{ErrorBody, PathEncoding};
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};

use crate::auth::COOKIE;
use crate::streams::sse::Until;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Headwater",
        description = "Runs code in isolated sessions and streams its output.\n\n\
            Every error has the form of the schema `Error`. `/v1/...`, `/api/...` and `/api/v1/...` are the same \
            routes.",
    ),
    servers((url = "/", description = "the server that returned this document")),
    security(("token" = []), ("cookie" = [])),
    tags(
        (name = "sessions", description = "Isolated environments, each with its own workspace."),
        (name = "executions", description = "Programs, shell commands and code that run in sessions."),
        (name = "streams", description = "The output of executions: as events, as bytes, and by WebSocket."),
        (name = "terminals", description = "Shells of sessions that keep running when their viewers leave."),
        (name = "files", description = "Single files and folders of a workspace."),
        (name = "trees", description = "Whole trees of files: archives, searches, watches, snapshots and forks."),
        (name = "builds", description = "Builds of C, C++ and other languages, with a cache."),
        (name = "packages", description = "The packages of Python and Node in a session."),
        (name = "editor", description = "The routes of a code editor, in JSON, for sessions by id or name."),
        (name = "tools", description = "The tools of an agent, and the progress of their calls."),
        (name = "conversations", description = "Conversations with an agent that works in a session."),
        (name = "chat", description = "AI SDK front ends: conversations as UI message streams, and results that a client ran itself."),
        (name = "sharing", description = "Members of sessions, and links to them."),
        (name = "users", description = "Users, and how they sign in and out."),
        (name = "tokens", description = "API tokens."),
        (name = "server", description = "The server itself: health, metrics, usage, audit log."),
    ),
    // Types that only parameters and shared responses refer to.
    components(schemas(ErrorBody, PathEncoding, Until))
)]
struct Head;

/// The document without its routes.
pub(crate) fn head() -> utoipa::openapi::OpenApi {
    let mut document = Head::openapi();
    let components = document.components.get_or_insert_default();
    let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("token", token);
    let cookie = ApiKeyValue::with_description(COOKIE, "set by signing in with a browser");
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    document
}
