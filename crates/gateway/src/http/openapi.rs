//! The parts of the OpenAPI document that many routes share: error responses and the idempotency key.
//!
//! Name these types in `responses(...)` before the responses of the route itself, which then may describe a
//! status in more detail.

use std::collections::BTreeMap;

use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoParams, IntoResponses};

type Responses = BTreeMap<String, RefOr<Response>>;

fn errors<const N: usize>(all: [(u16, &str); N]) -> Responses {
    let documented = all.map(|(status, description)| {
        let body = Content::new(Some(Ref::from_schema_name("ErrorBody")));
        let response = ResponseBuilder::new().description(description).content("application/json", body);
        (status.to_string(), response.build().into())
    });
    documented.into()
}

/// A type that stands for these error responses.
macro_rules! error_responses {
    ($($(#[$doc:meta])* $name:ident { $($status:literal: $description:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> Responses {
                    errors([$(($status, $description)),*])
                }
            }
        )*
    };
}

error_responses! {
    /// Of every route that needs a credential.
    Guarded {
        401: "no credential, or one that is not valid",
        403: "the credential does not allow this",
        429: "too many requests, or a quota is reached",
        500: "a bug in the server",
        503: "the server cannot do this now",
    }
    /// Of almost every route: those that take something and use the store or the worker.
    Common {
        400: "the request is not valid",
        401: "no credential, or one that is not valid",
        403: "the credential does not allow this",
        429: "too many requests, or a quota is reached",
        500: "a bug in the server",
        503: "the server cannot do this now",
        507: "the disk is full",
    }
    /// Of routes whose path, query or body names something.
    NotFound {
        404: "it does not exist, or it belongs to somebody else",
    }
    /// Of routes that use a session.
    SessionEnded {
        409: "the session has ended",
    }
    /// Of routes that take JSON.
    TakesJson {
        413: "the body is too large",
        415: "the body is not JSON",
    }
    /// Of routes that write files of any size into a workspace.
    WritesFiles {
        413: "it exceeds the session's disk limit",
        507: "the host's disk is full",
    }
    /// Of routes that take an idempotency key.
    TakesKey {
        422: "the key was used before with another request",
    }
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
