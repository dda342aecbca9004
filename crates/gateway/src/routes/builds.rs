//! Builds: `POST /v1/sessions/build/cpp`, `/v1/sessions/{id}/builds` and their results.

mod build_bodies;

use std::sync::Arc;
use std::time::Duration;

use axum::Json as JsonBody;
use axum::extract::State;
use headwater_protocol::api::{ErrorBody, PageBody};
use headwater_protocol::{BuildId, SessionId};
use headwater_store::{BuildRow, Page, PageRequest};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::build_bodies::{BuildBody, BuildRequest, CompileCommand, CppRequest, compile_commands};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::http::extract::{NoQuery, Path, Query, long_poll};
use crate::http::idempotency::Keyed;
use crate::http::openapi::{
    Common, Conflict, IdempotencyKey, NamesSession, NotFound, SessionEnded, TakesJson, TakesKey,
};
use crate::http::paging::{InParts, PageQuery, page_body, page_request};
use crate::state::Gateway;

/// A request waits at most this long for its build. The build continues, and can be queried by its id.
const MAX_BUILD_WAIT: Duration = Duration::from_hours(1);
/// The number of a session's newest builds that the compilation database is made of.
const DATABASE_BUILDS: u32 = 32;
/// The maximum number of builds on a page: each may hold a megabyte of output.
const MAX_BUILDS_PER_PAGE: u32 = 100;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(build_cpp))
        .routes(routes!(build, list))
        .routes(routes!(commands))
        .routes(routes!(get))
        .routes(routes!(cancel))
}

/// Compiles and links C++ files of a session's workspace.
///
/// Responds when the build has ended, unless `"wait": false`. A build of the same files with the same
/// compiler and flags is taken from the cache (`"cached": true`).
#[utoipa::path(post, path = "/v1/sessions/build/cpp", operation_id = "buildCpp", tag = "builds",
    params(IdempotencyKey),
    request_body = CppRequest,
    responses(
        (status = 200, body = BuildBody), Common, TakesJson, TakesKey,
        (status = 404, body = ErrorBody, description = "no such session, or no such source"),
        (status = 409, body = ErrorBody, description = "the session has ended, or the output cannot be written"),
))]
async fn build_cpp(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    request: Keyed<CppRequest>,
) -> Result<JsonBody<BuildBody>, ApiError> {
    let Keyed { value, request_key } = request;
    let session = gateway.session_named(&who, Need::Write, &value.session_id).await?;
    let (wait, (spec, call)) = (value.wait, value.compiled()?);
    let row = gateway.compile(&who, session, spec, call, request_key).await?;
    let row = if wait { gateway.wait_for_build(row, MAX_BUILD_WAIT).await? } else { row };
    Ok(JsonBody(row.into()))
}

/// Builds C and C++ files, a `CMake` project, a makefile, or a source in another language in a session.
#[utoipa::path(post, path = "/v1/sessions/{id}/builds", operation_id = "createBuild", tag = "builds",
    params(
        ("id" = String, Path, description = "the session"),
        IdempotencyKey,
    ),
    request_body = BuildRequest,
    responses((status = 200, body = BuildBody), Common, NotFound, TakesJson, TakesKey, SessionEnded))]
async fn build(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    request: Keyed<BuildRequest>,
) -> Result<JsonBody<BuildBody>, ApiError> {
    let Keyed { value, request_key } = request;
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let wait = value.wait;
    let call = value.call()?;
    let row = if let Some(spec) = value.compiled()? {
        gateway.compile(&who, id, spec, call, request_key).await?
    } else {
        let cpus = gateway.store.session(id).await?.and_then(|row| row.spec.limits.cpus);
        let mut commanded = value.command(cpus, &gateway.config.build_path)?;
        commanded.spec.metadata.extend(call);
        let mut stored = serde_json::to_value(&value).unwrap_or_default();
        if let Some(stored) = stored.as_object_mut() {
            stored.insert("artifacts".to_owned(), commanded.artifacts.into());
            stored.insert("programs_in".to_owned(), commanded.programs_in.into());
        }
        gateway.needs(&commanded.tool).await?;
        gateway.build_in_session(&who, id, value.kind.name(), stored, commanded.spec, request_key).await?
    };
    let row = if wait { gateway.wait_for_build(row, MAX_BUILD_WAIT).await? } else { row };
    Ok(JsonBody(row.into()))
}

