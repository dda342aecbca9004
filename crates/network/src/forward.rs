//! Plain HTTP to a host that was allowed and checked. Both sides of the exchange are taken apart and put together anew, so
//! that they agree where each message ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::{Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, Sleep};

use super::answer::{Body, Refusal};
use super::headers;
use super::meter::add;
use super::outlet::Visit;
use super::target::Target;

/// How long a host may take to begin its answer, and between two parts of it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Passes a request on and its answer back.
pub(crate) async fn forward(
    visit: &Arc<Visit>,
    mut request: Request<Incoming>,
    target: &Target,
) -> Result<Response<Body>, Refusal> {
    headers::outgoing(request.headers_mut(), target)?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| Refusal::bad("the request has no good path"))?;
    *request.version_mut() = Version::HTTP_11;
    let stream = visit.network.dialler.connect(target).await.map_err(|error| {
        tracing::debug!(%error, "a request is not passed on");
        Refusal::from(error)
    })?;
    let broken = |_| Refusal::upstream(format!("`{target}` broke off"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let over = visit.over.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = over.cancelled() => {}
            _ = connection => {} // what breaks is seen by whoever waits for the answer
        }
    });
    let answered = tokio::time::timeout(PATIENCE, sender.send_request(request)).await;
    let late = |_| Refusal::upstream(format!("`{target}` does not answer"));
    let mut response = answered.map_err(late)?.map_err(broken)?;
    headers::strip(response.headers_mut());
    let visit = Arc::clone(visit);
    Ok(response.map(|body| Watched::new(body, visit).boxed_unsync()))
}

/// A body on its way to a program: counted, and given up when nothing comes for too long.
struct Watched {
    body: Incoming,
    visit: Arc<Visit>,
    patience: Pin<Box<Sleep>>,
}

impl Watched {
    fn new(body: Incoming, visit: Arc<Visit>) -> Self {
        Self { body, visit, patience: Box::pin(tokio::time::sleep(PATIENCE)) }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(frame) => {
                this.patience.as_mut().reset(Instant::now() + PATIENCE);
                if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
                    add(&this.visit.meter.received, data.map_or(0, Bytes::len));
                }
                Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
            }
            Poll::Pending => match this.patience.as_mut().poll(context) {
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
