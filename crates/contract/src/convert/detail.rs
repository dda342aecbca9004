//! Conversions of the detail of a verdict.
//!
//! A kind of a later version is read as [`ExitDetail::Other`], so that no verdict is lost because its detail
//! is new.

use headwater_protocol::{ExitDetail, LimitKind};

use crate::v1;
use crate::v1::exit_detail::Kind;

impl From<&ExitDetail> for v1::ExitDetail {
    fn from(detail: &ExitDetail) -> Self {
        let kind = match detail {
            ExitDetail::CommandNotFound { name } => Some(Kind::CommandNotFound(name.clone())),
            ExitDetail::InterpreterNotFound { name } => Some(Kind::InterpreterNotFound(name.clone())),
            ExitDetail::NotExecutable { name } => Some(Kind::NotExecutable(name.clone())),
            ExitDetail::BadWorkingDirectory { path } => Some(Kind::BadWorkingDirectory(path.clone())),
            ExitDetail::ArgumentsTooLong => Some(Kind::ArgumentsTooLong(true)),
            ExitDetail::NoResources => Some(Kind::NoResources(true)),
            ExitDetail::TimedOut { after_ms } => Some(Kind::TimedOutAfterMs(*after_ms)),
            ExitDetail::Limit { which, limit } => Some(Kind::Limit(v1::LimitReached {
                which: v1::LimitKind::from(*which).into(),
                limit: *limit,
            })),
            ExitDetail::SessionEnded => Some(Kind::SessionEnded(true)),
            ExitDetail::SessionHibernated => Some(Kind::SessionHibernated(true)),
            ExitDetail::Other => None,
        };
        Self { kind }
    }
}

impl From<v1::ExitDetail> for ExitDetail {
    fn from(detail: v1::ExitDetail) -> Self {
        match detail.kind {
            Some(Kind::CommandNotFound(name)) => Self::CommandNotFound { name },
            Some(Kind::InterpreterNotFound(name)) => Self::InterpreterNotFound { name },
            Some(Kind::NotExecutable(name)) => Self::NotExecutable { name },
            Some(Kind::BadWorkingDirectory(path)) => Self::BadWorkingDirectory { path },
            Some(Kind::ArgumentsTooLong(_)) => Self::ArgumentsTooLong,
            Some(Kind::NoResources(_)) => Self::NoResources,
            Some(Kind::TimedOutAfterMs(after_ms)) => Self::TimedOut { after_ms },
            Some(Kind::Limit(reached)) => match limit(reached.which()) {
                Some(which) => Self::Limit { which, limit: reached.limit },
                None => Self::Other,
            },
            Some(Kind::SessionEnded(_)) => Self::SessionEnded,
            Some(Kind::SessionHibernated(_)) => Self::SessionHibernated,
            None => Self::Other,
        }
    }
}

impl From<LimitKind> for v1::LimitKind {
    fn from(which: LimitKind) -> Self {
        match which {
            LimitKind::MemoryBytes => Self::MemoryBytes,
            LimitKind::CpuMs => Self::CpuMs,
            LimitKind::OutputBytes => Self::OutputBytes,
            LimitKind::DiskBytes => Self::DiskBytes,
            LimitKind::Inodes => Self::Inodes,
            LimitKind::FileBytes => Self::FileBytes,
        }
    }
}

const fn limit(which: v1::LimitKind) -> Option<LimitKind> {
    Some(match which {
        v1::LimitKind::Unspecified => return None,
        v1::LimitKind::MemoryBytes => LimitKind::MemoryBytes,
        v1::LimitKind::CpuMs => LimitKind::CpuMs,
        v1::LimitKind::OutputBytes => LimitKind::OutputBytes,
        v1::LimitKind::DiskBytes => LimitKind::DiskBytes,
        v1::LimitKind::Inodes => LimitKind::Inodes,
        v1::LimitKind::FileBytes => LimitKind::FileBytes,
    })
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Reason, Verdict};

    use super::*;

    #[test]
    fn every_detail_survives_the_wire() {
        let limits = [
            LimitKind::MemoryBytes,
            LimitKind::CpuMs,
            LimitKind::OutputBytes,
            LimitKind::DiskBytes,
            LimitKind::Inodes,
            LimitKind::FileBytes,
        ];
        let limits = limits.map(|which| ExitDetail::Limit { which, limit: 7 });
        let others = [
            ExitDetail::command_not_found("a"),
            ExitDetail::interpreter_not_found("b"),
            ExitDetail::not_executable("c"),
            ExitDetail::bad_working_directory("/d"),
            ExitDetail::ArgumentsTooLong,
            ExitDetail::NoResources,
            ExitDetail::TimedOut { after_ms: 9 },
            ExitDetail::SessionEnded,
            ExitDetail::SessionHibernated,
            ExitDetail::Other,
        ];
        for detail in limits.into_iter().chain(others) {
            assert_eq!(ExitDetail::from(v1::ExitDetail::from(&detail)), detail);
        }
    }

    #[test]
    fn an_earlier_worker_sends_no_detail_and_a_later_one_may_send_unknown_ones() {
        let earlier = v1::Verdict { reason: "timed_out".into(), ..v1::Verdict::default() };
        assert_eq!(Verdict::try_from(earlier), Ok(Verdict::new(Reason::TimedOut)));
        let reached = v1::LimitReached { which: 99, limit: 1 };
        let later = v1::ExitDetail { kind: Some(Kind::Limit(reached)) };
        assert_eq!(ExitDetail::from(later), ExitDetail::Other);
        assert_eq!(ExitDetail::from(v1::ExitDetail::default()), ExitDetail::Other);
    }
}
