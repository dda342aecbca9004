//! Builds: what is asked for, and what became of it. Both are kept and passed on as JSON.

mod text;

use serde::{Deserialize, Serialize};

pub use text::diagnostics_of_text;

/// Diagnostics that are told of one build; a template gone wrong can make a compiler print without end.
pub const MAX_DIAGNOSTICS: usize = 1000;
/// Notes and fixes of one diagnostic.
pub const MAX_NOTES: usize = 64;

/// Which compiler a build of single files is for.
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

/// Sources that become one binary, or one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompileSpec {
    /// What they are written in.
    pub language: Compiled,
    /// Paths in the workspace.
    pub source_files: Vec<String>,
    /// Where in the workspace the binary goes.
    pub output_binary: String,
    /// One that the operator allows; the operator's choice if absent.
    pub compiler: Option<String>,
    /// The compiler's and the linker's.
    pub flags: Vec<String>,
    /// `address`, `undefined` and so on.
    pub sanitize: Vec<String>,
    /// How long it may take, at most what the operator allows.
    pub timeout_ms: Option<u64>,
}

/// How a build stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BuildStatus {
    /// It goes on.
    Running,
    /// It ended well.
    Success,
    /// It ended otherwise.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// Nobody saw its end.
    Lost,
}

impl BuildStatus {
    /// The name on the wire.
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

/// How grave a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// There is no binary.
    Error,
    /// There is one, and it may be wrong.
    Warning,
    /// It explains another.
    Note,
}

/// A place in a file: lines and columns (bytes) count from 1, and the end is the first place after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Range {
    /// The path in the workspace, or of a system header.
    pub file: Option<String>,
    /// Where it begins.
    pub line: u32,
    /// Where it begins.
    pub column: u32,
    /// Where it ends.
    pub end_line: u32,
    /// Where it ends.
    pub end_column: u32,
}

/// A change that would mend what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fix {
    /// What is replaced; nothing, if it ends where it begins.
    pub range: Range,
    /// By what.
    pub text: String,
}

/// What explains a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Note {
    /// Where.
    #[serde(flatten)]
    pub at: Range,
    /// What.
    pub message: String,
    /// What would mend it.
    #[serde(default)]
    pub fixes: Vec<Fix>,
}

/// What a compiler has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diagnostic {
    /// Where.
    #[serde(flatten)]
    pub at: Range,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The option that turns it on, as in `-Wunused-variable`.
    pub option: Option<String>,
    /// What would mend it.
    pub fixes: Vec<Fix>,
    /// What explains it.
    pub notes: Vec<Note>,
}

/// What became of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildResult {
    /// How it stands.
    pub status: BuildStatus,
    /// For people.
    pub stdout: String,
    /// What compilers and linker printed, as far as it is kept here.
    pub stderr: String,
    /// Paths of what it made, as programs of the session see them.
    pub artifacts: Vec<String>,
    /// What the compilers had to say.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether nothing had to be compiled or linked.
    pub cached: bool,
    /// How many of the sources had not to be compiled.
    pub cached_objects: u32,
    /// From being asked for to its end.
    pub duration_ms: u64,
    /// Whether `stdout`, `stderr` or `diagnostics` is not all that was printed; the log of its execution has all.
    #[serde(default)]
    pub truncated: bool,
}

impl BuildResult {
    /// One that ended without anything to show.
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

/// The most that diagnostics of one build take, as JSON.
const MAX_DIAGNOSTICS_BYTES: usize = 1 << 20;

impl BuildResult {
    /// Takes as many of these, from the first on, as are told of one build, and notes whether there are more.
    pub fn take_diagnostics(&mut self, all: impl IntoIterator<Item = Diagnostic>) {
        let mut count = 0;
        self.diagnostics = bounded(all.into_iter().inspect(|_| count += 1));
        self.truncated |= count > self.diagnostics.len();
    }
}

/// As many of these, from the first on, as are told of one build. Looks at one more, if there is one.
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

/// What says that a build went well.
pub const SUCCESS: &str = "Compiled successfully";
