//! Tickets: what a browser shows instead of a token where it can set no header. Each is good once, for 30 seconds.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Credential;

/// How long a ticket is good.
pub(crate) const LIFETIME: Duration = Duration::from_secs(30);
/// Tickets that nobody used; past this the oldest go.
const MAX: usize = 10_000;
/// What makes a ticket recognisable.
const PREFIX: &str = "hwt_";

/// The tickets that were given out and not used yet, each with the credential that it stands for: what that may is
/// looked up when the ticket is used, so that it ends with it.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, (Credential, Instant)>>);

impl Tickets {
    /// A ticket for whoever has this credential.
    pub(crate) fn issue(&self, credential: Credential, now: Instant) -> String {
        let ticket = format!("{PREFIX}{:032x}", headwater_protocol::SessionId::random().bits());
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tickets.len() >= MAX {
            tickets.retain(|_, (_, until)| *until > now);
        }
        if tickets.len() >= MAX {
            let oldest =
                tickets.iter().min_by_key(|(_, (_, until))| *until).map(|(ticket, _)| ticket.clone());
            oldest.and_then(|ticket| tickets.remove(&ticket));
        }
        tickets.insert(ticket.clone(), (credential, now + LIFETIME));
        ticket
    }

    /// Whether a text looks like a ticket.
    pub(crate) fn looks_like(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Uses a ticket up; tells what it stands for.
    pub(crate) fn redeem(&self, ticket: &str, now: Instant) -> Option<Credential> {
        let (credential, until) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(ticket)?;
        (now < until).then_some(credential)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_not_for_long() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let ticket = tickets.issue(Credential::Token([7; 32]), now);
        assert_eq!(tickets.redeem(&ticket, now), Some(Credential::Token([7; 32])));
        assert_eq!(tickets.redeem(&ticket, now), None);
        let late = tickets.issue(Credential::Token([7; 32]), now);
        assert_eq!(tickets.redeem(&late, now + LIFETIME), None);
        assert!(Tickets::looks_like(&late) && !Tickets::looks_like("hw_x"));
    }
}
