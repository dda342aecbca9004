//! The HTTP code that all routes share: extractors, strict JSON, paging, idempotency, rate limits, OpenAPI
//! responses.

pub(crate) mod access_log;
pub(crate) mod extract;
pub(crate) mod idempotency;
pub(crate) mod json_stream;
pub(crate) mod openapi;
pub(crate) mod paging;
pub(crate) mod rate_limit;
pub(crate) mod response_memory;
pub(crate) mod search_text;
pub(crate) mod strict_json;
pub(crate) mod wrapped_body;
