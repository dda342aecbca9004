//! Builds the request of `headwater run` from its flags.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use headwater_protocol::api::LanguageBody;
use headwater_protocol::{Command, SessionSpec, SpecError, StartSpec, Stdin};

use super::ChosenWorkspace;
use crate::args::{ProgramArgs, StdinArg, Variable, millis};
use crate::error::CommandError;
use crate::input::{self, Input};
use crate::{exit, in_place, terminal};

/// The most input or code that is sent within a request; more is streamed.
const INLINE_BYTES: u64 = 8 << 20;

/// The hint if a suffix does not determine the language.
const NAME_THE_LANGUAGE: &str = "name it with `--lang LANGUAGE`; `headwater languages` lists them";

/// A validated `headwater run`.
#[derive(Debug)]
pub struct Plan {
    /// The request.
    pub spec: StartSpec,
    /// The session to run in.
    pub place: Where,
    /// Input that is streamed while the program runs.
    pub input: Option<Input>,
    /// Return once it is started, without following it.
    pub detach: bool,
    /// Print JSON.
    pub json: bool,
    /// The suffix of the file that determines the language, if no language was given.
    pub suffix: Option<String>,
}

/// The session to run in.
#[derive(Debug, PartialEq)]
pub enum Where {
    /// A temporary session that ends with the program.
    Own(Box<SessionSpec>),
    /// The session with this id, id prefix or name.
    In(String),
}

impl Plan {
    /// Builds and validates the request.
    pub fn new(args: &ProgramArgs, chosen: ChosenWorkspace<'_>) -> Result<Self, CommandError> {
        let (command, suffix) = command(args)?;
        let inline = args.lang.is_some() && args.file.is_none();
        let code_from_stdin = inline && args.command.first().is_some_and(|word| word == "-");
        let mut spec = StartSpec::new(command);
        spec.env = environment(args);
        spec.cwd.clone_from(&args.cwd);
        spec.tty = args.tty.then(|| terminal::size().unwrap_or_default());
        spec.merge_output = args.merge;
        spec.timeout_ms = args.timeout.map(millis);
        spec.grace_ms = args.grace.map(millis);
        spec.children = args.children.into();
        spec.on_output_limit = args.on_output_limit.into();
        let place = place(args, chosen, &mut spec)?;
        let from = match &args.stdin {
            Some(from) => from.clone(),
            None => default_stdin(args, code_from_stdin),
        };
        if code_from_stdin && matches!(from, StdinArg::Own | StdinArg::Open) {
            return Err(CommandError::usage(
                "standard input cannot be both the source code and the program's input",
            )
            .hint("put the source code into a file: `--file FILE`"));
        }
        let (stdin, input) = stdin(from, args.detach)?;
        spec.stdin = stdin;
        spec.check().map_err(|error| invalid(&error))?;
        if let Where::Own(session) = &place {
            session.check().map_err(|error| invalid(&error))?;
        }
        Ok(Self { spec, place, input, detach: args.detach, json: args.json, suffix })
    }
}

impl Plan {
    /// Sets the language of a file by its suffix, from the languages of the engine.
    pub fn set_language(&mut self, known: &[LanguageBody]) -> Result<(), CommandError> {
        let (Some(suffix), Command::Code { language, .. }) = (&self.suffix, &mut self.spec.command) else {
            return Ok(());
        };
        let has_suffix =
            |one: &&LanguageBody| one.suffixes.iter().any(|known| known.eq_ignore_ascii_case(suffix));
        let found = known.iter().filter(has_suffix).min_by_key(|one| !one.available);
        language.clone_from(&found.ok_or_else(|| unknown_suffix(suffix))?.name);
        Ok(())
    }

