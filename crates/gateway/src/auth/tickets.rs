//! Tickets, which a browser sends in place of a token where it cannot set a header.
//!
//! A ticket opens one stream within 30 seconds. It then resumes only this stream, while the credential that it was issued
//! for is valid. `EventSource` reconnects to its original address, so the ticket in that address must outlive the
//! connection and the server process. The store has the hash of each ticket.

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
/// A ticket whose stream is not resumed for this long is removed.
const RESUME_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// Tickets of one owner; the least recently used ones are removed first. Browsers do not keep more streams open.
const MAX_OF_OWNER: u32 = 2_000;
/// The time of a ticket's last use is written at most this often.
const LAST_USE_INTERVAL: Duration = Duration::from_mins(1);
/// The prefix of tickets.
const PREFIX: &str = "hwt_";
/// The header with which a browser's `EventSource` resumes.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";
/// The `id` at the beginning of a stream that a ticket opened. `EventSource` repeats it if the connection is lost before
/// the first event; it is not a position, and the stream starts again as its query says.
pub(crate) const AT_START: &str = "start";
/// Query parameters that do not identify the stream.
const UNBOUND_PARAMETERS: [&str; 7] = ["token", "after", "skip", "tail", "execution_id", "rows", "cols"];

/// Whether a text looks like a ticket.
pub(crate) fn is_ticket(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// The stream that a request opens or resumes with a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TicketStream {
    /// Identifies the stream.
    binding: String,
    /// Whether the request resumes the stream.
    resumes: bool,
}

impl TicketStream {
    /// The stream of this request.
    pub(super) fn of(request: &Request) -> Self {
        let is_socket = request.headers().contains_key(header::UPGRADE);
        let query = request.uri().query().unwrap_or_default();
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut bound: Vec<_> = pairs
            .clone()
            .filter(|(name, _)| !name.is_empty() && !UNBOUND_PARAMETERS.contains(name))
            .collect();
        bound.sort_unstable();
        let resumes = if is_socket {
            pairs.into_iter().any(|(name, value)| name == "after" && !value.is_empty())
        } else {
            request.headers().get(LAST_EVENT_ID).is_some_and(|id| !id.as_bytes().trim_ascii().is_empty())
        };
        let kind = if is_socket { "socket" } else { "events" };
        let bound: Vec<_> = bound.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        // Hashed, because paths and parameters may be long and private.
        let text = format!("{kind} {}?{}", request.uri().path(), bound.join("&"));
        Self { binding: super::token::hex(&hash(&text)), resumes }
    }
}

impl Auth {
    /// Issues a ticket for the credential of `who`.
    pub(crate) async fn issue_ticket(&self, who: &Identity) -> Result<String, ApiError> {
        let (ticket, now) = (format!("{PREFIX}{}", random_hex()), now_ms());
        let row = TicketRow {
            hash: hash(&ticket),
            owner: self.ticket_owner(who).await?,
            credential: who.credential.to_text(),
            binding: None,
            opened_by: None,
            used_at_ms: now,
            expires_at_ms: after(now, LIFETIME),
        };
        self.store.put_ticket(&row, MAX_OF_OWNER).await?;
        Ok(ticket)
    }

    /// The owner that a ticket counts for. All links to the sessions of one owner count together and apart from the
    /// owner: they can neither fill the store nor displace the owner's tickets.
    async fn ticket_owner(&self, who: &Identity) -> Result<String, ApiError> {
        let session = who.bounds.sessions.as_deref().and_then(|sessions| sessions.first());
        match (who.bounds.link, session) {
            (Some(_), Some(session)) => {
                Ok(format!("links of {}", self.owner_of(*session).await?.unwrap_or_default()))
            }
            (Some(_), None) => {
                let conversation = match &who.bounds.conversation {
                    Some(id) => self.store.conversation(id).await?,
                    None => None,
                };
                Ok(format!("links of {}", conversation.map(|row| row.owner).unwrap_or_default()))
            }
            _ => Ok(who.owner.clone()),
        }
    }

    /// The credential of a ticket, if it may be used for this stream. The caller checks whether the credential is valid.
    pub(super) async fn redeem(
        &self,
        ticket: &str,
        wanted: &TicketStream,
    ) -> Result<Option<Credential>, ApiError> {
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
            expires_at_ms: after(now, RESUME_LIFETIME).min(latest),
        };
        if row.binding.is_none() && self.store.open_ticket(&hash, &used).await? {
            return Ok(Some(credential));
        }
        // Another request may have opened it just now.
        let row = if row.binding.is_none() { self.store.ticket(&hash).await?.unwrap_or(row) } else { row };
        if !self.may_resume(&row, wanted, now) {
            return Ok(None);
        }
        let is_recorded = row.opened_by.as_ref() == Some(&self.process)
            && now.saturating_sub(row.used_at_ms) < millis(LAST_USE_INTERVAL);
        if !is_recorded {
            self.store.touch_ticket(&hash, &used).await?;
        }
        Ok(Some(credential))
    }

    /// Whether this is the stream that the ticket opened, and the request resumes it. A client whose server was killed
    /// before the response arrived has no position to resume from: it may open the same stream again on the next server.
    fn may_resume(&self, row: &TicketRow, wanted: &TicketStream, now: u64) -> bool {
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

/// Puts an `id` before the first event of a stream that a ticket opened: without it, `EventSource` would reconnect
/// without `Last-Event-ID`.
pub(super) fn with_first_id(wanted: &TicketStream, response: Response) -> Response {
    let is_events =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if wanted.resumes || !is_events {
        return response;
    }
    let first = Bytes::from(format!("id: {AT_START}\n\n"));
    response.map(|body| {
        use futures_util::StreamExt;
        let first = futures_util::stream::once(async { Ok(first) });
        axum::body::Body::from_stream(first.chain(body.into_data_stream()))
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn wanted(uri: &str, headers: &[(&str, &str)]) -> TicketStream {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        TicketStream::of(&request.body(Body::empty()).unwrap())
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
