//! The access log: a line for each request, when its response has been sent or its client has disconnected.
//!
//! It contains the path and never the query, which may hold a ticket or a token.

use std::net::IpAddr;
use std::task::{Poll, ready};
use std::time::Instant;

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use headwater_contract::{ACCESS_LOG, access_ms};
use http_body::Body;

use super::wrapped_body::wrapped;

/// The most characters of a path that are logged: a client can send tens of thousands.
const MAX_PATH_CHARS: usize = 512;

/// A request in the access log.
#[derive(Debug)]
pub(crate) struct Access {
    id: String,
    method: Method,
    path: String,
    address: IpAddr,
    begun: Instant,
}

impl Access {
    /// A request that begins now.
    pub(crate) fn new(id: &str, request: &Request, address: IpAddr) -> Self {
        Self {
            id: id.to_owned(),
            method: request.method().clone(),
            path: request.uri().path().chars().take(MAX_PATH_CHARS).collect(),
            address,
            begun: Instant::now(),
        }
    }

    /// Returns the response with a body that is logged when it ends. `user` is the caller, if known.
    pub(crate) fn logged(self, user: Option<&str>, response: Response) -> Response {
        if !tracing::enabled!(target: ACCESS_LOG, tracing::Level::INFO) {
            return response;
        }
        let mut line =
            Line { access: self, user: user.map(str::to_owned), status: response.status(), bytes: 0 };
        response.map(|body| {
            wrapped(body, move |body, cx| {
                // The whole line is captured, so that it is dropped with the body.
                let line = &mut line;
                let frame = ready!(body.poll_frame(cx));
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                line.bytes += data.map_or(0, |data| data.len() as u64);
                Poll::Ready(frame)
            })
        })
    }
}

/// The line of a request, which is logged when it is dropped.
struct Line {
    access: Access,
    user: Option<String>,
    status: StatusCode,
    /// Bytes of the body that were passed on to the connection.
    bytes: u64,
}

impl Drop for Line {
    fn drop(&mut self) {
        let Access { id, method, path, address, begun } = &self.access;
        tracing::info!(
            target: ACCESS_LOG,
            request_id = id,
            %method,
            path,
            status = self.status.as_u16(),
            duration_ms = access_ms(begun.elapsed()),
            bytes = self.bytes,
            %address,
            user = self.user,
            "request"
        );
    }
}
