//! Builds that run in the session itself, because they need its whole workspace and the files of the previous
//! build: `CMake`, make, and the compilers of single languages.

use headwater_protocol::{Children, Command, StartSpec, shell_quote};
use sha2::Digest as _;

use crate::error::ApiError;
use crate::workspace_path::{self, MAX_PATH_BYTES, WORKSPACE};

/// The default timeout of a build.
const TIMEOUT_MS: u64 = 120_000;
/// The longest timeout that a request may set.
const MAX_TIMEOUT_MS: u64 = 3_600_000;
/// The maximum number of arguments of one build.
const MAX_ARGS: usize = 512;

/// A `CMake` project.
#[derive(Debug, Default)]
pub(crate) struct CmakeRequest {
    /// The folder of `CMakeLists.txt`; the workspace if absent.
    pub(crate) source_dir: Option<String>,
    /// The build folder; a folder for this project below `build_path` if absent.
    pub(crate) build_dir: Option<String>,
    /// Where projects are built that name no folder.
    pub(crate) build_path: String,
    /// A configure preset of `CMakePresets.json`.
    pub(crate) preset: Option<String>,
    /// `CMAKE_BUILD_TYPE`: `Debug`, `Release` and so on.
    pub(crate) build_type: Option<String>,
    /// The target to build; all if absent.
    pub(crate) target: Option<String>,
    /// Additional arguments of the configure step, such as `-DX=1`.
    pub(crate) args: Vec<String>,
}

/// A project with a makefile.
#[derive(Debug, Default)]
pub(crate) struct MakeRequest {
    /// The folder of the makefile; the workspace if absent.
    pub(crate) source_dir: Option<String>,
    /// The target to build; the makefile's default if absent.
    pub(crate) target: Option<String>,
    /// Additional arguments, such as `CXX=clang++`.
    pub(crate) args: Vec<String>,
}

/// Sources in a language whose compiler is installed in the session.
#[derive(Debug, Default)]
pub(crate) struct LanguageRequest {
    /// `rust`, `go` or `java`.
    pub(crate) language: String,
    /// The paths of the sources.
    pub(crate) source_files: Vec<String>,
    /// The path of the binary, or for Java of the folder for classes.
    pub(crate) output_binary: String,
    /// Additional arguments of the compiler.
    pub(crate) flags: Vec<String>,
}

/// The command of a build, and the files that it creates if it succeeds.
#[derive(Debug)]
pub(crate) struct Commanded {
    pub(crate) spec: StartSpec,
    pub(crate) artifacts: Vec<String>,
    /// The folder in which the build leaves programs, if only the build knows their names.
    pub(crate) programs_in: Option<String>,
    /// The program that the build needs.
    pub(crate) tool: Tool,
}

/// The program that a build needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tool {
    /// A tool of builds, such as `cmake`.
    Build(&'static str),
    /// The compiler of this language.
    Language(String),
}

/// Returns a path of the workspace relative to `/workspace`.
fn inside(path: &str) -> Result<String, ApiError> {
    let wrong = |why: &str| {
        let path: String = path.chars().take(128).collect();
        Err(ApiError::invalid(format!("the path `{path}` {why}")).hint("use a path in `/workspace`"))
    };
    if path.contains('\0') || path.len() > MAX_PATH_BYTES {
        return wrong("is too long or contains a zero byte");
    }
    let names: Vec<_> = workspace_path::names(path).collect();
    if names.contains(&"..") {
        return wrong("contains `..`");
    }
    Ok(if names.is_empty() { ".".to_owned() } else { names.join("/") })
}

fn words(args: &[String]) -> Result<String, ApiError> {
    if args.len() > MAX_ARGS || args.iter().any(|arg| arg.contains('\0')) {
        return Err(ApiError::invalid("too many arguments, or an argument contains a zero byte"));
    }
    Ok(args.iter().fold(String::new(), |line, arg| line + " " + &shell_quote(arg)))
}

