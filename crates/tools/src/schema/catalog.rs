//! The list of all tools, with the descriptions that a model reads.

use serde::Serialize;
use serde_json::Value;

use super::clean::{result_schema_of, schema_of};
use super::parse::{ArgumentError, parse};
use super::{
    ApplyPatch, CodeExecution, EditFile, ExecCommand, ExecResult, GrepFiles, Kill, ListDir, ListExecutions,
    ReadFile, ReadOutput, Resize, RunCode, RunCommand, Shell, ShellCommand, ViewImage, Wait, WriteFile,
    WriteStdin,
};

/// What a tool does to its environment, for clients that ask before they call one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the four hints of the Model Context Protocol")]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It can remove or overwrite something.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It can reach beyond the session, for example the network.
    pub open_world: bool,
}

const READS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
const RUNS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
const CHANGES: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: false };
const SETS: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };
const ADJUSTS: Hints = Hints { read_only: false, destructive: false, idempotent: true, open_world: false };

/// A tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// The name that a model calls it by.
    pub name: &'static str,
    /// What it does, for a model.
    pub description: &'static str,
    /// What it does to its environment.
    pub hints: Hints,
    /// The schema of its arguments.
    pub schema: fn() -> Value,
    /// The schema of its result, if that is more than text.
    pub result: Option<fn() -> Value>,
    pub(super) parse: fn(&Self, Value) -> Result<Call, ArgumentError>,
}

impl Tool {
    /// Reads a call of this tool. `arguments` is an object, or the text of one.
    pub fn call(&self, arguments: Value) -> Result<Call, ArgumentError> {
        (self.parse)(self, arguments)
    }
}

macro_rules! tools {
    ($(
        $(#[doc = $doc:literal])+
        $list:ident {$($kind:ident $name:literal $hints:ident $result:expr, $description:literal;)*}
    )*) => {
        /// A call of a tool with its arguments. It serializes as the arguments, with their defaults.
        #[derive(Debug, Clone, Serialize)]
        #[serde(untagged)]
        pub enum Call {
            $($(#[doc = concat!("`", $name, "`.")] $kind(Box<$kind>),)*)*
        }

        impl Call {
            /// The name of the tool.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($(Self::$kind(_) => $name,)*)*
                }
            }
        }

        $(
            $(#[doc = $doc])+
            pub const $list: &[Tool] = &[$(Tool {
                name: $name,
                description: $description,
                hints: $hints,
                schema: schema_of::<$kind>,
                result: $result,
                parse: |tool, arguments| Ok(Call::$kind(Box::new(parse::<$kind>(tool, arguments)?))),
            },)*];
        )*
    };
}

tools! {
/// All tools.
TOOLS {
    ExecCommand "exec_command" RUNS Some(result_schema_of::<ExecResult>),
        "Runs a shell command. Returns its output when it ends or yield_time_ms is over; then it runs on and a session ID is returned for wait, write_stdin, read_output and kill.";
    WriteStdin "write_stdin" RUNS Some(result_schema_of::<ExecResult>),
        "Writes to a running command and returns its new output. With empty chars it only polls; to wait for an end use wait.";
    Shell "shell" RUNS None,
        "Runs a program and waits for its end. Returns exit code, stdout and stderr.";
    ShellCommand "shell_command" RUNS None,
        "Runs a shell script and waits for its end. Returns exit code, stdout and stderr.";
    RunCode "run_code" RUNS None,
        "Runs a program given as source code and returns its output.";
    Wait "wait" READS None,
        "Waits for running commands without polling: until they end, print a match, are quiet or listen on a port. Returns their new output.";
    ReadOutput "read_output" READS None,
        "Reads the output of a command again, from any position; all of it is kept, also after the end.";
    ListExecutions "list_executions" READS None,
        "Lists your commands with session ID, state and exit code.";
    Kill "kill" SETS None,
        "Ends a command with its children, or sends a signal.";
    Resize "resize" ADJUSTS None,
        "Changes the size of a command's terminal.";
    ApplyPatch "apply_patch" CHANGES None,
        "Edits files by a patch; all of it is applied or nothing. Format:\n*** Begin Patch\n*** Add File: a.txt\n+line\n*** Update File: b.py\n*** Move to: c.py\n@@ def f():\n context\n-old\n+new\n*** Delete File: d.txt\n*** End Patch";
    EditFile "edit_file" CHANGES None,
        "Replaces an exact text in a file.";
    WriteFile "write_file" SETS None,
        "Creates or overwrites a file.";
    ReadFile "read_file" READS None,
        "Reads lines of a file, each as \"L<number>: text\".";
    ListDir "list_dir" READS None,
        "Lists a directory with its subdirectories.";
    GrepFiles "grep_files" READS None,
        "Finds files whose content matches a regex, newest first; .gitignore is respected.";
    ViewImage "view_image" READS None,
        "Shows you an image file.";
}

/// The tools that only the agent of the chat has, besides all others: front ends have cards for them, and HTTP routes of
/// their own.
CHAT_TOOLS {
    CodeExecution "code_execution" RUNS None,
        "Runs code to its end and returns its whole stdout, stderr and exit code. The person sees the output live.";
    RunCommand "runCommand" RUNS None,
        "Runs a shell command to its end and returns its whole stdout, stderr and exit code. The person sees the output live.";
}
}
