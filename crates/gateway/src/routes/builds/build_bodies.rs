//! Bodies of requests and responses about builds.

use std::collections::BTreeMap;

use headwater_protocol::api::Timestamp;
use headwater_protocol::build::{BuildResult, BuildStatus, CompileSpec, Compiled, Diagnostic};
use headwater_protocol::{BuildId, ExecutionId, SessionId};
use headwater_store::BuildRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::builds::commands::{CmakeRequest, Commanded, LanguageRequest, MakeRequest};
use crate::error::ApiError;
use crate::executions::tool_call::ToolCall;
use crate::workspace_path::{self, WORKSPACE};

/// The tool's name in the events of a conversation.
const TOOL: &str = "build";

const fn default_true() -> bool {
    true
}

/// C++ files to compile into one binary.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({"session_id": "demo", "source_files": ["/src/main.cpp"],
    "output_binary": "/workspace/build/main", "compiler": "g++", "flags": ["-std=c++17", "-O2", "-Wall"]})))]
#[serde(deny_unknown_fields)]
pub(crate) struct CppRequest {
    /// The session's id or name.
    pub(crate) session_id: String,
    /// Paths in the workspace: `/src/main.cpp`, `/workspace/src/main.cpp` and `src/main.cpp` are the same file.
    source_files: Vec<String>,
    /// The path of the binary in the workspace.
    output_binary: String,
    /// A compiler that the operator allows, such as `g++` or `clang++`; the operator's default if absent.
    #[serde(default)]
    compiler: Option<String>,
    /// Flags for the compiler and the linker.
    #[serde(default)]
    flags: Vec<String>,
    /// Sanitizers: `address`, `undefined`, `thread`, `leak`.
    #[serde(default)]
    sanitize: Vec<String>,
    /// The build's timeout, at most what the operator allows.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// The conversation whose streams show the build, unless everything is cached.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
    /// The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
    /// Whether to respond only when the build has ended.
    #[serde(default = "default_true")]
    pub(crate) wait: bool,
}

impl CppRequest {
    /// The spec for the compilation, and the metadata of the tool call.
    pub(crate) fn compiled(self) -> Result<(CompileSpec, BTreeMap<String, String>), ApiError> {
        let Self { source_files, output_binary, compiler, flags, sanitize, timeout_ms, .. } = self;
        let args = serde_json::json!({
            "kind": Kind::Cpp.name(), "source_files": source_files, "output_binary": output_binary, "flags": flags,
        });
        let ids = ToolCall { conversation_id: self.conversation_id, tool_call_id: self.tool_call_id };
        let call = ids.metadata(TOOL, &args)?;
        let language = Compiled::Cpp;
        let spec =
            CompileSpec { language, source_files, output_binary, compiler, flags, sanitize, timeout_ms };
        Ok((spec, call))
    }
}

/// What kind of build it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BuildKind)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// C++ files to compile into one binary, in a dedicated sandbox, with the cache.
    Cpp,
    /// The same for C.
    C,
    /// A `CMake` project, configured and built in the session.
    Cmake,
    /// A makefile, run in the session.
    Make,
    /// A source in `language`, built in the session.
    Language,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cpp => "cpp",
            Self::C => "c",
            Self::Cmake => "cmake",
            Self::Make => "make",
            Self::Language => "language",
        }
    }
}

/// A request to build.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(examples(json!({"kind": "cmake", "source_dir": "/", "build_type": "Release"})))]
#[serde(deny_unknown_fields)]
pub(crate) struct BuildRequest {
    /// What kind of build it is.
    pub(crate) kind: Kind,
    /// `cpp`, `c`, `language`: the sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    source_files: Vec<String>,
    /// `cpp`, `c`, `language`: the path of the binary in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_binary: Option<String>,
    /// `cpp`, `c`: a compiler that the operator allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compiler: Option<String>,
    /// `cpp`, `c`, `language`: flags for the compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    /// `cpp`, `c`: sanitizers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sanitize: Vec<String>,
    /// `language`: the name of the language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// `cmake`, `make`: the folder of the project; the workspace if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_dir: Option<String>,
    /// `cmake`: the build folder. If absent it is `/workspace/build` (`SESSION_BUILD_PATH`) for a project in the
    /// workspace itself, and a folder in it for each other `source_dir`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build_dir: Option<String>,
    /// `cmake`: a configure preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    /// `cmake`: `Debug`, `Release` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build_type: Option<String>,
    /// `cmake`, `make`: the target to build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// `cmake`, `make`: additional arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    /// The build is ended after this number of milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    /// The conversation whose streams show the build, unless everything is cached.
    #[serde(default, skip_serializing)]
    #[schema(min_length = 1, max_length = 256)]
    conversation_id: Option<String>,
    /// The caller's id for the call, which is in all events of its execution. The execution's id if absent.
    #[serde(default, skip_serializing)]
    #[schema(min_length = 1, max_length = 256)]
    tool_call_id: Option<String>,
    /// Whether to respond only when the build has ended.
    #[serde(default = "default_true", skip_serializing)]
    pub(crate) wait: bool,
}

