//! Templates of sessions: `/v1/templates`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use headwater_protocol::Limits;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::NoQuery;
use crate::http::openapi::Common;
use crate::state::Gateway;

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// The templates.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TemplateList)]
struct TemplatesBody {
    /// All templates, by name.
    items: Vec<TemplateBody>,
}

/// What a session can start from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Template)]
struct TemplateBody {
    /// The name, as used in a request for a session.
    name: String,
    /// A title for people.
    title: String,
    /// What it is for.
    description: String,
    /// The language that it needs.
    language: Option<String>,
    /// Whether that language is installed; true if it needs none.
    available: bool,
    /// The file to open first.
    open: Option<String>,
    /// The limits of a session, unless the request has others.
    limits: Limits,
}

/// Lists the templates: files and limits that a session can start with (`template` of `POST /v1/sessions`).
#[utoipa::path(get, path = "/v1/templates", operation_id = "listTemplates", tag = "sessions",
    responses((status = 200, body = TemplatesBody), Common))]
async fn list(
    _: Identity,
    _: NoQuery,
    State(gateway): State<Arc<Gateway>>,
) -> Result<Json<TemplatesBody>, ApiError> {
    let mut items = Vec::new();
    for (name, template) in gateway.templates() {
        let available = match &template.language {
            Some(language) => {
                gateway.language_named(language).await?.is_some_and(|known| known.interpreter.is_some())
            }
            None => true,
        };
        items.push(TemplateBody {
            name,
            title: template.title,
            description: template.description,
            language: template.language,
            available,
            open: template.open,
            limits: template.limits,
        });
    }
    Ok(Json(TemplatesBody { items }))
}
