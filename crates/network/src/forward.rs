//! Forwards plain HTTP to a host that was allowed and checked. Requests and responses are parsed and framed anew, so
//! that both sides agree where each message ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::PROXY_AUTHORIZATION;
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, Sleep};

use super::headers;
use super::meter::add;
use super::outlet::Connection;
use super::response::{Body, Refusal};
use super::target::Target;
use super::upstream::Scheme;

/// How long a host may take to begin its response, and between two parts of it.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Forwards a request and returns the response.
pub(crate) async fn forward(
    connection: &Arc<Connection>,
    mut request: Request<Incoming>,
    target: &Target,
) -> Result<Response<Body>, Refusal> {
    headers::outgoing(request.headers_mut(), target)?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let dialler = &connection.network.dialler;
    let proxy = dialler.proxy_for(Scheme::Http, target);
    // A proxy is asked for the whole URL, by the host that was checked.
    let uri = if proxy.is_some() { format!("http://{target}{path}") } else { path.to_owned() };
    *request.uri_mut() = uri.parse::<Uri>().map_err(|_| Refusal::bad("the request has no valid path"))?;
    *request.version_mut() = Version::HTTP_11;
    if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
        request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
    }
    let stream = match proxy {
        Some(proxy) => match dialler.refuse_private_address(target) {
            Ok(()) => dialler.connect_to_proxy(proxy).await,
            Err(error) => Err(error),
        },
        None => dialler.connect(target).await,
    };
    let stream = stream.map_err(|error| {
        tracing::debug!(%error, "cannot forward a request");
        Refusal::from(error)
    })?;
    let broken = |_| Refusal::upstream(format!("`{target}` closed the connection"));
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let over = connection.over.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = over.cancelled() => {}
            _ = driver => {} // the caller of `send_request` sees the error
        }
    });
    let answered = tokio::time::timeout(RESPONSE_TIMEOUT, sender.send_request(request)).await;
    let late = |_| Refusal::upstream(format!("`{target}` does not answer"));
    let mut response = answered.map_err(late)?.map_err(broken)?;
    if proxy.is_some() && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        // The program has no credentials for the operator's proxy, and must not be asked for them.
        return Err(Refusal::proxy_credentials());
    }
    headers::strip(response.headers_mut());
    let connection = Arc::clone(connection);
    Ok(response.map(|body| CountedBody::new(body, connection).boxed_unsync()))
}

/// A response body: its bytes are counted, and it fails if no data arrives within [`RESPONSE_TIMEOUT`].
struct CountedBody {
    body: Incoming,
    connection: Arc<Connection>,
    timeout: Pin<Box<Sleep>>,
}

impl CountedBody {
    fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        Self { body, connection, timeout: Box::pin(tokio::time::sleep(RESPONSE_TIMEOUT)) }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(frame) => {
                this.timeout.as_mut().reset(Instant::now() + RESPONSE_TIMEOUT);
                if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
                    add(&this.connection.meter.received, data.map_or(0, Bytes::len));
                }
                Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
            }
            Poll::Pending => match this.timeout.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into()))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
