//! How a call of `code_execution` ended, in the tool's format: exit code, success and error.

use headwater_protocol::{ExitDetail, LimitKind, Reason, Verdict};

/// Why a program has no exit code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// It timed out.
    Timeout,
    /// It could not be started, or was ended.
    Error,
}

/// How a call ended, in the tool's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeEnd {
    /// The exit code of the program; 128 plus the signal's number if a signal ended it; -99 after a timeout; -100 if the
    /// command or runtime does not exist; -101 if it could not be started for another reason, or its end is unknown.
    pub exit_code: i32,
    /// Whether the program exited with 0.
    pub success: bool,
    /// A description of the error, if the exit code does not say enough.
    pub error: Option<String>,
    cause: Option<EndCause>,
    /// How many bytes were printed to stdout and to stderr, including bytes that are no longer kept.
    pub printed: [u64; 2],
}

impl CodeEnd {
    /// The exit code of a program that was ended at its time limit.
    pub const TIMED_OUT: i32 = -99;
    /// The exit code if the command or runtime does not exist.
    pub const NOT_FOUND: i32 = -100;
    /// The exit code if the program could not be started for another reason, or its end is unknown.
    pub const NOT_SET_UP: i32 = -101;

    /// Converts a verdict.
    pub fn of(verdict: &Verdict) -> Self {
        let message = || verdict.message.clone();
        let code = || verdict.exit_status().unwrap_or(Self::NOT_SET_UP);
        let (exit_code, error, cause) = match verdict.reason {
            Reason::Exited => (code(), message(), None),
            Reason::Signalled => {
                let killed = || verdict.signal.map(|signal| format!("killed by signal {signal}"));
                (code(), message().or_else(killed), None)
            }
            Reason::TimedOut => (Self::TIMED_OUT, Some(timed_out(verdict)), Some(EndCause::Timeout)),
            Reason::Cancelled => (code(), Some("cancelled".into()), None),
            Reason::SetupFailed => return Self::not_started(verdict),
            Reason::Oom | Reason::OutputLimit | Reason::DiskLimit | Reason::Lost => {
                let error = message().unwrap_or_else(|| verdict.reason.name().replace('_', " "));
                (code(), Some(error), Some(EndCause::Error))
            }
        };
        let success = verdict.reason == Reason::Exited && exit_code == 0;
        let printed = [verdict.stdout_bytes + verdict.output_bytes, verdict.stderr_bytes];
        Self { exit_code, success, error, cause, printed }
    }

    /// Converts the verdict of a program that did not start.
    fn not_started(verdict: &Verdict) -> Self {
        match &verdict.detail {
            Some(ExitDetail::CommandNotFound { name } | ExitDetail::InterpreterNotFound { name }) => {
                Self::missing(name)
            }
            _ => Self::failed(Self::NOT_SET_UP, verdict.message.clone().unwrap_or_default()),
        }
    }

    /// The ending for a command or runtime that does not exist.
    pub fn missing(name: &str) -> Self {
        Self::failed(Self::NOT_FOUND, format!("Command or runtime not found: {name}"))
    }

    const fn failed(exit_code: i32, error: String) -> Self {
        Self { exit_code, success: false, error: Some(error), cause: Some(EndCause::Error), printed: [0; 2] }
    }

    /// The server's message in the output, and its cause.
    pub fn server_text(&self) -> Option<(EndCause, &str)> {
        self.cause.zip(self.error.as_deref())
    }

    /// The line that is appended to stderr if the program has no exit code of its own.
    pub fn last_line(&self) -> Option<String> {
        let (cause, text) = self.server_text()?;
        match (cause, self.exit_code) {
            (EndCause::Timeout, _) => Some(format!("[SYSTEM: {text}]")),
            (_, Self::NOT_FOUND | Self::NOT_SET_UP) => Some(text.to_owned()),
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
