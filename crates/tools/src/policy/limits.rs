//! Limits above those of a session, for one command.

use headwater_protocol::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits that a command asks for. A limit that is absent stays that of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MoreLimits {
    /// Time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub pids: Option<u64>,
}

impl MoreLimits {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes the higher one of each limit.
    pub(super) fn merge(&mut self, other: &Self) {
        // A limit that is absent is lower than any other.
        self.wall_ms = self.wall_ms.max(other.wall_ms);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        self.pids = self.pids.max(other.pids);
    }

    /// Whether each limit in `other` is at most the same one here.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let pairs = self.all().into_iter().zip(other.all());
        pairs.into_iter().all(|((own, _), (other, _))| other.is_none_or(|other| own >= Some(other)))
    }

    /// The limits of a session, raised to these. None is lowered.
    #[must_use]
    pub fn raise(&self, limits: &Limits) -> Limits {
        // A session without a limit has more than any limit.
        let raised =
            |own: Option<u64>, wanted: Option<u64>| own.map(|own| wanted.map_or(own, |w| w.max(own)));
        Limits {
            wall_ms: raised(limits.wall_ms, self.wall_ms),
            memory_bytes: raised(limits.memory_bytes, self.memory_bytes),
            pids: raised(limits.pids, self.pids),
            ..limits.clone()
        }
    }

    /// Each limit with its unit, for people.
    pub(super) fn all(&self) -> [(Option<u64>, &'static str); 3] {
        [(self.wall_ms, "ms of time"), (self.memory_bytes, "bytes of memory"), (self.pids, "processes")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_raised_and_never_lowered_or_invented() {
        let own = Limits { wall_ms: Some(1000), memory_bytes: Some(5000), ..Limits::default() };
        let more = MoreLimits { wall_ms: Some(2000), memory_bytes: Some(10), pids: Some(3) };
        let raised = more.raise(&own);
        assert_eq!((raised.wall_ms, raised.memory_bytes, raised.pids), (Some(2000), Some(5000), None));
        assert_eq!(MoreLimits::default().raise(&own), own);
    }

    #[test]
    fn a_limit_covers_those_that_are_not_higher() {
        let wall = |ms| MoreLimits { wall_ms: Some(ms), ..MoreLimits::default() };
        assert!(
            wall(2).covers(&wall(2)) && wall(2).covers(&wall(1)) && wall(2).covers(&MoreLimits::default())
        );
        assert!(!wall(2).covers(&wall(3)) && !MoreLimits::default().covers(&wall(1)));
    }
}
