//! A stream lasts no longer than what let it be opened: a credential that is revoked or expires ends what it has open,
//! and so does the end of a membership or of a role. The same holds for a request's body while it arrives.
//!
//! All streams that were opened by the same share one mark. A task looks again whether it is still good and sets the
//! marks of those that are not.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use headwater_protocol::SessionId;
use headwater_store::Role;
use http_body::{Body as _, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{Credential, Identity, Need};
use crate::state::Gateway;

/// How often it is looked whether what opened a stream is still good.
const LOOK: Duration = Duration::from_secs(1);
/// A body of so many bytes is read at once: nobody is revoked meanwhile.
const SHORT_BODY: u64 = 64 << 10;

/// The mark of something that has streams open.
#[derive(Debug, Default)]
pub(crate) struct Good(CancellationToken);

impl Good {
    /// Waits until it is no longer good.
    pub(crate) async fn over(&self) {
        self.0.cancelled().await;
    }
}

/// What let a stream be opened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Opener {
    credential: Credential,
    owner: String,
    /// What it was when it opened the stream.
    role: Role,
    grants: Vec<(SessionId, Need)>,
}

/// What has streams open.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams(Mutex<HashMap<Opener, Weak<Good>>>);

impl OpenStreams {
    fn of(&self, opener: Opener) -> Arc<Good> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = open.entry(opener).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let good = Arc::default();
            *entry = Arc::downgrade(&good);
            good
        })
    }

    /// Those with something open; the others are forgotten.
    fn all(&self) -> Vec<(Opener, Arc<Good>)> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, good| good.strong_count() > 0);
        open.iter().filter_map(|(opener, good)| Some((opener.clone(), good.upgrade()?))).collect()
    }
}

impl Gateway {
    /// The mark of what lets this one in; to be held as long as the stream is open. Whoever asks for it has been let
    /// into what the stream shows: what it was let into later does not count.
    pub(crate) fn good(&self, who: &Identity) -> Arc<Good> {
        let (credential, owner, grants) = (who.credential.clone(), who.owner.clone(), who.grants.all());
        self.open_streams.of(Opener { credential, owner, role: who.role, grants })
    }

    /// Ends the streams of what is no longer good, until the server ends.
    pub(crate) async fn look_after_streams(&self) {
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            for (opener, good) in self.open_streams.all() {
                if !self.is_good(&opener).await {
                    good.0.cancel();
                }
            }
        }
    }

    /// A store that fails says nothing of anybody.
    async fn is_good(&self, opener: &Opener) -> bool {
        if let Ok(now) = self.recall(&opener.credential, [0, 0, 0, 0].into()).await
            && !now.is_some_and(|now| now.role.at_most(opener.role) == opener.role)
        {
            return false;
        }
        for (session, need) in &opener.grants {
            if let Ok(role) = self.member_role(&opener.owner, *session).await
                && !role.is_some_and(|role| crate::auth::access::suffices(role, *need))
            {
                return false;
            }
        }
        true
    }
}

/// The answer, ending when what let whoever asked in is no longer good. What has a known length is not a stream.
pub(super) fn while_good(gateway: &Gateway, who: Option<&Identity>, answer: Response) -> Response {
    match who {
        Some(who) if answer.body().size_hint().exact().is_none() => {
            let good = gateway.good(who);
            let over = Box::pin(good.0.clone().cancelled_owned());
            answer.map(|inner| Body::new(WhileGood { inner, _good: good, over }))
        }
        _ => answer,
    }
}

struct WhileGood {
    inner: Body,
    _good: Arc<Good>,
    over: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl http_body::Body for WhileGood {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The request, its body failing when what let whoever asks in is no longer good. A short body is as it was.
pub(super) fn arriving_while_good(gateway: &Arc<Gateway>, request: Request) -> Request {
    let is_short = request.body().size_hint().exact().is_some_and(|bytes| bytes <= SHORT_BODY);
    match request.extensions().get::<Identity>().cloned() {
        Some(who) if !is_short => {
            let gateway = Arc::clone(gateway);
            request.map(|inner| Body::new(Arriving { inner, gateway, who, mark: None }))
        }
        _ => request,
    }
}

struct Arriving {
    inner: Body,
    gateway: Arc<Gateway>,
    who: Identity,
    /// Set by the first who reads: a door lets somebody in before it reads, and what it let them into counts.
    mark: Option<(Arc<Good>, Pin<Box<WaitForCancellationFutureOwned>>)>,
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { inner, gateway, who, mark } = &mut *self;
        let (_, over) = mark.get_or_insert_with(|| {
            let good = gateway.good(who);
            let over = Box::pin(good.0.clone().cancelled_owned());
            (good, over)
        });
        if over.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(axum::Error::new("what let this request in is no longer good"))));
        }
        Pin::new(inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
