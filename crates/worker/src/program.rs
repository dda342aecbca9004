//! From what was asked for to what init runs: a command becomes arguments and, for code that is not one of them, a file.

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Command, ExecutionId};
use headwater_sandbox::wire::CodeFile;

use crate::languages::{Language, Languages};
use crate::workspace::WorkspacePath;

/// Code up to this size is an argument of its interpreter. The kernel takes 128 KiB for one.
const ARGUMENT_BYTES: usize = 100 * 1024;
/// The most code that is run: with its environment it has to fit into one message to init.
const MAX_CODE_BYTES: usize = 8 << 20;

/// What init is told to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    /// Where in the workspace the code is saved first, to stay.
    pub(crate) save: Option<WorkspacePath>,
    /// Where it is while it runs, if it is too long for an argument.
    pub(crate) code_file: Option<CodeFile>,
}

impl Program {
    /// The program of a command. `home` is where programs of the session see the workspace.
    pub(crate) fn new(
        command: &Command,
        languages: &Languages,
        id: ExecutionId,
        home: &str,
    ) -> Result<Self, Fault> {
        match command {
            Command::Argv(argv) => Ok(Self::of(argv.clone())),
            Command::Shell(line) => Ok(Self::of(vec!["/bin/sh".into(), "-c".into(), line.clone()])),
            Command::Code { language, code, file, args } => {
                if code.len() > MAX_CODE_BYTES {
                    return Err(too_large(code.len()));
                }
                let language = find(languages, language)?;
                match file {
                    Some(file) => Ok(Self::saved(language, WorkspacePath::parse(file, home)?, args, home)),
                    None if code.len() > ARGUMENT_BYTES => Ok(Self::long(language, code, args, id)),
                    None => Ok(Self::of(language.run_code(code, args))),
                }
            }
        }
    }

    fn of(argv: Vec<String>) -> Self {
        Self { argv, save: None, code_file: None }
    }

    fn saved(language: &Language, path: WorkspacePath, args: &[String], home: &str) -> Self {
        Self { argv: language.run_file(&path.inside(home), args), save: Some(path), code_file: None }
    }

    /// In the session's `/tmp`, so that it is not among the user's files.
    fn long(language: &Language, code: &str, args: &[String], id: ExecutionId) -> Self {
        let dot = if language.suffix.is_empty() { "" } else { "." };
        let path = format!("/tmp/headwater-{id}{dot}{}", language.suffix);
        Self {
            argv: language.run_long(&path, args),
            save: None,
            code_file: Some(CodeFile { path, text: code.to_owned() }),
        }
    }
}

fn find<'a>(languages: &'a Languages, name: &str) -> Result<&'a Language, Fault> {
    match languages.get(name) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            let message = format!("the interpreter of `{name}` is not installed");
            Err(Fault::new(FaultKind::Unavailable, message).hint("`headwater doctor` names its package"))
        }
        Err(known) => {
            let fault = Fault::new(FaultKind::Invalid, format!("`{name}` is not a known language"));
            Err(fault.hint(format!("known are: {}", known.join(", "))))
        }
    }
}

fn too_large(bytes: usize) -> Fault {
    let message = format!("the code is {bytes} bytes long: {MAX_CODE_BYTES} are the most");
    Fault::new(FaultKind::Invalid, message).hint("put its data into a file, or give them as its input")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn program(code: String, file: Option<&str>) -> Result<Program, Fault> {
        let languages = Languages::find(&BTreeMap::new(), &[]);
        let args = vec!["x".to_owned()];
        let command = Command::Code { language: "bash".into(), code, file: file.map(Into::into), args };
        Program::new(&command, &languages, ExecutionId::random(), "/workspace")
    }

    #[test]
    fn code_is_an_argument_until_it_is_too_long_for_one() {
        let short = program("a".repeat(ARGUMENT_BYTES), None).unwrap();
        assert_eq!((short.code_file, short.argv.len()), (None, 5));
        let long = program("a".repeat(ARGUMENT_BYTES + 1), None).unwrap();
        let file = long.code_file.unwrap();
        assert_eq!(long.argv[1..], [file.path.clone(), "x".into()]);
        let name = file.path.strip_prefix("/tmp/headwater-exe_").unwrap();
        assert_eq!(name.split_once('.').unwrap().1, "sh");
        assert_eq!(file.text.len(), ARGUMENT_BYTES + 1);
        assert!(program("a".repeat(MAX_CODE_BYTES), None).is_ok());
        let fault = program("a".repeat(MAX_CODE_BYTES + 1), None).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Invalid);
        assert!(fault.message.contains("8388608") && fault.hint.is_some(), "{fault:?}");
    }

    #[test]
    fn code_with_a_file_is_saved_and_run_from_there_whatever_its_size() {
        for size in [1, ARGUMENT_BYTES + 1] {
            let saved = program("a".repeat(size), Some("/src/a.sh")).unwrap();
            assert_eq!(saved.argv[1..], ["/workspace/src/a.sh", "x"]);
            assert!(saved.save.is_some() && saved.code_file.is_none());
        }
        let fault = program("a".into(), Some("../a.sh")).unwrap_err();
        assert!(fault.kind == FaultKind::Invalid && fault.hint.is_some(), "{fault:?}");
    }
}
