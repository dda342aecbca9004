//! The errors of the API: the body of every error response, and all codes.

use serde::{Deserialize, Serialize};

use crate::documented;

documented! {
    /// The code of an error: its HTTP status and its name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ErrorCode: (u16, &'static str) {
        /// The request is not valid: the message names the field or parameter.
        InvalidRequest = (400, "invalid_request"),
        /// `after` or `Last-Event-ID` is past the last event.
        AfterPastEnd = (400, "after_past_end"),
        /// The tool does not know this `runtime`.
        UnsupportedRuntime = (400, "unsupported_runtime"),
        /// No credential, or one that is not valid.
        Unauthenticated = (401, "unauthenticated"),
        /// The name or the password is wrong, or the refresh token is not valid.
        WrongCredentials = (401, "wrong_credentials"),
        /// A token or JWT in the address of a stream: use a ticket.
        TokenInAddress = (401, "token_in_address"),
        /// The credential, or the origin of the page, does not allow this.
        Forbidden = (403, "forbidden"),
        /// The object does not exist, or it belongs to somebody else.
        NotFound = (404, "not_found"),
        /// No route has this path.
        NoSuchRoute = (404, "no_such_route"),
        /// The route does not take this method. The header `Allow` lists those that it takes.
        MethodNotAllowed = (405, "method_not_allowed"),
        /// The state of the object does not allow this.
        Conflict = (409, "conflict"),
        /// The session is over its disk limit: delete files first.
        DiskLimit = (409, "disk_limit"),
        /// Sessions of a deleted user of this name still exist.
        NameOwnsSessions = (409, "name_owns_sessions"),
        /// Another live session of the owner has this name.
        NameTaken = (409, "name_taken"),
        /// The prefix of an id matches several sessions.
        AmbiguousId = (409, "ambiguous_id"),
        /// A lossless reader read nothing for `lossless_hold`.
        ReaderTooSlow = (409, "reader_too_slow"),
        /// The log of the execution was removed.
        LogRemoved = (410, "log_removed"),
        /// The file has changed: `If-Match` does not match.
        Changed = (412, "changed"),
        /// The body is larger than the server accepts.
        BodyTooLarge = (413, "body_too_large"),
        /// The file is too large for a response in JSON: use `files/content`.
        FileTooLarge = (413, "file_too_large"),
        /// The body is not JSON.
        UnsupportedMediaType = (415, "unsupported_media_type"),
        /// The range is outside the content.
        RangeNotSatisfiable = (416, "range_not_satisfiable"),
        /// The range contains bytes that are no longer kept.
        RangeCrossesGap = (416, "range_crosses_gap"),
        /// The server does not have the name in `Host`.
        WrongHost = (421, "wrong_host"),
        /// The idempotency key was used before with another request.
        KeyReused = (422, "key_reused"),
        /// The route is a WebSocket, and the request is not an upgrade.
        UpgradeRequired = (426, "upgrade_required"),
        /// A resource of the session or the server is used up: wait until something ends.
        Exhausted = (429, "exhausted"),
        /// A quota is reached.
        QuotaExceeded = (429, "quota_exceeded"),
        /// Too many requests, or too many failures.
        RateLimited = (429, "rate_limited"),
        /// The caller has too many connections.
        TooManyConnections = (429, "too_many_connections"),
        /// Too many responses wait to be read. 503 if those of all callers together are too many.
        UnreadAnswers = (429, "unread_answers"),
        /// A bug in the server. Its log has the cause under the request id.
        Internal = (500, "internal"),
        /// The store or the worker does not respond, or the server is shutting down: try again.
        Unavailable = (503, "unavailable"),
        /// The server's disk is full. 413 if the write exceeds the disk limit of the session.
        DiskFull = (507, "disk_full"),
    }
}

impl ErrorCode {
    /// The HTTP status that the code usually has.
    pub const fn status(self) -> u16 {
        self.value().0
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        self.value().1
    }
}

/// The body of every answer with an error status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"error": {"code": "not_found", "message": "there is no session `ses_...`",
    "hint": "`GET /v1/sessions` lists the existing ones", "request_id": "req_0123456789abcdef"}}))))]
pub struct ErrorBody {
    /// What went wrong, and what to do.
    pub error: ErrorDetail,
}

/// An error: a code for programs, a message and a hint for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorDetail {
    /// The code, for programs. `docs/api.md` lists all codes; later versions may add some.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it, for people.
    pub hint: String,
    /// The id of the request, as in the header `X-Request-Id` and in the server's log.
    pub request_id: String,
}