impl BuildRequest {
    /// The metadata of the tool call.
    pub(crate) fn call(&self) -> Result<BTreeMap<String, String>, ApiError> {
        let (conversation_id, tool_call_id) = (self.conversation_id.clone(), self.tool_call_id.clone());
        let args = serde_json::to_value(self).unwrap_or_default();
        ToolCall { conversation_id, tool_call_id }.metadata(TOOL, &args)
    }

    /// The spec for a compilation in a dedicated sandbox, if this kind is compiled there.
    pub(crate) fn compiled(&self) -> Result<Option<CompileSpec>, ApiError> {
        let language = match self.kind {
            Kind::Cpp => Compiled::Cpp,
            Kind::C => Compiled::C,
            _ => return Ok(None),
        };
        let output_binary = self.output_binary.clone();
        Ok(Some(CompileSpec {
            language,
            source_files: self.source_files.clone(),
            output_binary: output_binary.ok_or_else(|| ApiError::invalid("`output_binary` is required"))?,
            compiler: self.compiler.clone(),
            flags: self.flags.clone(),
            sanitize: self.sanitize.clone(),
            timeout_ms: self.timeout_ms,
        }))
    }

    /// The command to run in the session; `build_path` is the default build folder of CMake.
    pub(crate) fn command(&self, cpus: Option<f64>, build_path: &str) -> Result<Commanded, ApiError> {
        match self.kind {
            Kind::Cmake => CmakeRequest {
                source_dir: self.source_dir.clone(),
                build_dir: self.build_dir.clone(),
                build_path: build_path.to_owned(),
                preset: self.preset.clone(),
                build_type: self.build_type.clone(),
                target: self.target.clone(),
                args: self.args.clone(),
            }
            .command(self.timeout_ms, cpus),
            Kind::Make => MakeRequest {
                source_dir: self.source_dir.clone(),
                target: self.target.clone(),
                args: self.args.clone(),
            }
            .command(self.timeout_ms, cpus),
            Kind::Language | Kind::Cpp | Kind::C => LanguageRequest {
                language: self.language.clone().unwrap_or_default(),
                source_files: self.source_files.clone(),
                output_binary: self.output_binary.clone().unwrap_or_default(),
                flags: self.flags.clone(),
            }
            .command(self.timeout_ms, cpus),
        }
    }
}

/// A build and its result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(examples(json!({"build_id": "bld_0123456789abcdef0123456789abcdef", "session_id": "ses_0123456789abcdef0123456789abcdef", "kind": "cpp", "status": "success",
    "stdout": "", "stderr": "", "truncated": false, "artifacts": ["/workspace/build/main"], "diagnostics": [],
    "cached": false, "cached_objects": 0, "execution_id": "exe_0123456789abcdef0123456789abcdef", "duration_ms": 840,
    "created_at": "2026-01-02T03:04:05.678Z"})))]
