//! Tickets: what a browser shows instead of a token where it can set no header.
//!
//! A ticket opens one stream within 30 seconds and then resumes this stream, and no other, for as long as the credential
//! that it was made with is good. `EventSource` reconnects by itself to the address that it began with, so the ticket in
//! that address must outlive the connection and the server process. Tickets are in the store, by their hash.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header;
use axum::response::Response;
use bytes::Bytes;
use headwater_store::{TicketRow, TicketUse};

use super::{Auth, Credential, Identity, hash, random_hex};
use crate::error::ApiError;
use crate::now_ms;

/// How long a ticket may wait for its first use.
pub(crate) const LIFETIME: Duration = Duration::from_secs(30);
/// A ticket whose stream is not resumed for so long is removed.
const UNUSED: Duration = Duration::from_hours(30 * 24);
/// Tickets of one owner; the least recently used ones go first. More streams than this are not open in browsers.
const MAX_OF_OWNER: u32 = 2_000;
/// How often it is noted that a ticket is used.
const TOUCH: Duration = Duration::from_mins(1);
/// What makes a ticket recognisable.
const PREFIX: &str = "hwt_";
/// The header by which `EventSource` says where it goes on.
const LAST_EVENT_ID: &str = "last-event-id";
/// The `id` at the beginning of a stream that a ticket opened. `EventSource` repeats it if the connection is lost before
/// the first event; it is no position, and the stream begins again as its query says.
pub(crate) const AT_START: &str = "start";
/// Parameters that say where and how a client goes on, and not which stream it reads.
const NOT_BOUND: [&str; 7] = ["token", "after", "skip", "tail", "execution_id", "rows", "cols"];

/// Whether a text looks like a ticket.
pub(crate) fn is_ticket(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// What a request wants to use a ticket for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Use {
    /// Names the stream.
    binding: String,
    /// The request goes on with a stream that it has seen.
    resumes: bool,
}

impl Use {
    /// As this request says.
    pub(super) fn of(request: &Request) -> Self {
        let is_socket = request.headers().contains_key(header::UPGRADE);
        let query = request.uri().query().unwrap_or_default();
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut bound: Vec<_> =
            pairs.clone().filter(|(name, _)| !name.is_empty() && !NOT_BOUND.contains(name)).collect();
        bound.sort_unstable();
        let resumes = if is_socket {
            pairs.into_iter().any(|(name, value)| name == "after" && !value.is_empty())
        } else {
            request.headers().get(LAST_EVENT_ID).is_some_and(|id| !id.as_bytes().trim_ascii().is_empty())
        };
        let kind = if is_socket { "socket" } else { "events" };
        let bound: Vec<_> = bound.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        // Hashed: paths and parameters may be long, and may hold names that are nobody else's business.
        let text = format!("{kind} {}?{}", request.uri().path(), bound.join("&"));
        Self { binding: super::token::hex(&hash(&text)), resumes }
    }
}

impl Auth {
    /// A ticket for whoever asks.
    pub(crate) async fn issue_ticket(&self, who: &Identity) -> Result<String, ApiError> {
        let (ticket, now) = (format!("{PREFIX}{}", random_hex()), now_ms());
        let row = TicketRow {
            hash: hash(&ticket),
            owner: self.counted_with(who).await?,
            credential: who.credential.to_text(),
            binding: None,
            opened_by: None,
            used_at_ms: now,
            expires_at_ms: after(now, LIFETIME),
        };
        self.store.put_ticket(&row, MAX_OF_OWNER).await?;
        Ok(ticket)
    }

    /// Whose tickets those of this one are counted with. All links to the sessions of one owner count together, apart
    /// from the owner's own: they can neither fill the store nor push out the owner's.
    async fn counted_with(&self, who: &Identity) -> Result<String, ApiError> {
        let session = who.bounds.sessions.as_deref().and_then(|sessions| sessions.first());
        match (who.bounds.link, session) {
            (Some(_), Some(session)) => {
                Ok(format!("links of {}", self.owner_of(*session).await?.unwrap_or_default()))
            }
            _ => Ok(who.owner.clone()),
        }
    }

