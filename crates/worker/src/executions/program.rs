//! Turns a command into the program that init runs: arguments and, for long code, a file.

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Command, ExecutionId};
use headwater_sandbox::wire::CodeFile;
use headwater_workspace::WorkspacePath;

use crate::languages::{Entry, Language, Languages};

/// Code up to this size is passed as an argument of its interpreter. The limit of the kernel is 128 KiB.
const MAX_ARGUMENT_BYTES: usize = 100 * 1024;
/// The longest code: with its environment it has to fit into one message to init.
const MAX_CODE_BYTES: usize = 8 << 20;

/// The program that init starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    /// The path in the workspace where the code is saved permanently before the start.
    pub(crate) save: Option<WorkspacePath>,
    /// The temporary file of the code, if it is too long for an argument.
    pub(crate) code_file: Option<CodeFile>,
    /// The temporary folder in which it is compiled.
    pub(crate) scratch: Option<String>,
}

/// Code, with the language that runs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) language: &'a Language,
    pub(crate) code: &'a str,
    pub(crate) file: Option<&'a str>,
    pub(crate) args: &'a [String],
}

impl Program {
    /// The program of a command; `language` is the one of its code. `home` is the path of the workspace in the session.
    pub(crate) fn new(
        command: &Command,
        language: Option<&Language>,
        id: ExecutionId,
        home: &str,
    ) -> Result<Self, Fault> {
        match (command, language) {
            (Command::Argv(argv), _) => Ok(Self::of(argv.clone())),
            (Command::Shell(line), _) => Ok(Self::of(vec!["/bin/sh".into(), "-c".into(), line.clone()])),
            (Command::Code { code, file, args, .. }, Some(language)) => {
                Self::of_code(Source { language, code, file: file.as_deref(), args }, id, home)
            }
            (Command::Code { language, .. }, None) => Err(unknown(language, &[])),
        }
    }

    fn of_code(source: Source<'_>, id: ExecutionId, home: &str) -> Result<Self, Fault> {
        let Source { language, code, file, args } = source;
        if code.len() > MAX_CODE_BYTES {
            return Err(too_large(code.len()));
        }
        if let Some(file) = file {
            return Ok(Self::saved(language, WorkspacePath::parse(file, home)?, args, id, home));
        }
        let as_argument = if code.len() > MAX_ARGUMENT_BYTES { None } else { language.run_code(code, args) };
        Ok(as_argument.map_or_else(|| Self::in_temporary_file(source, id), Self::of))
    }

    fn of(argv: Vec<String>) -> Self {
        Self { argv, save: None, code_file: None, scratch: None }
    }

    fn saved(language: &Language, path: WorkspacePath, args: &[String], id: ExecutionId, home: &str) -> Self {
        let scratch = scratch(language, id);
        let folder = scratch.as_deref().unwrap_or_default();
        let command = language.run_file(&path.in_session(home), folder, args);
        Self { argv: command, save: Some(path), code_file: None, scratch }
    }

    /// In the session's `/tmp`, so that it is not among the user's files.
    fn in_temporary_file(source: Source<'_>, id: ExecutionId) -> Self {
        let Source { language, code, args, .. } = source;
        let scratch = scratch(language, id);
        let dot = if language.suffix.is_empty() { "" } else { "." };
        let (path, command) = if let Some(folder) = &scratch {
            let path = format!("{folder}/main{dot}{}", language.suffix);
            let command = language.run_file(&path, folder, args);
            (path, command)
        } else {
            let path = format!("/tmp/headwater-{id}{dot}{}", language.suffix);
            let command = language.run_long(&path, args);
            (path, command)
        };
        let code_file = CodeFile { path, text: code.to_owned() };
        Self { argv: command, save: None, code_file: Some(code_file), scratch }
    }
}

fn scratch(language: &Language, id: ExecutionId) -> Option<String> {
    language.needs_folder().then(|| format!("/tmp/headwater-{id}"))
}

