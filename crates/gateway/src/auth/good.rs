//! A stream lasts no longer than the token that opened it: one that is revoked or expires ends what it has open.
//!
//! All streams of a token share one mark. A task looks the tokens of open streams up again and sets the marks of those
//! that are no longer good.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Identity;
use crate::now_ms;
use crate::state::Gateway;

/// How often the tokens of open streams are looked up.
const LOOK: Duration = Duration::from_secs(1);

/// The mark of a token that has something open.
#[derive(Debug, Default)]
pub(crate) struct Good(CancellationToken);

impl Good {
    /// Waits until the token is no longer good.
    pub(crate) async fn over(&self) {
        self.0.cancelled().await;
    }
}

/// The tokens that have something open.
#[derive(Debug, Default)]
pub(crate) struct OpenTokens(Mutex<HashMap<[u8; 32], Weak<Good>>>);

impl OpenTokens {
    fn of(&self, hash: [u8; 32]) -> Arc<Good> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = open.entry(hash).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let good = Arc::default();
            *entry = Arc::downgrade(&good);
            good
        })
    }

    /// Those with something open; the others are forgotten.
    fn all(&self) -> Vec<([u8; 32], Arc<Good>)> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, good| good.strong_count() > 0);
        open.iter().filter_map(|(hash, good)| Some((*hash, good.upgrade()?))).collect()
    }
}

impl Gateway {
    /// The mark of this one's token; to be held as long as the stream is open.
    pub(crate) fn good(&self, who: &Identity) -> Arc<Good> {
        self.open_tokens.of(who.token_hash)
    }

    /// Ends the streams of tokens that are no longer good, until the server ends.
    pub(crate) async fn look_after_tokens(&self) {
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            for (hash, good) in self.open_tokens.all() {
                // A store that fails says nothing of the token.
                if let Ok(None) = self.identity(&hash, [0, 0, 0, 0].into(), now_ms()).await {
                    good.0.cancel();
                }
            }
        }
    }
}

/// The answer, ending when the token of whoever asked is no longer good. What has a known length is not a stream.
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
