//! The worker's access log: a line for each call that is made for a request of the API. Calls of the gateway for itself,
//! such as its checks every second, have no request id and are not logged.

use std::convert::Infallible;
use std::time::Instant;

use headwater_contract::{ACCESS_LOG, REQUEST_ID, access_ms};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tracing::Instrument;

/// A call that is made for a request.
#[derive(Debug)]
pub(super) struct Call {
    request_id: String,
    /// The service and the method: `Worker/Start`.
    name: String,
    begun: Instant,
}

impl Call {
    /// The call of this message, if it names a request.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        let id = request.headers().get(REQUEST_ID)?.to_str().ok()?;
        let path = request.uri().path();
        let name = path.strip_prefix("/headwater.worker.v1.").unwrap_or(path);
        Some(Self { request_id: id.to_owned(), name: name.to_owned(), begun: Instant::now() })
    }
}

/// Answers a call, and logs it when the response begins. Lines that are logged meanwhile contain the request's id.
pub(super) async fn logged(
    call: Option<Call>,
    answer: impl Future<Output = Result<Response<Body>, Infallible>>,
) -> Result<Response<Body>, Infallible> {
    let Some(Call { request_id, name, begun }) = call else { return answer.await };
    let span = tracing::info_span!("request", id = request_id);
    let Ok(response) = answer.instrument(span).await;
    // A call that fails at once has its status in the headers. The status of a stream comes after its last message.
    let code = Status::from_header_map(response.headers()).map_or(tonic::Code::Ok, |status| status.code());
    tracing::info!(
        target: ACCESS_LOG,
        request_id,
        call = name,
        code = ?code,
        duration_ms = access_ms(begun.elapsed()),
        "call"
    );
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_for_a_request_are_logged() {
        let request = |id: Option<&str>| {
            let builder = Request::builder().uri("/headwater.worker.v1.Worker/Start");
            let builder = id.into_iter().fold(builder, |builder, id| builder.header(REQUEST_ID, id));
            Call::of(&builder.body(()).unwrap()).map(|call| (call.request_id, call.name))
        };
        assert_eq!(request(None), None);
        assert_eq!(request(Some("req_1")), Some(("req_1".to_owned(), "Worker/Start".to_owned())));
    }
}