/// `-jN` with the number of CPUs that the session may use.
const JOBS: &str = "-j\"${HEADWATER_JOBS:-$(nproc)}\"";

fn commanded(
    tool: Tool,
    line: String,
    artifacts: Vec<String>,
    timeout_ms: Option<u64>,
    cpus: Option<f64>,
) -> Commanded {
    let mut spec = StartSpec::new(Command::Shell(line));
    spec.timeout_ms = Some(timeout_ms.unwrap_or(TIMEOUT_MS).clamp(1, MAX_TIMEOUT_MS));
    spec.children = Children::Kill;
    if let Some(cpus) = cpus {
        let jobs = cpus.ceil().clamp(1.0, 1024.0);
        spec.env.insert("HEADWATER_JOBS".into(), format!("{jobs}"));
    }
    let artifacts = artifacts.into_iter().map(|path| format!("{WORKSPACE}/{path}")).collect();
    Commanded { spec, artifacts, programs_in: None, tool }
}

/// The build folder of a project: `build_path` for the workspace itself, and a folder in it for each other project,
/// because a build folder belongs to one source folder. The name begins with `_`, so that it is not the folder of a
/// subdirectory of the workspace's own project.
fn build_folder(build_path: &str, source: &str) -> String {
    if source == "." {
        return build_path.to_owned();
    }
    let name = source.replace('/', "__");
    // Two sources must not have one name.
    let hash = sha2::Sha256::digest(source.as_bytes());
    let [a, b, c, d, ..] = <[u8; 32]>::from(hash);
    let suffix = if source.contains("__") { format!("-{a:02x}{b:02x}{c:02x}{d:02x}") } else { String::new() };
    format!("{build_path}/_{name}{suffix}")
}

impl CmakeRequest {
    /// Configures and builds.
    pub(crate) fn command(&self, timeout_ms: Option<u64>, cpus: Option<f64>) -> Result<Commanded, ApiError> {
        let source = inside(self.source_dir.as_deref().unwrap_or("."))?;
        let build = match &self.build_dir {
            Some(folder) => inside(folder)?,
            None => inside(&build_folder(&self.build_path, &source))?,
        };
        let mut configure = format!(
            "cmake -S {} -B {} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            shell_quote(&source),
            shell_quote(&build)
        );
        if let Some(preset) = &self.preset {
            configure += &words(&[format!("--preset={preset}")])?;
        }
        if let Some(kind) = &self.build_type {
            configure += &words(&[format!("-DCMAKE_BUILD_TYPE={kind}")])?;
        }
        configure += &words(&self.args)?;
        let target =
            self.target.as_ref().map(|target| words(&["--target".into(), target.clone()])).transpose()?;
        let target = target.unwrap_or_default();
        let line = format!("{configure} && cmake --build {}{target} {JOBS}", shell_quote(&build));
        let database = vec![format!("{build}/compile_commands.json")];
        let commanded = commanded(Tool::Build("cmake"), line, database, timeout_ms, cpus);
        Ok(Commanded { programs_in: Some(build), ..commanded })
    }
}

impl MakeRequest {
    /// Runs make.
    pub(crate) fn command(&self, timeout_ms: Option<u64>, cpus: Option<f64>) -> Result<Commanded, ApiError> {
        let source = inside(self.source_dir.as_deref().unwrap_or("."))?;
        let target = self.target.iter().cloned().collect::<Vec<_>>();
        let line =
            format!("make -C {} {JOBS}{}{}", shell_quote(&source), words(&self.args)?, words(&target)?);
        let commanded = commanded(Tool::Build("make"), line, Vec::new(), timeout_ms, cpus);
        Ok(Commanded { programs_in: Some(source), ..commanded })
    }
}

