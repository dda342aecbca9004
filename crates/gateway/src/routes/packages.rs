//! Packages of a session: its virtual environment for python, its node modules.
//!
//! What is installed is read from the session's files; whatever changes it is an execution in the session, with its
//! output and its end like any other.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_contract::v1::{Ecosystem, ListPackagesResponse};
use headwater_protocol::api::{ErrorBody, ExecutionBody};
use headwater_protocol::{Command, ExecutionId, Network, SessionId, StartSpec};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::bodies::execution_body;
use crate::error::ApiError;
use crate::executions::start::Order;
use crate::http::extract::{NoQuery, Path};
use crate::http::idempotency::{Asked, Keyed};
use crate::http::openapi::{Common, IdempotencyKey, NotFound, SessionEnded, TakesJson, TakesKey};
use crate::packages::{Kind, Wanted, change_node, change_python, make_environment};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(environment, make))
        .routes(routes!(python_packages, change_python_packages))
        .routes(routes!(node_packages, change_node_packages))
}

/// A session's virtual environment.
#[derive(Debug, Serialize, ToSchema)]
struct EnvironmentBody {
    /// Where it is, as seen inside the session.
    path: String,
    /// Whether it is there. Python code of the session runs in it then.
    exists: bool,
    /// Python's version in it.
    version: Option<String>,
    /// What makes it, if that was started just now.
    #[schema(value_type = Option<String>)]
    execution_id: Option<ExecutionId>,
}

/// What is installed.
#[derive(Debug, Serialize, ToSchema)]
struct PackagesBody {
    /// Where, as seen inside the session.
    path: String,
    /// Whether the environment is there.
    exists: bool,
    /// By name.
    packages: Vec<PackageBody>,
    /// There are more than are told.
    truncated: bool,
}

/// A package.
#[derive(Debug, Serialize, ToSchema)]
struct PackageBody {
    /// As it calls itself.
    name: String,
    /// Likewise.
    version: String,
}

/// Tells of a session's virtual environment.
#[utoipa::path(get, path = "/v1/sessions/{id}/python/environment", tag = "packages",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = EnvironmentBody), Common, NotFound, SessionEnded))]
async fn environment(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<EnvironmentBody>, ApiError> {
    let listed = installed(&gateway, &who, id, Ecosystem::Python).await?;
    Ok(JsonBody(environment_body(listed, None)))
}

/// Makes a session's virtual environment, if it is not there: in an execution, whose end tells that it is ready.
#[utoipa::path(post, path = "/v1/sessions/{id}/python/environment", tag = "packages",
    params(("id" = String, Path, description = "the session")),
    responses(
        (status = 200, body = EnvironmentBody, description = "it is there"),
        (status = 201, body = EnvironmentBody, description = "it is being made by this execution",
            headers(("Location" = String, description = "where the execution is"))),
        Common, NotFound, SessionEnded,
))]
async fn make(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<Response, ApiError> {
    gateway.auth.may_use_session(&who, Need::Write, id).await?;
    let listed = installed(&gateway, &who, id, Ecosystem::Python).await?;
    if listed.exists {
        return Ok(JsonBody(environment_body(listed, None)).into_response());
    }
    let script = make_environment(&interpreter(&gateway, "python").await?);
    let order = Order { session: Some(id), spec: shell(script), asked: Asked::default() };
    let told = gateway.starts.start(&who, order).await?;
    let body = JsonBody(environment_body(listed, Some(told.id)));
    Ok((StatusCode::CREATED, [(header::LOCATION, place(told.id))], body).into_response())
}

/// Lists the packages of a session's virtual environment. Nothing is run for it.
#[utoipa::path(get, path = "/v1/sessions/{id}/python/packages", tag = "packages",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = PackagesBody), Common, NotFound, SessionEnded))]
async fn python_packages(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<PackagesBody>, ApiError> {
    Ok(JsonBody(packages_body(installed(&gateway, &who, id, Ecosystem::Python).await?)))
}

/// Lists the modules in a session's `node_modules`. Nothing is run for it.
#[utoipa::path(get, path = "/v1/sessions/{id}/node/packages", tag = "packages",
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = PackagesBody), Common, NotFound, SessionEnded))]
async fn node_packages(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
) -> Result<JsonBody<PackagesBody>, ApiError> {
    Ok(JsonBody(packages_body(installed(&gateway, &who, id, Ecosystem::Node).await?)))
}

/// What to change in a session's virtual environment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PythonRequest {
    /// Packages (`requests`, `requests==2.32.0`, `a[b]>=1,<2`) or paths in the workspace (`./tiny-1.0-py3-none-any.whl`).
    #[serde(default)]
    #[schema(max_items = 200)]
    install: Vec<String>,
    /// Names of packages; they go first.
    #[serde(default)]
    #[schema(max_items = 200)]
    uninstall: Vec<String>,
    /// A file in the workspace that names packages.
    #[serde(default)]
    requirements: Option<String>,
    /// Registries are left alone: what is named must be found without them.
    #[serde(default)]
    offline: bool,
}

