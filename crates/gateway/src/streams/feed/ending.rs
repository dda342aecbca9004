//! How a tool call ended, in the tool's format: exit code, success and error.

use headwater_protocol::{ExitDetail, LimitKind, Reason, Verdict};

use super::tool_calls::Source;

/// Exit codes of programs that did not exit by themselves.
const TIMED_OUT: i32 = -99;
const NOT_FOUND: i32 = -100;
const NOT_SET_UP: i32 = -101;

/// How a tool call ended, in the tool's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(super) exit_code: i32,
    pub(super) success: bool,
    pub(super) error: Option<String>,
    source: Option<Source>,
    /// How many bytes were printed to stdout and to stderr, including bytes that are no longer kept.
    pub(super) printed: [u64; 2],
}

impl Ending {
    /// Converts a verdict.
    pub(crate) fn of(verdict: &Verdict) -> Self {
        let message = || verdict.message.clone();
        let code = || verdict.exit_status().unwrap_or(NOT_SET_UP);
        let (exit_code, error, source) = match verdict.reason {
            Reason::Exited => (code(), message(), None),
            Reason::Signalled => {
                let killed = || verdict.signal.map(|signal| format!("killed by signal {signal}"));
                (code(), message().or_else(killed), None)
            }
            Reason::TimedOut => (TIMED_OUT, Some(timed_out(verdict)), Some(Source::Timeout)),
            Reason::Cancelled => (code(), Some("cancelled".into()), None),
            Reason::SetupFailed => return Self::not_started(verdict),
            Reason::Oom | Reason::OutputLimit | Reason::DiskLimit | Reason::Lost => {
                let error = message().unwrap_or_else(|| verdict.reason.name().replace('_', " "));
                (code(), Some(error), Some(Source::Error))
            }
        };
        let success = verdict.reason == Reason::Exited && exit_code == 0;
        let printed = [verdict.stdout_bytes + verdict.output_bytes, verdict.stderr_bytes];
        Self { exit_code, success, error, source, printed }
    }

    /// Converts the verdict of a program that did not start.
    fn not_started(verdict: &Verdict) -> Self {
        match &verdict.detail {
            Some(ExitDetail::CommandNotFound { name } | ExitDetail::InterpreterNotFound { name }) => {
                Self::missing(name)
            }
            _ => Self::failed(NOT_SET_UP, verdict.message.clone().unwrap_or_default()),
        }
    }

    /// The ending for a command or runtime that does not exist.
    pub(crate) fn missing(name: &str) -> Self {
        Self::failed(NOT_FOUND, format!("Command or runtime not found: {name}"))
    }

    const fn failed(exit_code: i32, error: String) -> Self {
        Self { exit_code, success: false, error: Some(error), source: Some(Source::Error), printed: [0; 2] }
    }

    /// The server's message in the output, and its source.
    pub(crate) fn server_text(&self) -> Option<(Source, &str)> {
        self.source.zip(self.error.as_deref())
    }

    /// The exit code; a negative one if the program has none of its own.
    pub(crate) const fn exit_code(&self) -> i32 {
        self.exit_code
    }

    /// The line that is appended to stderr if the program has no exit code of its own.
    pub(crate) fn last_line(&self) -> Option<String> {
        let (source, text) = self.server_text()?;
        match (source, self.exit_code) {
            (Source::Timeout, _) => Some(format!("[SYSTEM: {text}]")),
            (_, NOT_FOUND | NOT_SET_UP) => Some(text.to_owned()),
            _ => None,
        }
    }
}

/// Describes which limit was exceeded. Without a detail (from an older worker), names the duration.
fn timed_out(verdict: &Verdict) -> String {
    let after_ms = match verdict.detail {
        Some(ExitDetail::Limit { which: LimitKind::CpuMs, limit }) => {
            let seconds = in_seconds(limit);
            return format!("Execution timed out: used more than {seconds} s of cpu time.");
        }
        Some(ExitDetail::TimedOut { after_ms }) => after_ms,
        _ => verdict.duration_ms,
    };
    format!("Execution timed out after {} seconds.", in_seconds(after_ms))
}

fn in_seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_reported_in_seconds() {
        let text = |detail| {
            let verdict = Verdict { detail, duration_ms: 1500, ..Verdict::new(Reason::TimedOut) };
            timed_out(&verdict)
        };
        let wall = ExitDetail::TimedOut { after_ms: 700 };
        assert_eq!(text(Some(wall)), "Execution timed out after 0.7 seconds.");
        assert_eq!(text(None), "Execution timed out after 1.5 seconds.");
        let cpu = ExitDetail::Limit { which: LimitKind::CpuMs, limit: 1000 };
        assert_eq!(text(Some(cpu)), "Execution timed out: used more than 1 s of cpu time.");
    }
}
