//! Builds: requests and results. Both are stored and sent as JSON.

mod text;

use serde::{Deserialize, Serialize};

pub use text::diagnostics_of_text;

/// The maximum number of diagnostics of a build: a template error can make a compiler print without end.
pub const MAX_DIAGNOSTICS: usize = 1000;
/// The maximum number of notes and fixes of a diagnostic.
pub const MAX_NOTES: usize = 64;

/// The language of a build.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Compiled {
    /// C++.
    #[default]
    Cpp,
    /// C.
    C,
}

/// Sources to compile to one binary or object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompileSpec {
    /// The language of the sources.
    pub language: Compiled,
    /// Paths of the sources in the workspace.
    pub source_files: Vec<String>,
    /// The path of the binary in the workspace.
    pub output_binary: String,
    /// A compiler that the operator allows; the operator's default if absent.
    pub compiler: Option<String>,
    /// Flags for the compiler and the linker.
    pub flags: Vec<String>,
    /// Sanitizers: `address`, `undefined` and so on.
    pub sanitize: Vec<String>,
    /// The longest time that it may take, up to the operator's maximum.
    pub timeout_ms: Option<u64>,
}

/// The state of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BuildStatus {
    /// The build has not ended yet.
    Running,
    /// It succeeded.
    Success,
    /// A command of the build failed.
    Failed,
    /// Somebody cancelled the build.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// Its end was not observed.
    Lost,
}

impl BuildStatus {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Lost => "lost",
        }
    }
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An error: there is no binary.
    Error,
    /// A warning: there is a binary, which may be wrong.
    Warning,
    /// A note that explains another diagnostic.
    Note,
}

/// A range in a file. Lines and columns (in bytes) count from 1, and the end is exclusive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SourceRange))]
#[serde(default)]
pub struct Range {
    /// The path in the workspace, or of a system header.
    pub file: Option<String>,
    /// The first line.
    pub line: u32,
    /// The first column.
    pub column: u32,
    /// The last line.
    pub end_line: u32,
    /// The column after the last.
    pub end_column: u32,
}

/// A change that would fix the problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = DiagnosticFix))]
pub struct Fix {
    /// The range to replace; empty for an insertion.
    pub range: Range,
    /// The replacement.
    pub text: String,
}

/// A note that explains a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = DiagnosticNote))]
pub struct Note {
    /// The position.
    #[serde(flatten)]
    pub at: Range,
    /// The text of the note, without position.
    pub message: String,
    /// Changes that would fix the problem.
    #[serde(default)]
    pub fixes: Vec<Fix>,
}

/// A message of a compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diagnostic {
    /// The position.
    #[serde(flatten)]
    pub at: Range,
    /// Whether it stops the build.
    pub severity: Severity,
    /// The text, without position, severity and option.
    pub message: String,
    /// The option that enables it, such as `-Wunused-variable`.
    pub option: Option<String>,
    /// Changes that would fix the problem.
    pub fixes: Vec<Fix>,
    /// Notes that explain it.
    pub notes: Vec<Note>,
}

/// The result of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildResult {
    /// The state.
    pub status: BuildStatus,
    /// A summary for people.
    pub stdout: String,
    /// The output of compilers and linker, as far as it is kept here.
    pub stderr: String,
    /// Paths of the created files, as seen inside the session.
    pub artifacts: Vec<String>,
    /// The compilers' messages.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether nothing had to be compiled or linked.
    pub cached: bool,
    /// The number of sources that did not have to be compiled.
    pub cached_objects: u32,
    /// The time from the request to the end.
    pub duration_ms: u64,
    /// Whether `stdout`, `stderr` or `diagnostics` is incomplete; the log of the execution has everything.
    #[serde(default)]
    pub truncated: bool,
}

impl BuildResult {
    /// A result without output.
    pub fn ended(status: BuildStatus, stderr: impl Into<String>) -> Self {
        Self {
            status,
            stdout: String::new(),
            stderr: stderr.into(),
            artifacts: Vec::new(),
            diagnostics: Vec::new(),
            cached: false,
            cached_objects: 0,
            duration_ms: 0,
            truncated: false,
        }
    }
}

/// The maximum size of the diagnostics of a build, as JSON.
const MAX_DIAGNOSTICS_BYTES: usize = 1 << 20;

impl BuildResult {
    /// Adds the first diagnostics, up to the limits, and notes whether there are more.
    pub fn take_diagnostics(&mut self, all: impl IntoIterator<Item = Diagnostic>) {
        let mut count = 0;
        self.diagnostics = bounded(all.into_iter().inspect(|_| count += 1));
        self.truncated |= count > self.diagnostics.len();
    }
}

/// The first diagnostics, up to the limits. Reads one more, if there is one.
fn bounded(all: impl IntoIterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut bytes = 0;
    let fits = |one: &Diagnostic| {
        bytes += serde_json::to_string(one).map_or(usize::MAX, |text| text.len());
        bytes <= MAX_DIAGNOSTICS_BYTES
    };
    let mut kept: Vec<_> = all.into_iter().take(MAX_DIAGNOSTICS + 1).take_while(fits).collect();
    kept.truncate(MAX_DIAGNOSTICS);
    kept
}

/// The `stdout` of a successful build.
pub const SUCCESS: &str = "Compiled successfully";
