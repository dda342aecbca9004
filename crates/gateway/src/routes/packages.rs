//! Packages of a session: its virtual environment for python, its node modules.
//!
//! Installed packages are read from the session's files. A change is an execution in the session, with output
//! and an end like any other.

use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use headwater_contract::v1::{Ecosystem, ListPackagesResponse};
use headwater_protocol::api::{ErrorBody, ExecutionBody};
use headwater_protocol::{Command, ExecutionId, Network, SessionId, StartSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Identity, Need};
use crate::bodies::execution_body;
use crate::error::ApiError;
use crate::executions::start::ExecutionSpec;
use crate::executions::tool_call::ToolCall;
use crate::http::extract::{NoQuery, Path};
use crate::http::idempotency::{Keyed, RequestKey};
use crate::http::openapi::{Common, IdempotencyKey, NotFound, SessionEnded, TakesJson, TakesKey};
use crate::packages::{Kind, PackageChanges, change_node, change_python, make_environment};
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .routes(routes!(environment, make))
        .routes(routes!(python_packages, change_python_packages))
        .routes(routes!(node_packages, change_node_packages))
}

/// A session's virtual environment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PythonEnvironment)]
struct EnvironmentBody {
    /// The path inside the session.
    path: String,
    /// Whether it exists. If so, Python code of the session runs in it.
    exists: bool,
    /// The version of Python in it.
    version: Option<String>,
    /// The execution that creates it, if it was started by this request.
    #[schema(value_type = Option<String>)]
    execution_id: Option<ExecutionId>,
}

/// The installed packages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PackageList)]
struct PackagesBody {
    /// The path of the environment inside the session.
    path: String,
    /// Whether the environment exists.
    exists: bool,
    /// The packages, in order of their names.
    packages: Vec<PackageBody>,
    /// Whether there are more packages.
    truncated: bool,
}

/// An installed package.
#[derive(Debug, Serialize, ToSchema)]
struct PackageBody {
    /// The package's name, as the package manager writes it.
    name: String,
    /// The version that is installed.
    version: String,
}

/// Returns a session's virtual environment.
#[utoipa::path(get, path = "/v1/sessions/{id}/python/environment",
    operation_id = "getPythonEnvironment", tag = "packages",
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

/// Creates a session's virtual environment if it does not exist, in an execution: when that has ended, it is
/// ready.
#[utoipa::path(post, path = "/v1/sessions/{id}/python/environment",
    operation_id = "createPythonEnvironment", tag = "packages",
    params(("id" = String, Path, description = "the session")),
    responses(
        (status = 200, body = EnvironmentBody, description = "it exists"),
        (status = 201, body = EnvironmentBody, description = "this execution creates it",
            headers(("Location" = String, description = "the URL of the execution"))),
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
    let execution =
        ExecutionSpec { session: Some(id), spec: shell(script), request_key: RequestKey::default() };
    let started = gateway.starts.start(&who, execution).await?;
    let body = JsonBody(environment_body(listed, Some(started.id)));
    Ok((StatusCode::CREATED, [(header::LOCATION, location(started.id))], body).into_response())
}

/// Lists the packages of a session's virtual environment. Runs no program.
#[utoipa::path(get, path = "/v1/sessions/{id}/python/packages",
    operation_id = "listPythonPackages", tag = "packages",
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

/// Lists the modules in a session's `node_modules`. Runs no program.
#[utoipa::path(get, path = "/v1/sessions/{id}/node/packages",
    operation_id = "listNodePackages", tag = "packages",
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

/// Changes to a session's virtual environment.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"install": ["requests==2.32.3"]})))]
#[serde(deny_unknown_fields)]
struct PythonRequest {
    /// Packages (`requests`, `requests==2.32.3`, `a[b]>=1,<2`) or paths in the workspace (`./tiny-1.0-py3-none-any.whl`).
    #[serde(default)]
    #[schema(max_items = 200)]
    install: Vec<String>,
    /// Names of packages to uninstall first.
    #[serde(default)]
    #[schema(max_items = 200)]
    uninstall: Vec<String>,
    /// A requirements file in the workspace.
    #[serde(default)]
    requirements: Option<String>,
    /// Use no registry: the packages must be available without one.
    #[serde(default)]
    offline: bool,
    /// The conversation whose streams show the change.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
    /// The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
}

/// Installs and uninstalls packages in a session's virtual environment, which is created first if it does not
/// exist.
#[utoipa::path(post, path = "/v1/sessions/{id}/python/packages",
    operation_id = "changePythonPackages", tag = "packages",
    params(
        ("id" = String, Path, description = "the session"),
        IdempotencyKey,
    ),
    request_body = PythonRequest,
    responses(
        (status = 201, body = ExecutionBody, description = "the execution that makes the change",
            headers(("Location" = String, description = "the URL of the execution"))),
        Common, NotFound, TakesJson, TakesKey,
        (status = 409, body = ErrorBody, description = "the session has ended, or cannot reach a registry"),
))]
async fn change_python_packages(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    request: Keyed<PythonRequest>,
) -> Result<Response, ApiError> {
    let Keyed { value, request_key } = request;
    let PythonRequest { install, uninstall, requirements: listed_in, offline: is_offline, .. } = value;
    let changes = PackageChanges { install, uninstall, listed_in, is_offline };
    let call = ToolCall { conversation_id: value.conversation_id, tool_call_id: value.tool_call_id };
    change(&gateway, &who, id, (changes, Kind::Python), call, request_key).await
}