impl LanguageRequest {
    /// Calls the language's compiler.
    pub(crate) fn command(&self, timeout_ms: Option<u64>, cpus: Option<f64>) -> Result<Commanded, ApiError> {
        let output = inside(&self.output_binary)?;
        let sources = self.source_files.iter().map(|path| inside(path)).collect::<Result<Vec<_>, _>>()?;
        if sources.is_empty() || output == "." {
            return Err(ApiError::invalid("`source_files` and `output_binary` are required"));
        }
        let (sources, flags, to) = (words(&sources)?, words(&self.flags)?, shell_quote(&output));
        let line = match self.language.as_str() {
            "rust" => format!("rustc{flags} -o {to}{sources}"),
            "go" => format!("go build{flags} -o {to}{sources}"),
            "java" => format!("javac{flags} -d {to}{sources}"),
            other => {
                let other: String = other.chars().take(64).collect();
                return Err(ApiError::invalid(format!("the language `{other}` cannot be built this way"))
                    .hint("use `rust`, `go` or `java`; for C and C++ send `\"kind\": \"c\"` or `\"cpp\"`"));
            }
        };
        let line = format!("mkdir -p \"$(dirname {to})\" && {line}");
        Ok(commanded(Tool::Language(self.language.clone()), line, vec![output], timeout_ms, cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(commanded: &Commanded) -> &str {
        match &commanded.spec.command {
            Command::Shell(line) => line,
            _ => "",
        }
    }

    #[test]
    fn nothing_in_a_request_is_a_command() {
        let request = MakeRequest {
            source_dir: Some("/workspace/a b".into()),
            target: Some("x'; rm -rf /; '".into()),
            args: vec!["$(id)".into()],
        };
        let commanded = request.command(None, Some(1.5)).unwrap();
        assert_eq!(line(&commanded), format!("make -C 'a b' {JOBS} '$(id)' 'x'\\''; rm -rf /; '\\'''"));
        assert_eq!(commanded.spec.env["HEADWATER_JOBS"], "2");
        assert!(inside("../x").is_err() && inside("a\0").is_err());
        assert_eq!(inside("/workspace").unwrap(), ".");
    }

    #[test]
    fn cmake_configures_builds_and_exports_its_compile_commands() {
        let request = CmakeRequest { build_path: "/workspace/build".into(), ..CmakeRequest::default() };
        let commanded = request.command(None, None).unwrap();
        assert!(line(&commanded).contains("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"));
        assert_eq!(commanded.artifacts, ["/workspace/build/compile_commands.json"]);
        assert_eq!(commanded.programs_in.as_deref(), Some("build"));
    }

    #[test]
    fn every_cmake_project_has_its_own_build_folder() {
        let folder = |source: &str, build_dir: Option<&str>| {
            let request = CmakeRequest {
                source_dir: Some(source.into()),
                build_dir: build_dir.map(Into::into),
                build_path: "/workspace/build".into(),
                ..CmakeRequest::default()
            };
            request.command(None, None).unwrap().programs_in.unwrap()
        };
        assert_eq!(folder("/workspace", None), "build");
        assert_eq!(folder("/workspace/a/b", None), "build/_a__b");
        assert_eq!(folder("a/b/", Some("/workspace/out")), "out");
        let alike = ["a/b", "a__b", "a", "b", "a/__b", "a__/b"].map(|source| folder(source, None));
        let different: std::collections::BTreeSet<_> = alike.iter().collect();
        assert_eq!(different.len(), alike.len(), "{alike:?}");
    }

    #[test]
    fn a_language_without_a_compiler_is_refused() {
        let mut request =
            LanguageRequest { language: "rust".into(), output_binary: "out".into(), ..Default::default() };
        assert!(request.command(None, None).is_err());
        request.source_files = vec!["/src/main.rs".into()];
        assert!(line(&request.command(None, None).unwrap()).ends_with("rustc -o 'out' 'src/main.rs'"));
        request.language = "cobol".into();
        assert!(request.command(None, None).is_err());
    }
}