    /// The credential that a ticket stands for, if it may be used so. The caller checks whether that is still good.
    pub(super) async fn redeem(&self, ticket: &str, wanted: &Use) -> Result<Option<Credential>, ApiError> {
        let (hash, now) = (hash(ticket), now_ms());
        let Some(row) = self.store.ticket(&hash).await? else {
            return Ok(None);
        };
        let Some(credential) = Credential::from_text(&row.credential) else {
            return Ok(None);
        };
        let latest = credential.expires_at_ms().unwrap_or(u64::MAX);
        let used = TicketUse {
            binding: wanted.binding.clone(),
            opened_by: self.process.clone(),
            at_ms: now,
            expires_at_ms: after(now, UNUSED).min(latest),
        };
        if row.binding.is_none() && self.store.open_ticket(&hash, &used).await? {
            return Ok(Some(credential));
        }
        // Another request may have opened it just now.
        let row = if row.binding.is_none() { self.store.ticket(&hash).await?.unwrap_or(row) } else { row };
        if !self.goes_on(&row, wanted, now) {
            return Ok(None);
        }
        let is_noted = row.opened_by.as_ref() == Some(&self.process)
            && now.saturating_sub(row.used_at_ms) < millis(TOUCH);
        if !is_noted {
            self.store.touch_ticket(&hash, &used).await?;
        }
        Ok(Some(credential))
    }

    /// Whether this is the stream that the ticket opened, and the request resumes it. A client whose server was killed
    /// before the answer arrived has nothing to resume with: it may open the same stream again, of the next server.
    fn goes_on(&self, row: &TicketRow, wanted: &Use, now: u64) -> bool {
        let was_cut_off = row.opened_by.as_ref() != Some(&self.process)
            && now.saturating_sub(row.used_at_ms) < millis(LIFETIME);
        row.binding.as_ref() == Some(&wanted.binding)
            && now < row.expires_at_ms
            && (wanted.resumes || was_cut_off)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn after(now: u64, time: Duration) -> u64 {
    now.saturating_add(millis(time))
}

/// The events that a ticket opened, with an `id` before the first of them: without one `EventSource` would come back
/// without `Last-Event-ID`.
pub(super) fn with_first_id(wanted: &Use, answer: Response) -> Response {
    let is_events =
        answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if wanted.resumes || !is_events {
        return answer;
    }
    let first = Bytes::from(format!("id: {AT_START}\n\n"));
    answer.map(|body| {
        use futures_util::StreamExt;
        let first = futures_util::stream::once(async { Ok(first) });
        axum::body::Body::from_stream(first.chain(body.into_data_stream()))
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn wanted(uri: &str, headers: &[(&str, &str)]) -> Use {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Use::of(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn a_stream_is_the_same_wherever_its_reader_goes_on() {
        let first = wanted("/v1/x/events?token=a&tail=3&streams=stdout&until=exited", &[]);
        let again =
            wanted("/v1/x/events?until=exited&streams=stdout&token=b&after=9", &[("last-event-id", "7")]);
        assert_eq!(first.binding, again.binding);
        assert!(!first.resumes && again.resumes);
        for other in
            ["/v1/y/events?streams=stdout&until=exited", "/v1/x/events?streams=stdout", "/v1/x/events"]
        {
            assert_ne!(wanted(other, &[]).binding, first.binding, "{other}");
        }
        let socket = [("upgrade", "websocket")];
        assert_ne!(wanted("/v1/x?token=a", &socket).binding, wanted("/v1/x?token=a", &[]).binding);
    }

    #[test]
    fn only_the_word_of_its_own_kind_resumes_a_stream() {
        let socket = [("upgrade", "websocket"), ("last-event-id", "1")];
        assert!(!wanted("/x?token=a", &socket).resumes && !wanted("/x?after=", &socket).resumes);
        assert!(wanted("/x?after=0", &socket).resumes);
        assert!(!wanted("/x?after=1", &[]).resumes && !wanted("/x", &[("last-event-id", " ")]).resumes);
        assert!(is_ticket("hwt_x") && !is_ticket("hw_x"));
    }
}
