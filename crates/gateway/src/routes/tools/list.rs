//! `GET /v1/tools`: the tools in the shape that a provider expects.

use axum::Json;
use headwater_tools::schema::Shape;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::auth::{Identity, Need, authorise};
use crate::error::ApiError;
use crate::http::extract::Query;
use crate::http::openapi::Common;

/// The shape of the list of tools.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ToolFormat {
    /// `OpenAI`, Responses API.
    #[serde(rename = "openai")]
    OpenAi,
    /// `OpenAI`, Chat Completions API, and servers that are compatible with it.
    #[serde(rename = "openai_chat")]
    OpenAiChat,
    /// Anthropic, Messages API.
    Anthropic,
    /// The Model Context Protocol, with annotations and the schemas of results.
    #[default]
    Mcp,
}

impl From<ToolFormat> for Shape {
    fn from(format: ToolFormat) -> Self {
        match format {
            ToolFormat::OpenAi => Self::OpenAi,
            ToolFormat::OpenAiChat => Self::OpenAiChat,
            ToolFormat::Anthropic => Self::Anthropic,
            ToolFormat::Mcp => Self::Mcp,
        }
    }
}

/// Selects the shape.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// The shape of the tools: `mcp` if absent.
    #[param(inline)]
    format: Option<ToolFormat>,
}

/// All tools.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ToolList {
    /// The tools in the requested shape, ready for the field `tools` of a request to a model.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Value>,
}

/// Lists the tools with their JSON schemas, for a request to a model.
#[utoipa::path(get, path = "/v1/tools", operation_id = "listTools", tag = "tools", params(ListQuery),
    responses((status = 200, body = ToolList), Common))]
pub(super) async fn list_tools(
    who: Identity,
    Query(query): Query<ListQuery>,
) -> Result<Json<ToolList>, ApiError> {
    authorise(&who, Need::Read)?;
    Ok(Json(ToolList { tools: Shape::from(query.format.unwrap_or_default()).all_tools() }))
}
