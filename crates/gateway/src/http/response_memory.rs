//! Limits the memory of responses that are built and not sent yet.
//!
//! A response that is built as a whole stays in memory until its client has read it, so a client that does
//! not read could fill the memory of the server. Each such response counts towards the share of its owner and
//! towards a limit for all owners; a response that exceeds one of them is refused. Responses that are sent in
//! pieces ([`crate::http::json_stream`]) hold one piece and do not count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use headwater_protocol::api::ErrorCode;
use http_body::Body as _;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::wrapped_body::wrapped;

/// Responses up to this many bytes do not count: a connection has a write buffer of that size anyway.
const SMALL: usize = 64 << 10;
/// The share of one owner is the limit for all owners, divided by this.
const OWNERS: usize = 4;
/// The share of all links of one owner is the owner's share, divided by this: links cannot use up what the
/// owner needs.
const LINKS: usize = 4;
/// How long a refused client should wait before it tries again.
const RETRY: Duration = Duration::from_secs(1);

/// The holder of responses or connections: an owner with its own credentials, or the links to its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Holder {
    owner: String,
    pub(crate) by_link: bool,
}

impl Holder {
    pub(crate) fn of(who: &Identity) -> Self {
        Self { owner: who.owner.clone(), by_link: who.bounds.link.is_some() }
    }
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    by: HashMap<Holder, usize>,
}

/// Counts the bytes of responses that are not sent yet.
#[derive(Debug)]
pub(crate) struct Answers {
    /// The limit for all owners, in bytes.
    limit: usize,
    held: Mutex<Held>,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    Own,
    All,
}

impl Answers {
    /// Allows this many bytes for all owners together.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn share(&self, holder: &Holder) -> usize {
        self.limit / if holder.by_link { OWNERS * LINKS } else { OWNERS }
    }

    /// Counts a response. A response that is larger than a limit is allowed if nothing else is held:
    /// otherwise it could never be sent.
    fn take(self: &Arc<Self>, holder: Holder, bytes: usize, force: bool) -> Result<Hold, Full> {
        let share = self.share(&holder);
        let mut held = self.held();
        let own = held.by.get(&holder).copied().unwrap_or(0);
        if !force && own > 0 && own + bytes > share {
            return Err(Full::Own);
        }
        if !force && held.all > 0 && held.all + bytes > self.limit {
            return Err(Full::All);
        }
        held.all += bytes;
        *held.by.entry(holder.clone()).or_default() += bytes;
        drop(held);
        Ok(Hold { answers: Arc::clone(self), holder, bytes })
    }

    /// Refuses a request that changes something if its response might be refused: after the change, the
    /// response is always sent.
    pub(crate) fn check(&self, who: &Identity, method: &Method) -> Result<(), ApiError> {
        let holder = Holder::of(who);
        let own = self.held().by.get(&holder).copied().unwrap_or(0);
        if method.is_safe() || own < self.share(&holder) { Ok(()) } else { Err(refusal(Full::Own)) }
    }

    /// Counts the response until it is sent or its client has disconnected, or replaces it with an error.
    pub(crate) fn count(self: &Arc<Self>, who: &Identity, method: &Method, response: Response) -> Response {
        let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let Some(bytes) = bytes.filter(|bytes| *bytes > SMALL && !is_pulled(&response)) else {
            return response;
        };
        match self.take(Holder::of(who), bytes, !method.is_safe()) {
            Ok(hold) => {
                // Every part of the body holds it: the connection buffers parts after the body is dropped.
                let hold = Arc::new(hold);
                response.map(|body| {
                    wrapped(body, move |body, cx| {
                        let counted = |bytes| Bytes::from_owner(CountedBytes(bytes, Arc::clone(&hold)));
                        body.poll_frame(cx).map_ok(|frame| frame.map_data(counted))
                    })
                })
            }
            Err(full) => refusal(full).into_response(),
        }
    }
}

/// Marks a response that has a known length and is nevertheless sent in pieces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pulled;

fn is_pulled(response: &Response) -> bool {
    response.extensions().get::<Pulled>().is_some()
}

fn refusal(full: Full) -> ApiError {
    let error = match full {
        Full::Own => ApiError::new(
            ErrorCode::UnreadAnswers,
            "too many of your responses have not been read yet",
            "read the responses on your open connections or close them, then try again",
        ),
        Full::All => ApiError {
            status: StatusCode::SERVICE_UNAVAILABLE,
            ..ApiError::new(
                ErrorCode::UnreadAnswers,
                "too many responses of this server have not been read yet",
                "try again in a moment, or request less at once",
            )
        },
    };
    ApiError { retry_after: Some(RETRY), ..error }
}

/// Bytes that are counted while this lives.
#[derive(Debug)]
struct Hold {
    answers: Arc<Answers>,
    holder: Holder,
    bytes: usize,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.answers.held();
        held.all = held.all.saturating_sub(self.bytes);
        if let Some(own) = held.by.get_mut(&self.holder) {
            *own = own.saturating_sub(self.bytes);
            if *own == 0 {
                held.by.remove(&self.holder);
            }
        }
    }
}

/// Bytes with the [`Hold`] that counts them.
struct CountedBytes(Bytes, #[allow(dead_code)] Arc<Hold>); // held for its `Drop`

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(owner: &str, by_link: bool) -> Holder {
        Holder { owner: owner.into(), by_link }
    }

    #[test]
    fn an_owner_has_a_share_and_its_links_a_smaller_one_of_their_own() {
        let answers = Arc::new(Answers::new(1600));
        let ann = answers.take(holder("ann", false), 400, false).unwrap();
        assert_eq!(answers.take(holder("ann", false), 1, false).unwrap_err(), Full::Own);
        let link = answers.take(holder("ann", true), 100, false).unwrap();
        assert_eq!(answers.take(holder("ann", true), 1, false).unwrap_err(), Full::Own);
        let others: Vec<_> = ["bob", "cid"]
            .iter()
            .map(|name| answers.take(holder(name, false), 400, false).unwrap())
            .collect();
        let most = answers.take(holder("dan", false), 300, false).unwrap();
        assert_eq!(answers.take(holder("eve", false), 1, false).unwrap_err(), Full::All);
        drop((ann, link, others, most));
        assert_eq!(answers.held().all, 0);
        assert!(answers.held().by.is_empty());
    }

    #[test]
    fn an_answer_larger_than_a_share_is_sent_alone() {
        let answers = Arc::new(Answers::new(1600));
        let large = answers.take(holder("ann", false), 5000, false).unwrap();
        assert_eq!(answers.take(holder("ann", false), 5000, false).unwrap_err(), Full::Own);
        drop(large);
        assert!(answers.take(holder("ann", false), 5000, false).is_ok());
    }
}
