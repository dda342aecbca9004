//! What is said and told of builds.

use std::collections::BTreeMap;

use headwater_protocol::api::Timestamp;
use headwater_protocol::build::{BuildResult, BuildStatus, CompileSpec, Compiled, Diagnostic};
use headwater_protocol::{BuildId, ExecutionId, SessionId};
use headwater_store::BuildRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::builds::commands::{CmakeRequest, Commanded, LanguageRequest, MakeRequest};
use crate::error::ApiError;

const fn yes() -> bool {
    true
}

/// C++ files that become one binary.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CppRequest {
    /// Where: a session's id, or its name.
    pub(crate) session_id: String,
    /// Paths in the workspace: `/src/main.cpp`, `/workspace/src/main.cpp` and `src/main.cpp` are the same file.
    source_files: Vec<String>,
    /// Where in the workspace the binary goes.
    output_binary: String,
    /// One that the operator allows, `g++` or `clang++` for example; the operator's choice if absent.
    #[serde(default)]
    compiler: Option<String>,
    /// The compiler's and the linker's.
    #[serde(default)]
    flags: Vec<String>,
    /// Sanitizers: `address`, `undefined`, `thread`, `leak`.
    #[serde(default)]
    sanitize: Vec<String>,
    /// At most what the operator allows.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Whether to answer when it has ended.
    #[serde(default = "yes")]
    pub(crate) wait: bool,
}

impl From<CppRequest> for CompileSpec {
    fn from(request: CppRequest) -> Self {
        let CppRequest { source_files, output_binary, compiler, flags, sanitize, timeout_ms, .. } = request;
        Self { language: Compiled::Cpp, source_files, output_binary, compiler, flags, sanitize, timeout_ms }
    }
}

/// What kind of build it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// C++ files that become one binary: compiled in walls of their own, with the cache.
    Cpp,
    /// The same for C.
    C,
    /// A `CMake` project: configured and built in the session.
    Cmake,
    /// A makefile, in the session.
    Make,
    /// A source of `language`, in the session.
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

/// A build.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuildRequest {
    /// What kind of build it is.
    pub(crate) kind: Kind,
    /// `cpp`, `c`, `language`: the sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    source_files: Vec<String>,
    /// `cpp`, `c`, `language`: where in the workspace the binary goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_binary: Option<String>,
    /// `cpp`, `c`: one that the operator allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compiler: Option<String>,
    /// `cpp`, `c`, `language`: the compiler's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    /// `cpp`, `c`: sanitizers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sanitize: Vec<String>,
    /// `language`: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    /// `cmake`, `make`: where the project is; the workspace if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_dir: Option<String>,
    /// `cmake`: where it is built; `SESSION_BUILD_PATH` (`/workspace/build`) if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build_dir: Option<String>,
    /// `cmake`: a configure preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    /// `cmake`: `Debug`, `Release` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build_type: Option<String>,
    /// `cmake`, `make`: a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// `cmake`, `make`: more arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    /// Whether to answer when it has ended.
    #[serde(default = "yes", skip_serializing)]
    pub(crate) wait: bool,
}

impl BuildRequest {
    /// As a compile in walls of its own, if it is one.
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
            output_binary: output_binary.ok_or_else(|| ApiError::invalid("`output_binary` is needed"))?,
            compiler: self.compiler.clone(),
            flags: self.flags.clone(),
            sanitize: self.sanitize.clone(),
            timeout_ms: self.timeout_ms,
        }))
    }

    /// As a command in the session; `build_path` is where CMake builds unless told.
    pub(crate) fn command(&self, cpus: Option<f64>, build_path: &str) -> Result<Commanded, ApiError> {
        match self.kind {
            Kind::Cmake => CmakeRequest {
                source_dir: self.source_dir.clone(),
                build_dir: Some(self.build_dir.clone().unwrap_or_else(|| build_path.to_owned())),
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

/// A build, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BuildBody {
    /// Its id.
    #[schema(value_type = String)]
    build_id: BuildId,
    /// The session whose workspace it is for.
    #[schema(value_type = String)]
    session_id: SessionId,
    /// `cpp`, `c`, `cmake`, `make` or `language`.
    kind: String,
    /// How it stands.
    status: BuildStatus,
    /// `Compiled successfully`, or what was printed in the session.
    stdout: String,
    /// What the compilers and the linker printed.
    stderr: String,
    /// Whether `stdout`, `stderr` or `diagnostics` is not all that was printed; the output of the execution
    /// `execution_id` has all.
    truncated: bool,
    /// What it made.
    artifacts: Vec<String>,
    /// What the compilers had to say.
    diagnostics: Vec<Diagnostic>,
    /// Nothing had to be compiled or linked.
    cached: bool,
    /// So many of the sources had not to be compiled.
    cached_objects: u32,
    /// The execution that runs it, or ran it: to be followed and cancelled like any other. None if all was cached.
    #[schema(value_type = Option<String>)]
    execution_id: Option<ExecutionId>,
    /// From being asked for to its end.
    duration_ms: Option<u64>,
    /// When it was asked for.
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
    /// Without what may be long.
    pub(crate) fn in_short(self) -> Self {
        Self { stdout: String::new(), stderr: String::new(), diagnostics: Vec::new(), ..self }
    }
}

/// How one source is compiled, as in a compilation database.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct CompileCommand {
    /// Where the compiler runs.
    directory: String,
    /// The source.
    file: String,
    /// The compiler and its arguments.
    arguments: Vec<String>,
}

/// A compilation database ends at about this size: every source repeats all flags of its build.
const MAX_COMMAND_BYTES: usize = 4 << 20;

/// How each source was compiled last; the newest build comes first.
pub(crate) fn compile_commands(builds: &[BuildRow]) -> Vec<CompileCommand> {
    let (mut found, mut bytes) = (BTreeMap::new(), 0);
    for row in builds.iter().filter(|row| matches!(row.kind.as_str(), "cpp" | "c")) {
        let Ok(spec) = serde_json::from_value::<CompileSpec>(row.request.clone()) else { continue };
        let preferred = if row.kind == "c" { "gcc" } else { "g++" };
        for source in &spec.source_files {
            let file = inside(source);
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
            let command =
                CompileCommand { directory: "/workspace".to_owned(), file: file.clone(), arguments };
            found.insert(file, command);
        }
    }
    found.into_values().collect()
}

/// A path of the workspace as programs see it.
fn inside(path: &str) -> String {
    let within = path.strip_prefix("/workspace").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let names: Vec<_> = within.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    format!("/workspace/{}", names.join("/"))
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
        let told = compile_commands(&[row(&["-O2"]), row(&["-O0"])]);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].file, "/workspace/src/a.cpp");
        assert_eq!(told[0].arguments, ["g++", "-O2", "-fsanitize=address", "-c", "/workspace/src/a.cpp"]);
    }
}
