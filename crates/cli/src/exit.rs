//! Converts a verdict to an exit code and, unless the program exited normally, a line of text.

use headwater_protocol::{ExitDetail, Reason, Verdict};

use crate::error::ErrorKind;
use crate::escape::printable;
use crate::{humanize, signals};

/// An error of headwater itself: there is no exit code of the program.
pub const OWN_FAILURE: u8 = 125;
/// Part of the output was not shown: it was no longer kept, or we read too slowly.
pub const OUTPUT_MISSING: u8 = 123;
/// The reader of our output closed it: the code that a shell reports for SIGPIPE.
pub const READER_GONE: u8 = 141;
/// Cancelled, for example with Ctrl+C.
pub const CANCELLED: u8 = 130;

/// A time limit was exceeded.
pub const TIMED_OUT: u8 = 124;
const NOT_EXECUTABLE: u8 = 126;
/// The program does not exist.
pub const NOT_FOUND: u8 = 127;
const OUT_OF_MEMORY: u8 = 137;

/// The exit code of a command that failed. For a command whose exit code is that of a program it is [`OWN_FAILURE`],
/// except for missing output.
pub const fn of_failure(kind: ErrorKind, runs_a_program: bool) -> u8 {
    match kind {
        ErrorKind::OutputMissing => OUTPUT_MISSING,
        _ if runs_a_program => OWN_FAILURE,
        kind => kind.exit_code(),
    }
}

/// The exit code of `headwater run`.
pub fn code(verdict: &Verdict) -> u8 {
    match verdict.reason {
        Reason::Exited | Reason::Signalled => {
            let status = verdict.exit_status().and_then(|status| u8::try_from(status & 0xFF).ok());
            status.unwrap_or(OWN_FAILURE)
        }
        Reason::TimedOut => TIMED_OUT,
        Reason::Cancelled => CANCELLED,
        Reason::Oom => OUT_OF_MEMORY,
        Reason::SetupFailed => setup_code(verdict.detail.as_ref()),
        Reason::OutputLimit | Reason::DiskLimit | Reason::Lost => OWN_FAILURE,
    }
}

fn setup_code(detail: Option<&ExitDetail>) -> u8 {
    match detail {
        Some(ExitDetail::CommandNotFound { .. }) => NOT_FOUND,
        Some(ExitDetail::NotExecutable { .. } | ExitDetail::InterpreterNotFound { .. }) => NOT_EXECUTABLE,
        _ => OWN_FAILURE,
    }
}

/// One line that says how the program ended; `None` if it exited normally.
pub fn line(verdict: &Verdict) -> Option<String> {
    let after = || humanize::duration(verdict.duration_ms);
    let message = verdict.message.as_deref().map(printable);
    let what = match verdict.reason {
        Reason::Exited => return None,
        Reason::SetupFailed => {
            return Some(message.unwrap_or_else(|| "the program could not be started".into()));
        }
        Reason::Signalled => {
            format!("killed by {}", verdict.signal.map_or_else(|| "a signal".into(), signals::name))
        }
        Reason::TimedOut => {
            return Some(message.unwrap_or_else(|| format!("timed out after {}", after())));
        }
        Reason::Cancelled => "cancelled".into(),
        Reason::Oom => "out of memory".into(),
        Reason::OutputLimit => "ended: output limit exceeded".into(),
        Reason::DiskLimit => "ended: disk limit exceeded".into(),
        Reason::Lost => "lost: its exit status is unknown".into(),
    };
    Some(match message {
        Some(message) => format!("{what} ({message})"),
        None => what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    fn verdict(
        reason: Reason,
        code: Option<i32>,
        signal: Option<i32>,
        detail: Option<ExitDetail>,
    ) -> Verdict {
        Verdict { code, signal, detail, duration_ms: 10_020, ..Verdict::new(reason) }
    }

    #[test]
    fn every_end_has_its_exit_code() {
        let not_found = ExitDetail::command_not_found("x");
        let no_interpreter = ExitDetail::interpreter_not_found("x");
        for (reason, exit, signal, detail, expected) in [
            (Reason::Exited, Some(0), None, None, 0),
            (Reason::Exited, Some(42), None, None, 42),
            (Reason::Signalled, None, Some(11), None, 139),
            (Reason::Signalled, None, None, None, 125),
            (Reason::TimedOut, None, Some(15), None, 124),
            (Reason::Cancelled, None, Some(9), None, 130),
            (Reason::Oom, None, Some(9), None, 137),
            (Reason::SetupFailed, None, None, Some(not_found), 127),
            (Reason::SetupFailed, None, None, Some(ExitDetail::not_executable("x")), 126),
            (Reason::SetupFailed, None, None, Some(no_interpreter), 126),
            (Reason::SetupFailed, None, None, Some(ExitDetail::bad_working_directory("x")), 125),
            (Reason::Lost, None, None, None, 125),
            (Reason::OutputLimit, None, Some(15), None, 125),
        ] {
            let verdict = verdict(reason, exit, signal, detail);
            assert_eq!(code(&verdict), expected, "{verdict:?}");
        }
    }

    /// The rows of the table in `docs/cli.md`: codes, and the commands that use them.
    fn documented() -> Vec<(String, String)> {
        let text = include_str!("../../../docs/cli.md");
        let table = text.split("<!-- exit codes").nth(1).unwrap();
        let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
        let cell = |line: &str, at| line.split('|').nth(at).unwrap_or_default().trim().to_owned();
        rows.map(|line| (cell(line, 1), cell(line, 2))).collect()
    }

    #[test]
    fn the_documented_exit_codes_are_those_of_the_code() {
        let mut codes: Vec<u8> = ErrorKind::ALL
            .into_iter()
            .flat_map(|kind| [of_failure(kind, false), of_failure(kind, true)])
            .collect();
        codes.extend(Reason::ALL.map(|reason| code(&verdict(reason, Some(0), None, None))));
        codes.extend([NOT_EXECUTABLE, NOT_FOUND, READER_GONE, crate::start::ALREADY_RUNNING]);
        codes.sort_unstable();
        codes.dedup();
        let documented = documented();
        let numbers: Vec<u8> = documented.iter().filter_map(|(code, _)| code.parse().ok()).collect();
        assert_eq!(numbers, codes);
        assert!(documented.iter().any(|(code, _)| code == "128+N"));
        let programs = documented.iter().filter(|(code, _)| ["125", "126", "127"].contains(&code.as_str()));
        assert!(programs.into_iter().all(|(_, commands)| commands == "`run`, `exec`, `attach`, `shell`"));
    }

    #[test]
    fn every_end_matches_the_snapshot() {
        let lines = Reason::ALL.into_iter().flat_map(|reason| {
            let plain = verdict(reason, None, Some(11), None);
            let message = Some("the engine's message".to_owned());
            let explained = Verdict { message, ..plain.clone() };
            [plain, explained].map(|one| format!("{}: {}", reason.name(), line(&one).unwrap_or_default()))
        });
        snapshot::assert("ends", &lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn only_a_normal_exit_has_no_line() {
        for reason in Reason::ALL {
            let line = line(&verdict(reason, None, Some(11), None));
            assert_eq!(line.is_none(), reason == Reason::Exited, "{reason:?}");
        }
        assert_eq!(line(&verdict(Reason::TimedOut, None, None, None)).unwrap(), "timed out after 10 s");
        assert_eq!(line(&verdict(Reason::Signalled, None, Some(11), None)).unwrap(), "killed by SIGSEGV");
    }
}
