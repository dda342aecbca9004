//! The OpenAPI document: what all routes share (error responses, the idempotency key), the head of the document,
//! and what is completed after the routes were collected.
//!
//! Name the types of [`error_responses`] in `responses(...)` before the responses of the route itself, which then
//! may describe a status in more detail.

mod complete;
mod document;
mod merge;
mod schemas;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use utoipa::openapi::{Content, HeaderBuilder, Object, Ref, RefOr, Response, ResponseBuilder, Type};
use utoipa::{IntoParams, IntoResponses};

pub(crate) use complete::complete;
pub(crate) use document::head;

type Responses = BTreeMap<String, RefOr<Response>>;

/// An error response that many routes have, in `components/responses`.
struct SharedResponse {
    name: &'static str,
    status: u16,
    description: &'static str,
    /// A header that the response has, and its description.
    header: Option<(&'static str, &'static str)>,
}

const RETRY_AFTER: Option<(&str, &str)> = Some(("Retry-After", "seconds to wait before the next attempt"));

/// All shared error responses.
const SHARED_RESPONSES: &[SharedResponse] = &[
    shared("BadRequest", 400, "the request is not valid", None),
    shared(
        "Unauthorized",
        401,
        "no credential, or one that is not valid",
        Some(("WWW-Authenticate", "`Bearer`")),
    ),
    shared("Forbidden", 403, "the credential, or the origin of the page, does not allow this", None),
    shared("NotFound", 404, "it does not exist, or it belongs to somebody else", None),
    shared("Conflict", 409, "the state of the object does not allow this", None),
    shared("Ambiguous", 409, "the prefix of an id matches several sessions", None),
    shared("SessionEnded", 409, "the session has ended", None),
    shared("DiskLimit", 413, "it exceeds the session's disk limit", None),
    shared("BodyTooLarge", 413, "the body is too large", None),
    shared("UnsupportedMediaType", 415, "the body is not JSON", None),
    shared("Misdirected", 421, "the server does not have the name in `Host`", None),
    shared("KeyReused", 422, "the key was used before with another request", None),
    shared("TooManyRequests", 429, "too many requests, or a quota is reached", RETRY_AFTER),
    shared("Internal", 500, "a bug in the server", None),
    shared("Unavailable", 503, "the server cannot do this now", RETRY_AFTER),
    shared("DiskFull", 507, "the disk is full", None),
];

const fn shared(
    name: &'static str,
    status: u16,
    description: &'static str,
    header: Option<(&'static str, &'static str)>,
) -> SharedResponse {
    SharedResponse { name, status, description, header }
}

impl SharedResponse {
    fn response(&self) -> Response {
        let body = Content::new(Some(Ref::from_schema_name("ErrorBody")));
        let mut response =
            ResponseBuilder::new().description(self.description).content("application/json", body);
        if let Some((name, description)) = self.header {
            let header = HeaderBuilder::new().schema(Some(Object::with_type(Type::String)));
            response = response.header(name, header.description(Some(description)).build());
        }
        response.build()
    }
}

/// References to these shared responses, by their status.
fn references(names: &[&str]) -> Responses {
    let found = SHARED_RESPONSES.iter().filter(|shared| names.contains(&shared.name));
    found.map(|shared| (shared.status.to_string(), Ref::from_response_name(shared.name).into())).collect()
}

/// A type that stands for these shared responses.
macro_rules! error_responses {
    ($($(#[$doc:meta])* $name:ident [$($response:ident),*])*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> Responses {
                    references(&[$(stringify!($response)),*])
                }
            }
        )*
    };
}

error_responses! {
    /// Of routes without a credential.
    Public [Forbidden, Misdirected]
    /// Of every route that needs a credential.
    Guarded [Unauthorized, Forbidden, Misdirected, TooManyRequests, Internal, Unavailable]
    /// Of almost every route: those that take something and use the store or the worker.
    Common [BadRequest, Unauthorized, Forbidden, Misdirected, TooManyRequests, Internal, Unavailable, DiskFull]
    /// Of routes whose path, query or body names something.
    NotFound [NotFound]
    /// Of routes that name a session and do not need it to be live.
    NamesSession [NotFound, Ambiguous]
    /// Of routes that use a session.
    SessionEnded [SessionEnded]
    /// Of routes that the state of an object may not allow.
    Conflict [Conflict]
    /// Of routes that take JSON.
    TakesJson [BodyTooLarge, UnsupportedMediaType]
    /// Of routes that write files of any size into a workspace.
    WritesFiles [DiskLimit, DiskFull]
    /// Of routes that take an idempotency key.
    TakesKey [KeyReused]
    /// Of routes that store something and take nothing.
    DiskFull [DiskFull]
}

/// The header of routes that can be repeated.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IdempotencyKey {
    /// A request that is sent again with the same key is carried out once.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[!-~]+$")]
    _key: Option<String>,
}

/// The header with which the client of a feed continues.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct LastEventId {
    /// Continue after this event; takes precedence over `after`.
    #[param(rename = "Last-Event-ID")]
    _id: Option<String>,
}