/// Changes to a session's `node_modules`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"install": ["left-pad@1.3.0"]})))]
#[serde(deny_unknown_fields)]
struct NodeRequest {
    /// Packages (`left-pad`, `left-pad@1.3.0`, `@scope/name@^2`) or paths in the workspace (`./tiny-1.0.0.tgz`).
    #[serde(default)]
    #[schema(max_items = 200)]
    install: Vec<String>,
    /// Names of packages to uninstall first.
    #[serde(default)]
    #[schema(max_items = 200)]
    uninstall: Vec<String>,
    /// Install the dependencies in `package.json` of the workspace.
    #[serde(default)]
    manifest: bool,
    /// Use no registry: the packages must be available without one.
    #[serde(default)]
    offline: bool,
    /// The conversation whose streams show the change.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
    /// The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
}

/// Installs and uninstalls packages in a session's `node_modules`.
#[utoipa::path(post, path = "/v1/sessions/{id}/node/packages",
    operation_id = "changeNodePackages", tag = "packages",
    params(
        ("id" = String, Path, description = "the session"),
        IdempotencyKey,
    ),
    request_body = NodeRequest,
    responses(
        (status = 201, body = ExecutionBody, description = "the execution that makes the change",
            headers(("Location" = String, description = "the URL of the execution"))),
        Common, NotFound, TakesJson, TakesKey,
        (status = 409, body = ErrorBody, description = "the session has ended, or cannot reach a registry"),
))]
async fn change_node_packages(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<SessionId>,
    request: Keyed<NodeRequest>,
) -> Result<Response, ApiError> {
    let Keyed { value, request_key } = request;
    let NodeRequest { install, uninstall, manifest, offline: is_offline, .. } = value;
    let listed_in = manifest.then(|| "package.json".to_owned());
    let changes = PackageChanges { install, uninstall, listed_in, is_offline };
    let call = ToolCall { conversation_id: value.conversation_id, tool_call_id: value.tool_call_id };
    change(&gateway, &who, id, (changes, Kind::Node), call, request_key).await
}

/// Checks the caller's access, the requested packages, and whether the session can reach a registry if it
/// needs one.
async fn may_change(
    gateway: &Gateway,
    who: &Identity,
    id: SessionId,
    changes: PackageChanges,
    kind: Kind,
) -> Result<PackageChanges, ApiError> {
    gateway.auth.may_use_session(who, Need::Write, id).await?;
    let changes = changes.checked(kind).map_err(|why| {
        ApiError::invalid(why).hint(
            "name packages as in `requests==2.32.3` or `left-pad@1.3.0`, or files as in `./dist/mine.whl`",
        )
    })?;
    let session = gateway.get_session(who, id).await?;
    let has_none = session.spec.network == Network::None;
    if changes.needs_network() && has_none {
        return Err(ApiError::conflict(
            format!("the session `{id}` cannot reach a package registry"),
            "create a session with `\"network\": \"packages\"`, or install from files: `./dist/mine.whl`, `\"offline\": true`",
        ));
    }
    // Without a registry, none is tried: the attempt would only take time to fail.
    Ok(PackageChanges { is_offline: changes.is_offline || has_none, ..changes })
}

/// Starts the execution that makes the changes.
async fn change(
    gateway: &Arc<Gateway>,
    who: &Identity,
    id: SessionId,
    (changes, kind): (PackageChanges, Kind),
    call: ToolCall,
    request_key: RequestKey,
) -> Result<Response, ApiError> {
    let call = call.metadata("change_packages", &shown(&changes, kind))?;
    let changes = may_change(gateway, who, id, changes, kind).await?;
    let script = match kind {
        Kind::Python => change_python(&interpreter(gateway, "python").await?, &changes),
        Kind::Node => {
            interpreter(gateway, "node").await?;
            change_node(&changes)
        }
    };
    let spec = StartSpec { metadata: call, ..shell(script) };
    let execution = ExecutionSpec { session: Some(id), spec, request_key };
    let started = gateway.starts.start(who, execution).await?;
    let owner = gateway.owner_of_execution(&started).await;
    let location = [(header::LOCATION, location(started.id))];
    Ok((StatusCode::CREATED, location, JsonBody(execution_body(started, owner))).into_response())
}

/// The changes as the arguments of a tool.
fn shown(changes: &PackageChanges, kind: Kind) -> Value {
    let ecosystem = match kind {
        Kind::Python => "python",
        Kind::Node => "node",
    };
    json!({
        "ecosystem": ecosystem,
        "install": changes.install,
        "uninstall": changes.uninstall,
        "listed_in": changes.listed_in,
    })
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

/// The interpreter of a language, which must be installed.
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

fn location(id: ExecutionId) -> String {
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
