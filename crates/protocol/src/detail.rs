//! Details of an execution's end, for programs, beyond its [`Reason`](crate::Reason).

use serde::{Deserialize, Serialize};

/// The longest name or path in a detail, in bytes. The message has the whole name.
const MAX_NAME_BYTES: usize = 4096;

/// What is known of an execution's end beyond its reason. Later versions may add kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExitDetail {
    /// `setup_failed`: the command does not exist.
    CommandNotFound {
        /// The command as given; at most 4096 bytes of it.
        name: String,
    },
    /// `setup_failed`: the program names an interpreter that does not exist.
    InterpreterNotFound {
        /// The program; at most 4096 bytes of its name.
        name: String,
    },
    /// `setup_failed`: the program exists, but it cannot be executed.
    NotExecutable {
        /// The program; at most 4096 bytes of its name.
        name: String,
    },
    /// `setup_failed`: the working directory does not exist, is not a directory or may not be entered.
    BadWorkingDirectory {
        /// Its path; at most 4096 bytes of it.
        path: String,
    },
    /// `setup_failed`: arguments and environment are longer than the kernel accepts.
    ArgumentsTooLong,
    /// `setup_failed`: the session or the host has no process, memory or file descriptor left.
    NoResources,
    /// `timed_out`: the wall-clock time ran out.
    TimedOut {
        /// The timeout of the execution, in milliseconds.
        after_ms: u64,
    },
    /// A limit was reached. With the reason `exited` it ended a process of the execution, but not the program
    /// itself.
    Limit {
        /// The limit that was reached.
        which: LimitKind,
        /// Its value, in the unit of its name.
        limit: u64,
    },
    /// `cancelled`: the session was ended.
    SessionEnded,
    /// `cancelled`: the session was hibernated.
    SessionHibernated,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// A limit, by its name in `limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Memory of the session or of the execution.
    MemoryBytes,
    /// Processor time of each process.
    CpuMs,
    /// Output of the execution.
    OutputBytes,
    /// Disk use of the session.
    DiskBytes,
    /// Files and directories of the session.
    Inodes,
    /// Size of one file.
    FileBytes,
}

impl ExitDetail {
    /// The command does not exist.
    pub fn command_not_found(name: &str) -> Self {
        Self::CommandNotFound { name: bounded(name) }
    }

    /// The program names an interpreter that does not exist.
    pub fn interpreter_not_found(name: &str) -> Self {
        Self::InterpreterNotFound { name: bounded(name) }
    }

    /// The program cannot be executed.
    pub fn not_executable(name: &str) -> Self {
        Self::NotExecutable { name: bounded(name) }
    }

    /// The working directory cannot be used.
    pub fn bad_working_directory(path: &str) -> Self {
        Self::BadWorkingDirectory { path: bounded(path) }
    }
}

fn bounded(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_an_object_with_its_kind() {
        for (detail, json) in [
            (ExitDetail::command_not_found("x"), r#"{"kind":"command_not_found","name":"x"}"#),
            (ExitDetail::interpreter_not_found("x"), r#"{"kind":"interpreter_not_found","name":"x"}"#),
            (ExitDetail::not_executable("x"), r#"{"kind":"not_executable","name":"x"}"#),
            (ExitDetail::bad_working_directory("/x"), r#"{"kind":"bad_working_directory","path":"/x"}"#),
            (ExitDetail::ArgumentsTooLong, r#"{"kind":"arguments_too_long"}"#),
            (ExitDetail::NoResources, r#"{"kind":"no_resources"}"#),
            (ExitDetail::TimedOut { after_ms: 5 }, r#"{"kind":"timed_out","after_ms":5}"#),
            (
                ExitDetail::Limit { which: LimitKind::CpuMs, limit: 7 },
                r#"{"kind":"limit","which":"cpu_ms","limit":7}"#,
            ),
            (ExitDetail::SessionEnded, r#"{"kind":"session_ended"}"#),
            (ExitDetail::SessionHibernated, r#"{"kind":"session_hibernated"}"#),
        ] {
            assert_eq!(serde_json::to_string(&detail).unwrap(), json);
            assert_eq!(serde_json::from_str::<ExitDetail>(json).unwrap(), detail);
        }
    }

    #[test]
    fn a_kind_of_a_later_version_is_read_as_other() {
        let later = r#"{"kind":"eaten_by_a_grue","where":"here"}"#;
        assert_eq!(serde_json::from_str::<ExitDetail>(later).unwrap(), ExitDetail::Other);
    }

    #[test]
    fn a_long_name_is_cut_at_a_character() {
        let ExitDetail::CommandNotFound { name } = ExitDetail::command_not_found(&"\u{e9}".repeat(4000))
        else {
            panic!("another kind");
        };
        assert_eq!(name, "\u{e9}".repeat(2048));
    }
}
