//! Users: `/v1/users`. Operators create them; users see themselves and set their own password.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use headwater_protocol::api::{ErrorBody, ErrorCode, PageBody};
use headwater_store::{Role, UserChange, UserRow};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::accounts::{RoleName, UserBody, owns_sessions, user_name};
use crate::auth::{Identity, Need, Whose, authorise, authorise_on, random_hex, too_many};
use crate::error::ApiError;
use crate::http::extract::{Json, NoQuery, Path, Query};
use crate::http::openapi::{Common, NotFound, TakesJson};
use crate::http::paging::{PageQuery, page_body};
use crate::now_ms;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(get, patch, delete))
}

/// A request for a user.
#[derive(Deserialize, ToSchema)]
#[schema(examples(json!({"name": "ann", "password": "correct horse battery", "role": "member"})))]
#[serde(deny_unknown_fields)]
struct UserRequest {
    /// Letters, digits and `._@+-`; case does not matter.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// At least 8 characters; without a password, the user cannot sign in with one.
    #[schema(min_length = 8, max_length = 1024)]
    password: Option<String>,
    /// The role: `member` if absent.
    #[schema(inline)]
    role: Option<RoleName>,
    /// Take over sessions that already belong to this name. Otherwise such a name is refused.
    take_over: Option<bool>,
}

/// Creates a user. For operators.
///
/// A name that owns sessions, such as that of a deleted user, is refused with the code `name_owns_sessions`
/// unless `take_over` is true.
#[utoipa::path(post, path = "/v1/users",
    operation_id = "createUser", tag = "users", request_body = UserRequest, responses(
        (status = 201, body = UserBody, headers(("Location" = String, description = "the URL of the user"))),
        Common, TakesJson,
        (status = 409, body = ErrorBody, description = "the name is taken, or owns sessions"),
))]
async fn create(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Json(request): Json<UserRequest>,
) -> Result<impl IntoResponse, ApiError> {
    operator(&who)?;
    let name = user_name(&request.name).map_err(ApiError::invalid)?;
    let takes_over = owns_sessions(&*gateway.store, &name).await?;
    if takes_over && request.take_over != Some(true) {
        return Err(name_owns_sessions(&name));
    }
    let password = match request.password {
        Some(password) => Some(gateway.auth.passwords.hash(password).await?),
        None => None,
    };
    let row = UserRow {
        id: format!("usr_{}", random_hex()),
        name,
        password,
        role: request.role.map_or(Role::Member, Into::into),
        disabled: false,
        created_at_ms: now_ms(),
    };
    if !gateway.store.put_user(&row).await? {
        let message = format!("the user `{}` already exists", row.name);
        return Err(ApiError::conflict(message, "choose another name, or change that user"));
    }
    gateway.auth.identities.clear();
    let takes_over = if takes_over { ", takes over sessions" } else { "" };
    gateway.audit.record(&who, "user.create", row.id.clone(), format!("role {}{takes_over}", row.role));
    let location = [(header::LOCATION, format!("/v1/users/{}", row.id))];
    Ok((StatusCode::CREATED, location, JsonBody(UserBody::from(row))))
}

fn name_owns_sessions(name: &str) -> ApiError {
    ApiError::new(
        ErrorCode::NameOwnsSessions,
        format!("the name `{name}` owns sessions, which the new user would get"),
        format!(
            "choose another name; or delete them (`GET /v1/sessions?owner={name}` lists them); or, if it is the same \
             person, send `\"take_over\": true`"
        ),
    )
}

fn operator(who: &Identity) -> Result<(), ApiError> {
    authorise(who, Need::Admin)
}

/// Lists users, newest first. For operators.
#[utoipa::path(get, path = "/v1/users", operation_id = "listUsers", tag = "users", params(PageQuery),
    responses((status = 200, body = PageBody<UserBody>), Common))]
async fn list(
    who: Identity,
    State(gateway): State<Arc<Gateway>>,
    Query(query): Query<PageQuery>,
) -> Result<JsonBody<PageBody<UserBody>>, ApiError> {
    operator(&who)?;
    let found = gateway.store.users(query.page()?).await?;
    Ok(JsonBody(page_body(found.items.into_iter().map(UserBody::from).collect(), found.next)))
}

/// The user of this id or name, if the caller has the access `need`.
async fn find(gateway: &Gateway, who: &Identity, need: Need, text: &str) -> Result<UserRow, ApiError> {
    let missing = || ApiError::not_found("user", text);
    let row = gateway.find_user(text).await?.ok_or_else(missing)?;
    authorise_on(who, need, Whose::of(&row.name), missing)?;
    Ok(row)
}

