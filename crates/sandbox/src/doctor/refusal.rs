//! The result of a trial.

use std::fmt::Display;
use std::io;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Check;
use super::facts::{Facts, Topic};

/// What was found, or why it does not work.
pub(super) type Finding = Result<String, Refusal>;

/// An operation that the kernel refused, or that did not have its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// What was tried, and the result.
    pub(super) message: String,
    /// The kernel's error number, or 0 if it did not refuse.
    pub(super) errno: i32,
}

impl Refusal {
    /// The kernel reported success, but the effect is missing.
    pub(super) fn unexpected(message: impl Display) -> Self {
        Self { message: message.to_string(), errno: 0 }
    }

    fn new(what: impl Display, errno: Errno) -> Self {
        Self { message: format!("cannot {what}: {errno}"), errno: errno.raw_os_error() }
    }
}

/// Adds what was tried to an error.
pub(super) trait OrRefused<T> {
    /// Converts an error to a refusal that names what was tried.
    fn or_refused(self, what: impl Display) -> Result<T, Refusal>;
}

impl<T> OrRefused<T> for Result<T, Errno> {
    fn or_refused(self, what: impl Display) -> Result<T, Refusal> {
        self.map_err(|errno| Refusal::new(what, errno))
    }
}

impl<T> OrRefused<T> for io::Result<T> {
    fn or_refused(self, what: impl Display) -> Result<T, Refusal> {
        self.map_err(|error| Refusal {
            message: format!("cannot {what}: {error}"),
            errno: error.raw_os_error().unwrap_or(0),
        })
    }
}

/// The error of the last failed libc call.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// A check without which no session can run.
pub(super) fn needed(name: &str, topic: Topic, facts: &Facts, tried: Finding) -> Check {
    match tried {
        Ok(detail) => Check::fine(name, detail),
        Err(refusal) => {
            let fix = facts.fix(topic, refusal.errno);
            Check::failure(name, refusal.message, fix)
        }
    }
}
