//! Revocation: a stream lasts no longer than the credential that opened it. It ends when the credential is revoked or
//! expires, and when a membership or a role ends. The same holds for the body of a request while it arrives.
//!
//! All streams with the same credential and rights share one [`Validity`]. A task checks each of them every second and
//! cancels those that are no longer valid.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use headwater_store::Role;
use http_body::Body as _;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{Auth, Credential, Identity, Need, Shared};
use crate::http::wrapped_body::wrapped;

/// Time between two checks of all open streams.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// A body of up to this size is read at once and not checked.
const SHORT_BODY_BYTES: u64 = 64 << 10;

/// Whether the credential of open streams is still valid; cancelled when it is not.
#[derive(Debug, Default)]
pub(crate) struct Validity(CancellationToken);

impl Validity {
    /// Waits until it is no longer valid.
    pub(crate) async fn ended(&self) {
        self.0.cancelled().await;
    }
}

/// The credential and the rights that a stream was opened with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Opener {
    credential: Credential,
    owner: String,
    /// The role when the stream was opened.
    role: Role,
    grants: Vec<(Shared, Need)>,
}

/// The credentials with open streams.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams(Mutex<HashMap<Opener, Weak<Validity>>>);

impl OpenStreams {
    fn of(&self, opener: Opener) -> Arc<Validity> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = open.entry(opener).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let validity = Arc::default();
            *entry = Arc::downgrade(&validity);
            validity
        })
    }

    /// All with open streams; entries without any are removed.
    fn all(&self) -> Vec<(Opener, Arc<Validity>)> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, validity| validity.strong_count() > 0);
        open.iter().filter_map(|(opener, validity)| Some((opener.clone(), validity.upgrade()?))).collect()
    }
}

impl Auth {
    /// The validity of an identity, to be held while its stream is open. To be called after the access checks of the
    /// stream: later grants do not count.
    pub(crate) fn validity(&self, who: &Identity) -> Arc<Validity> {
        let (credential, owner, grants) = (who.credential.clone(), who.owner.clone(), who.grants.all());
        self.open_streams.of(Opener { credential, owner, role: who.role, grants })
    }

    /// Ends the streams whose credential is no longer valid. Runs until the server stops.
    pub(crate) async fn end_revoked_streams(&self) {
        loop {
            tokio::select! {
                () = self.background.stopping.cancelled() => return,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
            for (opener, validity) in self.open_streams.all() {
                if !self.is_valid(&opener).await {
                    validity.0.cancel();
                }
            }
        }
    }

    /// An error of the store ends no streams.
    async fn is_valid(&self, opener: &Opener) -> bool {
        if let Ok(now) = self.identify(&opener.credential, [0, 0, 0, 0].into()).await
            && !now.is_some_and(|now| now.role.at_most(opener.role) == opener.role)
        {
            return false;
        }
        for (shared, need) in &opener.grants {
            let role = match shared {
                Shared::Session(id) => self.member_role(&opener.owner, *id).await,
                Shared::Conversation(id) => self.conversation_role(&opener.owner, id).await,
            };
            if let Ok(role) = role
                && !role.is_some_and(|role| crate::auth::access::suffices(role, *need))
            {
                return false;
            }
        }
        true
    }
}

/// The response, ending when the credential of the request is no longer valid. A response of known length is not a
/// stream.
pub(super) fn response_while_valid(auth: &Auth, who: Option<&Identity>, response: Response) -> Response {
    match who {
        Some(who) if response.body().size_hint().exact().is_none() => {
            let mut held = Held::new(auth.validity(who));
            response.map(|body| {
                wrapped(
                    body,
                    move |body, cx| {
                        if held.poll_ended(cx) { Poll::Ready(None) } else { body.poll_frame(cx) }
                    },
                )
            })
        }
        _ => response,
    }
}

/// The request, whose body fails when the credential is no longer valid. A short body is not checked.
pub(super) fn request_while_valid(auth: &Arc<Auth>, request: Request) -> Request {
    let is_short = request.body().size_hint().exact().is_some_and(|bytes| bytes <= SHORT_BODY_BYTES);
    match request.extensions().get::<Identity>().cloned() {
        Some(who) if !is_short => {
            let auth = Arc::clone(auth);
            // Set by the first read: a handler checks access before it reads, and the grants of that check count.
            let mut held = None;
            request.map(|body| {
                wrapped(body, move |body, cx| {
                    let held = held.get_or_insert_with(|| Held::new(auth.validity(&who)));
                    if held.poll_ended(cx) {
                        let error = axum::Error::new("the credential of this request is no longer valid");
                        return Poll::Ready(Some(Err(error)));
                    }
                    body.poll_frame(cx)
                })
            })
        }
        _ => request,
    }
}

/// The validity of an open stream, and the wait for its end.
struct Held {
    _validity: Arc<Validity>,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Held {
    fn new(validity: Arc<Validity>) -> Self {
        Self { ended: Box::pin(validity.0.clone().cancelled_owned()), _validity: validity }
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> bool {
        self.ended.as_mut().poll(cx).is_ready()
    }
}