/// Returns a user. Operators may get all users, others themselves.
#[utoipa::path(get, path = "/v1/users/{user}", operation_id = "getUser", tag = "users",
    params(("user" = String, Path, description = "the user's id or name")),
    responses((status = 200, body = UserBody), Common, NotFound))]
async fn get(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(user): Path<String>,
) -> Result<JsonBody<UserBody>, ApiError> {
    Ok(JsonBody(find(&gateway, &who, Need::Read, &user).await?.into()))
}

/// Changes to a user. Absent fields keep their value.
#[derive(Default, Deserialize, ToSchema)]
#[schema(examples(json!({"password": "a better password", "current_password": "correct horse battery"})))]
#[serde(deny_unknown_fields)]
struct UserPatch {
    /// The new password. Ends all sign-ins of the user.
    #[schema(min_length = 8, max_length = 1024)]
    password: Option<String>,
    /// The current password, required to change one's own.
    #[schema(max_length = 1024)]
    current_password: Option<String>,
    /// The new role; only for operators.
    #[schema(inline)]
    role: Option<RoleName>,
    /// Whether the user is disabled; only for operators. Disabling ends all sign-ins and refuses all tokens
    /// of the user.
    disabled: Option<bool>,
}

/// Changes a user. Operators may change everything, others their own password.
///
/// A new password, or disabling the user, ends all its sign-ins and closes their streams.
#[utoipa::path(patch, path = "/v1/users/{user}", operation_id = "updateUser", tag = "users",
    params(("user" = String, Path, description = "the user's id or name")), request_body = Option<UserPatch>,
    responses((status = 200, body = UserBody), Common, NotFound, TakesJson))]
async fn patch(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(user): Path<String>,
    Json(request): Json<UserPatch>,
) -> Result<JsonBody<UserBody>, ApiError> {
    let row = find(&gateway, &who, Need::Write, &user).await?;
    if request.role.is_some() || request.disabled.is_some() {
        operator(&who)?;
    }
    let mut change = UserChange {
        role: request.role.map(Into::into),
        disabled: request.disabled,
        end_sign_ins: request.password.is_some() || request.disabled == Some(true),
        ..UserChange::default()
    };
    if let Some(password) = request.password {
        if operator(&who).is_err() {
            check_current(&gateway, &row, who.address, request.current_password).await?;
        }
        change.password = Some(gateway.auth.passwords.hash(password).await?);
    }
    if !gateway.store.update_user(&row.id, &change).await? {
        return Err(ApiError::not_found("user", &user));
    }
    gateway.auth.identities.clear();
    gateway.audit.record(&who, "user.patch", row.id.clone(), summary(&change));
    let row = gateway.store.user(&row.id).await?.ok_or_else(|| ApiError::not_found("user", &user))?;
    Ok(JsonBody(row.into()))
}

async fn check_current(
    gateway: &Gateway,
    row: &UserRow,
    address: IpAddr,
    current: Option<String>,
) -> Result<(), ApiError> {
    let (from, now) = ((row.name.clone(), address), std::time::Instant::now());
    gateway.auth.name_backoff.attempt(from.clone(), now).map_err(too_many)?;
    if gateway.auth.passwords.verify(current.unwrap_or_default(), row.password.clone()).await? {
        gateway.auth.name_backoff.forget(&from);
        return Ok(());
    }
    Err(ApiError::forbidden("`current_password` is wrong", "an operator can set a new password without it"))
}

/// A summary of the change, without secrets.
fn summary(change: &UserChange) -> String {
    let mut words = Vec::new();
    if change.password.is_some() {
        words.push("password".to_owned());
    }
    words.extend(change.role.map(|role| format!("role {role}")));
    words.extend(change.disabled.map(|disabled| if disabled { "disabled".into() } else { "enabled".into() }));
    words.join(", ")
}

/// Removes a user: ends its sign-ins, revokes its tokens and removes its memberships. For operators.
///
/// Its sessions are kept, for operators to inspect and delete (`GET /v1/sessions?owner=NAME`). While any
/// exist, a new user of the same name must be created with `take_over`.
#[utoipa::path(delete, path = "/v1/users/{user}", operation_id = "deleteUser", tag = "users",
    params(("user" = String, Path, description = "the user's id or name")),
    responses((status = 204, description = "it was removed"), Common, NotFound))]
async fn delete(
    who: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
    Path(user): Path<String>,
) -> Result<StatusCode, ApiError> {
    operator(&who)?;
    let missing = || ApiError::not_found("user", &user);
    let row = gateway.find_user(&user).await?.ok_or_else(missing)?;
    if !gateway.store.remove_user(&row, now_ms()).await? {
        return Err(missing());
    }
    gateway.auth.identities.clear();
    gateway.audit.record(&who, "user.delete", row.id, row.name);
    Ok(StatusCode::NO_CONTENT)
}