    /// A hint for a likely mistake, given the exit code.
    pub fn hint(&self, code: u8) -> Option<String> {
        match &self.spec.command {
            Command::Argv(argv) if code == exit::NOT_FOUND => match argv.as_slice() {
                [line] if line.contains([' ', '|', '&', ';', '<', '>', '$', '`']) => {
                    Some("to run a shell command, use `headwater run --shell LINE`".to_owned())
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn invalid(error: &SpecError) -> CommandError {
    let usage = CommandError::usage(error.to_string());
    match error {
        SpecError::Limits(limit) if limit.is_in_bytes() => {
            usage.hint("a number without a unit is in bytes: write for example `512Mi`")
        }
        _ => usage,
    }
}

/// What to run, and the suffix of a file whose language is not known yet.
fn command(args: &ProgramArgs) -> Result<(Command, Option<String>), CommandError> {
    if let Some(line) = &args.shell {
        return Ok((Command::Shell(line.clone()), None));
    }
    let suffix = match (&args.lang, &args.file) {
        (None, Some(path)) => Some(suffix(path)?),
        _ => None,
    };
    let Some(language) = args.lang.clone().or_else(|| suffix.clone()) else {
        if args.save.is_some() {
            return Err(CommandError::usage("`--save` is for source code")
                .hint("name its language with `--lang LANGUAGE`, or read it with `--file FILE`"));
        }
        if args.command.is_empty() {
            return Err(
                CommandError::usage("nothing to run").hint("for example `headwater run -- echo hello`")
            );
        }
        return Ok((Command::Argv(args.command.clone()), None));
    };
    let (code, own_args) = code(args, &language)?;
    let command = Command::Code { language, code, file: args.save.clone(), args: own_args.to_vec() };
    Ok((command, suffix))
}

/// The suffix of a file, without the dot.
fn suffix(path: &Path) -> Result<String, CommandError> {
    let suffix = path.extension().and_then(|suffix| suffix.to_str()).filter(|suffix| !suffix.is_empty());
    suffix.map(ToOwned::to_owned).ok_or_else(|| {
        CommandError::usage(format!("the language of `{}` is not known: it has no suffix", path.display()))
            .hint(NAME_THE_LANGUAGE)
    })
}

fn unknown_suffix(suffix: &str) -> CommandError {
    CommandError::usage(format!("no language has the suffix `.{suffix}`")).hint(NAME_THE_LANGUAGE)
}

/// The source code, and its arguments.
fn code<'a>(args: &'a ProgramArgs, language: &str) -> Result<(String, &'a [String]), CommandError> {
    if let Some(path) = &args.file {
        return Ok((text_of(path)?, &args.command));
    }
    let Some((code, rest)) = args.command.split_first() else {
        return Err(CommandError::usage(format!("no {language} code to run"))
            .hint("pass it as one argument, as `-` for standard input, or with `--file FILE`"));
    };
    let own_args = match rest {
        [] => rest,
        [dashes, own_args @ ..] if dashes == "--" => own_args,
        _ => {
            return Err(CommandError::usage("source code must be one argument")
                .hint("put quotes around it, and `--` before the arguments of the code"));
        }
    };
    let code = if code == "-" { text(std::io::stdin().lock(), "standard input")? } else { code.clone() };
    Ok((code, own_args))
}

fn text_of(path: &Path) -> Result<String, CommandError> {
    let name = path.display().to_string();
    let file =
        File::open(path).map_err(|error| CommandError::usage(format!("cannot read `{name}`: {error}")))?;
    text(file, &name)
}

fn text(from: impl Read, name: &str) -> Result<String, CommandError> {
    let bytes = read_all(from, name)?;
    String::from_utf8(bytes).map_err(|_| CommandError::usage(format!("`{name}` is not UTF-8 text")))
}

/// Reads everything, if it is small enough to be sent within a request.
fn read_all(from: impl Read, name: &str) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = from.take(INLINE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::usage(format!("cannot read `{name}`: {error}")))?;
    if bytes.len() as u64 > INLINE_BYTES {
        let message = format!("`{name}` is larger than {} MiB", INLINE_BYTES >> 20);
        return Err(
            CommandError::usage(message).hint("run without `--detach`, or copy it into the workspace first")
        );
    }
    Ok(bytes)
}

fn environment(args: &ProgramArgs) -> BTreeMap<String, String> {
    let mut env = Variable::collect(&args.env);
    if args.tty {
        // The program draws on the user's terminal.
        for name in ["TERM", "COLORTERM"] {
            if let Ok(value) = std::env::var(name) {
                env.entry(name.to_owned()).or_insert(value);
            }
        }
    }
    env
}

/// A temporary session gets the limits itself: those of an execution can only be lower than those of its session.
fn place(
    args: &ProgramArgs,
    chosen: ChosenWorkspace<'_>,
    spec: &mut StartSpec,
) -> Result<Where, CommandError> {
    let limits = args.limits.limits();
    let session = match chosen {
        ChosenWorkspace::Session(session) => {
            spec.limits = limits;
            return Ok(Where::In(session.to_owned()));
        }
        ChosenWorkspace::Here { writable } => {
            let (mode, network) = (ChosenWorkspace::mode(args)?, args.network.map(Into::into));
            in_place::spec(Path::new("."), &in_place::Options { mode, network, writable })?
        }
        ChosenWorkspace::Temporary => {
            let network = args.network.map(Into::into).unwrap_or_default();
            SessionSpec { network, ..SessionSpec::default() }
        }
    };
    Ok(Where::Own(Box::new(SessionSpec { limits, one_shot: true, ..session })))
}

fn default_stdin(args: &ProgramArgs, code_from_stdin: bool) -> StdinArg {
    if args.detach
        || code_from_stdin
        || (!args.tty && (terminal::in_background() || terminal::stdin_is_null()))
    {
        StdinArg::None
    } else {
        StdinArg::Open
    }
}

/// The input in the request, and the input that is streamed later.
fn stdin(from: StdinArg, detach: bool) -> Result<(Stdin, Option<Input>), CommandError> {
    let given = |bytes: Vec<u8>| (Stdin::Given(bytes.into()), None);
    Ok(match (from, detach) {
        (StdinArg::None, _) => (Stdin::None, None),
        (StdinArg::Text(text), _) => given(text.into_bytes()),
        (StdinArg::Open, true) => (Stdin::Open, None),
        (StdinArg::Own, true) => given(read_all(std::io::stdin().lock(), "standard input")?),
        (StdinArg::File(path), true) => {
            let name = path.display().to_string();
            let file = File::open(&path);
            given(read_all(
                file.map_err(|error| CommandError::usage(format!("cannot read `{name}`: {error}")))?,
                &name,
            )?)
        }
        (StdinArg::Open | StdinArg::Own, false) => (Stdin::Open, Some(input::own())),
        (StdinArg::File(path), false) => (Stdin::Open, Some(input::file(&path)?)),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command as Subcommand};
    use crate::snapshot;

    fn plan(line: &[&str]) -> Result<Plan, CommandError> {
        let line = [&["headwater", "run"], line].concat();
        match Cli::try_parse_from(line).unwrap().command {
            Subcommand::Run(args) => Plan::new(&args.program, ChosenWorkspace::of(&args)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_a_session_a_run_gets_a_one_shot_with_the_requested_limits() {
        let plan = plan(&["--stdin", "none", "--pids", "9", "true"]).unwrap();
        let Where::Own(session) = &plan.place else { panic!("{:?}", plan.place) };
        assert!(session.one_shot);
        assert_eq!((session.limits.pids, plan.spec.limits.pids), (Some(9), None));
    }

    #[test]
    fn in_a_session_the_limits_apply_to_the_execution() {
        let plan = plan(&["--stdin", "none", "--session", "work", "--pids", "9", "true"]).unwrap();
        assert_eq!((plan.place, plan.spec.limits.pids), (Where::In("work".into()), Some(9)));
    }

    #[test]
    fn code_is_one_argument_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.py");
        std::fs::write(&path, "print(1)").unwrap();
        let from_file =
            plan(&["--stdin", "none", "--lang", "python", "--file", path.to_str().unwrap()]).unwrap();
        let given = plan(&["--stdin", "none", "--lang", "python", "print(1)"]).unwrap();
        assert_eq!(from_file.spec.command, given.spec.command);
        for bad in [&["--lang", "python"][..], &["--lang", "python", "a", "b"], &[]] {
            assert!(!plan(bad).unwrap_err().hints.is_empty(), "{bad:?}");
        }
    }

    #[test]
    fn the_suffix_of_a_file_determines_the_language() {
        let folder = tempfile::tempdir().unwrap();
        let known = |name: &str, suffix: &str, available| {
            let language = serde_json::json!({
                "name": name, "suffixes": [suffix], "available": available,
            });
            serde_json::from_value::<LanguageBody>(language).unwrap()
        };
        let known = [known("other", "py", false), known("python", "py", true), known("ruby", "rb", true)];
        let language = |name: &str, more: &[&str]| {
            let path = folder.path().join(name);
            std::fs::write(&path, "print(1)").unwrap();
            let mut plan = plan(&[&["--stdin", "none", "--file", path.to_str().unwrap()], more].concat())?;
            plan.set_language(&known)?;
            let Command::Code { language, args, .. } = plan.spec.command else { panic!() };
            assert_eq!(args, ["x"], "the remaining words are arguments of the code");
            Ok::<_, CommandError>(language)
        };
        assert_eq!(language("a.py", &["x"]).unwrap(), "python");
        assert_eq!(language("a.PY", &["x"]).unwrap(), "python");
        assert_eq!(language("a.py", &["--lang", "ruby", "x"]).unwrap(), "ruby", "an explicit language wins");
        for (name, said) in [("a.xyz", "`.xyz`"), ("Makefile", "no suffix")] {
            let error = language(name, &["x"]).unwrap_err();
            assert!(error.message.contains(said) && error.hints[0].contains("--lang"), "{error:?}");
        }
    }

    #[test]
    fn code_has_arguments_and_a_path_to_be_saved_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.py");
        std::fs::write(&path, "print(1)").unwrap();
        let path = path.to_str().unwrap();
        let parsed = |line: &[&str]| {
            let plan = plan(&[&["--stdin", "none", "--lang", "python"], line].concat()).unwrap();
            let Command::Code { code, file, args, .. } = plan.spec.command else { panic!() };
            assert_eq!(code, "print(1)", "{line:?}");
            (file, args)
        };
        let args = |args: &[&str]| args.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(parsed(&["print(1)"]), (None, args(&[])));
        assert_eq!(parsed(&["print(1)", "--", "a", "--b", "-"]), (None, args(&["a", "--b", "-"])));
        assert_eq!(parsed(&["print(1)", "--", "--", "a"]), (None, args(&["--", "a"])));
        assert_eq!(parsed(&["--file", path, "--", "-a", "-"]), (None, args(&["-a", "-"])));
        assert_eq!(parsed(&["--file", path, "a"]), (None, args(&["a"])));
        assert_eq!(parsed(&["--save", "src/x.py", "print(1)"]), (Some("src/x.py".into()), args(&[])));
    }

    #[test]
    fn input_is_sent_with_the_request_or_streamed_or_left_open() {
        let stdin = |line: &[&str]| {
            plan(&[line, &["cat"]].concat()).map(|plan| (plan.spec.stdin, plan.input.is_some()))
        };
        assert_eq!(stdin(&["--stdin", "text:hi"]), Ok((Stdin::Given("hi".into()), false)));
        assert_eq!(stdin(&["--stdin", "open", "--detach"]), Ok((Stdin::Open, false)));
        assert_eq!(stdin(&["--detach"]), Ok((Stdin::None, false)));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(stdin(&["--stdin", path, "--detach"]), Ok((Stdin::Given("abc".into()), false)));
        assert_eq!(stdin(&["--stdin", path]), Ok((Stdin::Open, true)));
        assert!(stdin(&["--stdin", "/no/such/file"]).unwrap_err().message.contains("/no/such/file"));
    }

    #[test]
    fn a_shell_command_that_was_taken_for_a_program_gets_a_hint() {
        let hint = |line: &[&str], code| plan(&[&["--stdin", "none"], line].concat()).unwrap().hint(code);
        assert!(hint(&["echo a | wc"], 127).unwrap().contains("--shell"));
        for (line, code) in [(&["echo a | wc"][..], 1), (&["nope"], 127), (&["nope", "a b"], 127)] {
            assert_eq!(hint(line, code), None, "{line:?} {code}");
        }
    }

    #[test]
    fn a_size_that_is_too_small_without_a_unit_gets_a_hint() {
        let error = plan(&["--stdin", "none", "--memory", "512", "true"]).unwrap_err();
        assert!(error.hints[0].contains("512Mi"), "{error:?}");
    }

    #[test]
    fn errors_and_hints_match_their_snapshots() {
        let lines: [&[&str]; 9] = [
            &[],
            &["--lang", "python"],
            &["--lang", "python", "a", "b"],
            &["--lang", "python", "--file", "/no/such/file"],
            &["--stdin", "/no/such/file", "cat"],
            &["--stdin", "none", "--memory", "512", "true"],
            &["--stdin", "none", "--pids", "0", "true"],
            &["--stdin", "none", "--cwd", "", "true"],
            &["--stdin", "none", "--session", "x", "--timeout", "0s", "true"],
        ];
        let errors: Vec<_> = lines.iter().filter_map(|line| plan(line).err()).collect();
        snapshot::assert_errors("run-errors", &errors);
        let hint = plan(&["--stdin", "none", "echo a | wc"]).unwrap().hint(exit::NOT_FOUND);
        snapshot::assert("run-hint", &hint.unwrap());
    }

    #[test]
    fn impossible_commands_are_refused_before_a_worker_is_asked() {
        let message =
            plan(&["--stdin", "none", "--pids", "0", "--session", "x", "true"]).unwrap_err().message;
        assert!(message.contains("limits.pids"), "{message}");
    }
}