/// Lists the builds of a session, newest first, without their output.
#[utoipa::path(get, path = "/v1/sessions/{id}/builds", operation_id = "listBuilds", tag = "builds",
    params(("id" = String, Path, description = "the session"), PageQuery),
    responses((status = 200, body = PageBody<BuildBody>), Common, NamesSession))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    Query(query): Query<PageQuery>,
) -> Result<JsonBody<PageBody<BuildBody>>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let mut page = query.page()?;
    page.limit = page.limit.min(MAX_BUILDS_PER_PAGE);
    let found = build_rows(&gateway, &who, id, page).await?;
    let items = found.items.into_iter().map(|row| BuildBody::from(row).in_short()).collect();
    Ok(JsonBody(page_body(items, found.next)))
}

/// A page of a session's builds without their output, which lists do not contain.
async fn build_rows(
    gateway: &Gateway,
    who: &Identity,
    id: SessionId,
    page: PageRequest,
) -> Result<Page<BuildRow>, ApiError> {
    let _turn = gateway.quota.lists.acquire(&who.owner).await;
    let mut parts = InParts::new(page);
    while let Some(part) = parts.wanted() {
        let mut found = gateway.store.builds(id, part).await?;
        for result in found.items.iter_mut().filter_map(|row| row.result.as_mut()) {
            (result.stdout, result.stderr, result.diagnostics) = Default::default();
        }
        parts.add(found);
    }
    Ok(parts.page())
}

/// Returns the compilation database of a session: how its C and C++ sources were last compiled. It is limited
/// to about 4 MiB; the newest builds come first.
#[utoipa::path(get, path = "/v1/sessions/{id}/builds/compile-commands",
    operation_id = "getCompileCommands", tag = "builds",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = Vec<CompileCommand>, description = "a compilation database"), Common,
        NamesSession))]
async fn commands(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<Vec<CompileCommand>>, ApiError> {
    gateway.auth.may_use_session(&who, Need::Read, id).await?;
    let found = build_rows(&gateway, &who, id, page_request(Some(DATABASE_BUILDS), None)?).await?;
    Ok(JsonBody(compile_commands(&found.items)))
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GetQuery {
    /// Wait for the end of the build for up to this long (`10s`, `500ms`, `1m`), at most a minute.
    #[param(pattern = r"^[0-9]{1,6}(\.[0-9]{1,9})?(ms|s|m)?$")]
    wait: Option<String>,
}

/// Returns a build.
#[utoipa::path(get, path = "/v1/builds/{id}", operation_id = "getBuild", tag = "builds",
    params(("id" = String, Path, description = "the build"), GetQuery),
    responses((status = 200, body = BuildBody), Common, NotFound))]
async fn get(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<BuildId>,
    Query(query): Query<GetQuery>,
) -> Result<JsonBody<BuildBody>, ApiError> {
    let row = gateway.build_of(&who, Need::Read, id).await?;
    let wait = long_poll(query.wait.as_deref())?;
    Ok(JsonBody(gateway.wait_for_build(row, wait).await?.into()))
}

/// Cancels a build. Cancelling a build that has ended has no effect.
#[utoipa::path(post, path = "/v1/builds/{id}/cancel", operation_id = "cancelBuild", tag = "builds",
    params(("id" = String, Path, description = "the build")),
    responses(
        (status = 204, description = "it is being cancelled"), Common, NotFound, Conflict,
))]
async fn cancel(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<BuildId>,
) -> Result<axum::http::StatusCode, ApiError> {
    let row = gateway.build_of(&who, Need::Write, id).await?;
    if row.result.is_none() {
        let execution = id.execution();
        if let Err(error) = gateway.worker.cancel(execution, None).await
            && !crate::executions::recorder::is_missing(&error)
        {
            return Err(error.into());
        }
    }
    gateway.audit.record(&who, "build.cancel", id.to_string(), String::new());
    Ok(axum::http::StatusCode::NO_CONTENT)
}