pub(crate) struct BuildBody {
    /// Use it with the routes below `/v1/builds`.
    #[schema(value_type = String)]
    build_id: BuildId,
    /// The session whose workspace it is for.
    #[schema(value_type = String)]
    session_id: SessionId,
    /// `cpp`, `c`, `cmake`, `make` or `language`.
    kind: String,
    /// The status of the build.
    status: BuildStatus,
    /// `Compiled successfully`, or the output in the session.
    stdout: String,
    /// The output of the compilers and the linker.
    stderr: String,
    /// Whether `stdout`, `stderr` or `diagnostics` is incomplete; the execution `execution_id` has the whole
    /// output.
    truncated: bool,
    /// The paths of the files that the build created. For `cmake` and `make`: the programs and shared libraries in the
    /// build folder, or in the folder of the makefile, at most 100.
    artifacts: Vec<String>,
    /// The messages of the compilers.
    diagnostics: Vec<Diagnostic>,
    /// Whether nothing had to be compiled or linked.
    cached: bool,
    /// The number of sources that were taken from the cache.
    cached_objects: u32,
    /// The execution that runs the build, which can be followed and cancelled like any other. None if
    /// everything was cached.
    #[schema(value_type = Option<String>)]
    execution_id: Option<ExecutionId>,
    /// The time from the request to the end.
    duration_ms: Option<u64>,
    /// When the build was requested.
    created_at: Timestamp,
}

impl From<BuildRow> for BuildBody {
    fn from(row: BuildRow) -> Self {
        let duration_ms = row.result.as_ref().map(|result| result.duration_ms);
        let result = row.result.unwrap_or_else(|| BuildResult::ended(BuildStatus::Running, ""));
        Self {
            build_id: row.id,
            session_id: row.session_id,
            kind: row.kind,
            status: result.status,
            stdout: result.stdout,
            stderr: result.stderr,
            truncated: result.truncated,
            artifacts: result.artifacts,
            diagnostics: result.diagnostics,
            cached: result.cached,
            cached_objects: result.cached_objects,
            execution_id: row.executed.then(|| row.id.execution()),
            duration_ms,
            created_at: Timestamp(row.created_at_ms),
        }
    }
}

impl BuildBody {
    /// Without the fields that may be long.
    pub(crate) fn in_short(self) -> Self {
        Self { stdout: String::new(), stderr: String::new(), diagnostics: Vec::new(), ..self }
    }
}

/// How one source is compiled: an entry of a compilation database.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct CompileCommand {
    /// The working directory of the compiler.
    directory: String,
    /// The path of the source.
    file: String,
    /// The compiler and its arguments.
    arguments: Vec<String>,
}

/// The maximum size of a compilation database: every source repeats all flags of its build.
const MAX_COMMAND_BYTES: usize = 4 << 20;

/// How each source was last compiled; `builds` are ordered newest first.
pub(crate) fn compile_commands(builds: &[BuildRow]) -> Vec<CompileCommand> {
    let (mut found, mut bytes) = (BTreeMap::new(), 0);
    for row in builds.iter().filter(|row| matches!(row.kind.as_str(), "cpp" | "c")) {
        let Ok(spec) = serde_json::from_value::<CompileSpec>(row.request.clone()) else { continue };
        let preferred = if row.kind == "c" { "gcc" } else { "g++" };
        for source in &spec.source_files {
            let file = workspace_path::absolute(source);
            if found.contains_key(&file) {
                continue;
            }
            let sanitize = spec.sanitize.iter().map(|name| format!("-fsanitize={name}"));
            let first = [spec.compiler.clone().unwrap_or_else(|| preferred.to_owned())];
            let flags = spec.flags.iter().cloned().chain(sanitize);
            let arguments: Vec<String> =
                first.into_iter().chain(flags).chain(["-c".to_owned(), file.clone()]).collect();
            bytes += arguments.iter().map(|argument| argument.len() + 3).sum::<usize>();
            if bytes > MAX_COMMAND_BYTES {
                return found.into_values().collect();
            }
            let command = CompileCommand { directory: WORKSPACE.to_owned(), file: file.clone(), arguments };
            found.insert(file, command);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_listed_with_the_flags_of_its_last_build() {
        let row = |flags: &[&str]| BuildRow {
            id: BuildId::random(),
            session_id: SessionId::random(),
            owner: "ann".into(),
            kind: "cpp".into(),
            request: serde_json::json!({"source_files": ["/src/a.cpp"], "flags": flags, "sanitize": ["address"]}),
            executed: true,
            result: None,
            created_at_ms: 0,
        };
        let commands = compile_commands(&[row(&["-O2"]), row(&["-O0"])]);
        assert_eq!(commands.len(), 1);
        assert_eq!(commands[0].file, "/workspace/src/a.cpp");
        assert_eq!(commands[0].arguments, ["g++", "-O2", "-fsanitize=address", "-c", "/workspace/src/a.cpp"]);
    }
}
