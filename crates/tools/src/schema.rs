//! The arguments of every tool: their types, their JSON schemas, and errors that say what to do next.
//!
//! Names, defaults and bounds of the tools that models already know (`exec_command`, `write_stdin`, `shell`,
//! `shell_command`, `apply_patch`, `read_file`, `list_dir`, `grep_files`, `view_image`) are fixed. What we
//! add to them are optional fields.

mod bounds;
mod catalog;
mod clean;
mod code;
mod edit;
mod execute;
mod files;
mod follow;
mod parse;
mod permissions;
mod reference;
mod result;
mod shapes;
#[cfg(test)]
mod tests;
mod tokens;

pub use catalog::{CHAT_TOOLS, Call, Hints, TOOLS, Tool};
pub use clean::schema_of;
pub use code::{CodeExecution, RunCommand};
pub use edit::{ApplyPatch, EditFile, WriteFile};
pub use execute::{ExecCommand, InitialStdin, OnDisconnect, RunCode, Shell, ShellCommand, Size, WriteStdin};
pub use files::{GrepFiles, Indentation, ListDir, ReadFile, ReadMode, ViewImage};
pub use follow::{Kill, ListExecutions, OutputStream, ReadOutput, Resize, Signal, Until, Wait};
pub use parse::{ArgumentError, tool_named};
pub use permissions::{FileSystemAccess, Permissions, SandboxPermissions};
pub use reference::ExecutionRef;
pub use result::{ExecResult, ShellEnd, ShellResult};
pub use shapes::{Shape, UnknownShape};
pub use tokens::estimate_tokens;