/// The language with this name.
pub(crate) fn find<'a>(languages: &'a Languages, name: &str) -> Result<&'a Entry, Fault> {
    languages.get(name).map_err(|known| unknown(name, &known))
}

/// The error for a language that is known but not installed.
pub(crate) fn not_installed(entry: &Entry) -> Fault {
    let message = format!("the language `{}` is not installed on this server", entry.name);
    Fault::new(FaultKind::Invalid, message).hint(entry.remedy())
}

fn unknown(name: &str, known: &[&str]) -> Fault {
    let name: String = name.chars().take(64).collect();
    let fault = Fault::new(FaultKind::Invalid, format!("`{name}` is not a known language"));
    fault.hint(format!("known languages: {}", known.join(", ")))
}

fn too_large(bytes: usize) -> Fault {
    let message = format!("the code is {bytes} bytes long, the maximum is {MAX_CODE_BYTES}");
    Fault::new(FaultKind::Invalid, message).hint("put its data into a file, or pass it as stdin")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn program_in(language: &str, code: String, file: Option<&str>) -> Result<Program, Fault> {
        let text = "[compiled]\ninterpreters = [\"sh\"]\nbuild = [\"{file}\"]\nsuffix = \"x\"";
        let extra: BTreeMap<_, _> = toml::from_str(text).unwrap();
        let languages = Languages::find(&extra, &[]);
        let args = vec!["x".to_owned()];
        let found = languages.get(language).unwrap().language();
        let command = Command::Code { language: language.into(), code, file: file.map(Into::into), args };
        Program::new(&command, found, ExecutionId::random(), "/workspace")
    }

    fn program(code: String, file: Option<&str>) -> Result<Program, Fault> {
        program_in("bash", code, file)
    }

    #[test]
    fn code_is_an_argument_until_it_is_too_long_for_one() {
        let short = program("a".repeat(MAX_ARGUMENT_BYTES), None).unwrap();
        assert_eq!((short.code_file, short.argv.len()), (None, 5));
        let long = program("a".repeat(MAX_ARGUMENT_BYTES + 1), None).unwrap();
        let file = long.code_file.unwrap();
        assert_eq!(long.argv[1..], [file.path.clone(), "x".into()]);
        let name = file.path.strip_prefix("/tmp/headwater-exe_").unwrap();
        assert_eq!(name.split_once('.').unwrap().1, "sh");
        assert_eq!(file.text.len(), MAX_ARGUMENT_BYTES + 1);
        assert!(program("a".repeat(MAX_CODE_BYTES), None).is_ok());
        let fault = program("a".repeat(MAX_CODE_BYTES + 1), None).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Invalid);
        assert!(fault.message.contains("8388608") && fault.hint.is_some(), "{fault:?}");
    }

    #[test]
    fn code_with_a_file_is_saved_and_run_from_there_whatever_its_size() {
        for size in [1, MAX_ARGUMENT_BYTES + 1] {
            let saved = program("a".repeat(size), Some("/src/a.sh")).unwrap();
            assert_eq!(saved.argv[1..], ["/workspace/src/a.sh", "x"]);
            assert!(saved.save.is_some() && saved.code_file.is_none());
        }
        let fault = program("a".into(), Some("../a.sh")).unwrap_err();
        assert!(fault.kind == FaultKind::Invalid && fault.hint.is_some(), "{fault:?}");
    }

    #[test]
    fn compiled_code_has_its_own_folder() {
        let code = program_in("compiled", "a".into(), None).unwrap();
        let folder = code.scratch.unwrap();
        assert_eq!(code.code_file.unwrap().path, format!("{folder}/main.x"));
        let saved = program_in("compiled", "a".into(), Some("a.x")).unwrap();
        assert!(saved.code_file.is_none() && saved.scratch.unwrap().starts_with("/tmp/headwater-exe_"));
        assert!(saved.argv[2].contains("'/workspace/a.x'"), "{:?}", saved.argv);
    }
}