/// Installs and uninstalls packages in a session's virtual environment, which is made first if it is not there.
#[utoipa::path(post, path = "/v1/sessions/{id}/python/packages", tag = "packages",
    params(
        ("id" = String, Path, description = "the session"),
        IdempotencyKey,
    ),
    request_body = PythonRequest,
    responses(
        (status = 201, body = ExecutionBody, description = "the execution that does it",
            headers(("Location" = String, description = "where it is"))),
        Common, NotFound, TakesJson, TakesKey,
        (status = 409, body = ErrorBody, description = "the session has ended, or reaches no registry"),
))]
async fn change_python_packages(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    request: Keyed<PythonRequest>,
) -> Result<Response, ApiError> {
    let Keyed { value, asked } = request;
    let PythonRequest { install, uninstall, requirements: listed_in, offline: is_offline } = value;
    let wanted = Wanted { install, uninstall, listed_in, is_offline };
    let wanted = may_change(&gateway, &who, id, wanted, Kind::Python).await?;
    let script = change_python(&interpreter(&gateway, "python").await?, &wanted);
    change(&gateway, &who, Order { session: Some(id), spec: shell(script), asked }).await
}

/// What to change in a session's `node_modules`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NodeRequest {
    /// Packages (`left-pad`, `left-pad@1.3.0`, `@scope/name@^2`) or paths in the workspace (`./tiny-1.0.0.tgz`).
    #[serde(default)]
    #[schema(max_items = 200)]
    install: Vec<String>,
    /// Names of packages; they go first.
    #[serde(default)]
    #[schema(max_items = 200)]
    uninstall: Vec<String>,
    /// Install what `package.json` in the workspace names.
    #[serde(default)]
    manifest: bool,
    /// Registries are left alone: what is named must be found without them.
    #[serde(default)]
    offline: bool,
}

/// Installs and uninstalls packages in a session's `node_modules`.
#[utoipa::path(post, path = "/v1/sessions/{id}/node/packages", tag = "packages",
    params(
        ("id" = String, Path, description = "the session"),
        IdempotencyKey,
    ),
    request_body = NodeRequest,
    responses(
        (status = 201, body = ExecutionBody, description = "the execution that does it",
            headers(("Location" = String, description = "where it is"))),
        Common, NotFound, TakesJson, TakesKey,
        (status = 409, body = ErrorBody, description = "the session has ended, or reaches no registry"),
))]
async fn change_node_packages(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    request: Keyed<NodeRequest>,
) -> Result<Response, ApiError> {
    let Keyed { value, asked } = request;
    let NodeRequest { install, uninstall, manifest, offline: is_offline } = value;
    let listed_in = manifest.then(|| "package.json".to_owned());
    let wanted = Wanted { install, uninstall, listed_in, is_offline };
    let wanted = may_change(&gateway, &who, id, wanted, Kind::Node).await?;
    interpreter(&gateway, "node").await?;
    let script = change_node(&wanted);
    change(&gateway, &who, Order { session: Some(id), spec: shell(script), asked }).await
}

/// Checks who asks, for what, and whether the session can reach what that takes.
async fn may_change(
    gateway: &Gateway,
    who: &Identity,
    id: SessionId,
    wanted: Wanted,
    kind: Kind,
) -> Result<Wanted, ApiError> {
    gateway.auth.may_use_session(who, Need::Write, id).await?;
    let wanted = wanted.checked(kind).map_err(|why| {
        ApiError::invalid(why).hint(
            "name packages as in `requests==2.32.0` or `left-pad@1.3.0`, or files as in `./dist/mine.whl`",
        )
    })?;
    let session = gateway.look_at_session(who, id).await?;
    let has_none = session.spec.network == Network::None;
    if wanted.needs_network() && has_none {
        return Err(ApiError::conflict(
            format!("the session `{id}` reaches no package registry"),
            "make a session with `\"network\": \"packages\"`, or install from files: `./dist/mine.whl`, `\"offline\": true`",
        ));
    }
    // Where there is no registry none is asked: that would only take its time to fail.
    Ok(Wanted { is_offline: wanted.is_offline || has_none, ..wanted })
}

async fn change(gateway: &Arc<Gateway>, who: &Identity, order: Order) -> Result<Response, ApiError> {
    let told = gateway.starts.start(who, order).await?;
    let location = [(header::LOCATION, place(told.id))];
    Ok((StatusCode::CREATED, location, JsonBody(execution_body(told))).into_response())
}

async fn installed(
    gateway: &Gateway,
    who: &Identity,
    id: SessionId,
    ecosystem: Ecosystem,
) -> Result<ListPackagesResponse, ApiError> {
    gateway.auth.may_use_session(who, Need::Read, id).await?;
    Ok(gateway.worker.packages(id, ecosystem).await?)
}

/// The interpreter of a language, which must be here.
async fn interpreter(gateway: &Gateway, name: &str) -> Result<String, ApiError> {
    let known = gateway.language_named(name).await?;
    let package = known.as_ref().and_then(|known| known.package.clone());
    known.and_then(|known| known.interpreter).ok_or_else(|| {
        let message = format!("the language `{name}` is not installed on this server");
        ApiError::invalid(message).hint(format!("apt-get install {}", package.as_deref().unwrap_or(name)))
    })
}

fn shell(script: String) -> StartSpec {
    StartSpec::new(Command::Shell(script))
}

fn place(id: ExecutionId) -> String {
    format!("/v1/executions/{id}")
}

fn environment_body(listed: ListPackagesResponse, execution_id: Option<ExecutionId>) -> EnvironmentBody {
    let ListPackagesResponse { exists, path, version, .. } = listed;
    EnvironmentBody { path, exists, version, execution_id }
}

fn packages_body(listed: ListPackagesResponse) -> PackagesBody {
    let ListPackagesResponse { exists, path, packages, cut, .. } = listed;
    let packages = packages.into_iter().map(|found| PackageBody { name: found.name, version: found.version });
    PackagesBody { path, exists, packages: packages.collect(), truncated: cut }
}
