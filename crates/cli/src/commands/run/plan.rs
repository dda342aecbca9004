//! From flags to a request.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use headwater_protocol::{Command, SessionSpec, SpecError, StartSpec, Stdin};

use crate::args::{RunArgs, StdinArg, Variable, millis};
use crate::error::CommandError;
use crate::input::{self, Input};
use crate::{exit, terminal};

/// The most input or code that travels within a request; more is streamed.
const GIVEN_BYTES: u64 = 8 << 20;

/// What is to be done.
#[derive(Debug)]
pub struct Plan {
    /// The request.
    pub spec: StartSpec,
    /// Where.
    pub place: Where,
    /// What to pass on while it runs.
    pub input: Option<Input>,
    /// Leave it alone once it runs.
    pub detach: bool,
    /// For machines.
    pub json: bool,
}

/// In which session.
#[derive(Debug, PartialEq)]
pub enum Where {
    /// One of its own that ends with it.
    Own(Box<SessionSpec>),
    /// The one that this text names.
    In(String),
}

impl Plan {
    /// Makes a request of flags.
    pub fn new(args: &RunArgs) -> Result<Self, CommandError> {
        let command = command(args)?;
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
        let place = place(args, &mut spec);
        let from = match &args.stdin {
            Some(from) => from.clone(),
            None => usual_stdin(args, code_from_stdin),
        };
        if code_from_stdin && matches!(from, StdinArg::Own | StdinArg::Open) {
            return Err(CommandError::usage(
                "standard input cannot be both the code and the program's input",
            )
            .hint("put the code into a file: `--file FILE`"));
        }
        let (stdin, input) = stdin(from, args.detach)?;
        spec.stdin = stdin;
        spec.check().map_err(|error| unfit(&error))?;
        if let Where::Own(session) = &place {
            session.check().map_err(|error| unfit(&error))?;
        }
        Ok(Self { spec, place, input, detach: args.detach, json: args.json })
    }
}

impl Plan {
    /// What may have been meant, if this was its exit code.
    pub fn hint(&self, code: u8) -> Option<String> {
        match &self.spec.command {
            Command::Argv(argv) if code == exit::NOT_FOUND => match argv.as_slice() {
                [line] if line.contains([' ', '|', '&', ';', '<', '>', '$', '`']) => {
                    Some("for a line of the shell: `headwater run --shell LINE`".to_owned())
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn unfit(error: &SpecError) -> CommandError {
    let wrong = CommandError::usage(error.to_string());
    match error {
        SpecError::Limits(limit) if limit.is_in_bytes() => {
            wrong.hint("a number alone is a number of bytes: write for example `512Mi`")
        }
        _ => wrong,
    }
}

fn command(args: &RunArgs) -> Result<Command, CommandError> {
    if let Some(line) = &args.shell {
        return Ok(Command::Shell(line.clone()));
    }
    let Some(language) = args.lang.clone() else {
        if args.command.is_empty() {
            return Err(
                CommandError::usage("nothing to run").hint("for example `headwater run -- echo hello`")
            );
        }
        return Ok(Command::Argv(args.command.clone()));
    };
    let (code, own) = code(args, &language)?;
    Ok(Command::Code { language, code, file: args.save.clone(), args: own.to_vec() })
}

/// The source text, and its arguments.
fn code<'a>(args: &'a RunArgs, language: &str) -> Result<(String, &'a [String]), CommandError> {
    if let Some(path) = &args.file {
        return Ok((text_of(path)?, &args.command));
    }
    let Some((code, rest)) = args.command.split_first() else {
        return Err(CommandError::usage(format!("no {language} code to run"))
            .hint("give it as one argument, as `-` for standard input, or with `--file FILE`"));
    };
    let own = match rest {
        [] => rest,
        [dashes, own @ ..] if dashes == "--" => own,
        _ => {
            return Err(CommandError::usage("code must be one argument")
                .hint("put quotes around it, and `--` before arguments of its own"));
        }
    };
    let code = if code == "-" { text(std::io::stdin().lock(), "standard input")? } else { code.clone() };
    Ok((code, own))
}

fn text_of(path: &Path) -> Result<String, CommandError> {
    let name = path.display().to_string();
    let file =
        File::open(path).map_err(|error| CommandError::usage(format!("cannot read `{name}`: {error}")))?;
    text(file, &name)
}

fn text(from: impl Read, name: &str) -> Result<String, CommandError> {
    let bytes = all(from, name)?;
    String::from_utf8(bytes).map_err(|_| CommandError::usage(format!("`{name}` is not UTF-8 text")))
}

/// All bytes, if they are few enough to travel within a request.
fn all(from: impl Read, name: &str) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = from.take(GIVEN_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::usage(format!("cannot read `{name}`: {error}")))?;
    if bytes.len() as u64 > GIVEN_BYTES {
        let message = format!("`{name}` is larger than {} MiB", GIVEN_BYTES >> 20);
        return Err(
            CommandError::usage(message).hint("run without `--detach`, or put it into the session first")
        );
    }
    Ok(bytes)
}

fn environment(args: &RunArgs) -> BTreeMap<String, String> {
    let mut env = Variable::collect(&args.env);
    if args.tty {
        // The program draws on this person's terminal.
        for name in ["TERM", "COLORTERM"] {
            if let Ok(value) = std::env::var(name) {
                env.entry(name.to_owned()).or_insert(value);
            }
        }
    }
    env
}

/// A session of its own gets the limits itself: an execution's can only be lower than its session's.
fn place(args: &RunArgs, spec: &mut StartSpec) -> Where {
    let limits = args.limits.limits();
    if let Some(session) = &args.session {
        spec.limits = limits;
        return Where::In(session.clone());
    }
    Where::Own(Box::new(SessionSpec { limits, one_shot: true, ..SessionSpec::default() }))
}

fn usual_stdin(args: &RunArgs, code_from_stdin: bool) -> StdinArg {
    if args.detach || code_from_stdin || (!args.tty && (terminal::in_background() || input::own_is_null())) {
        StdinArg::None
    } else {
        StdinArg::Open
    }
}

/// What the request says of the input, and what is streamed later.
fn stdin(from: StdinArg, detach: bool) -> Result<(Stdin, Option<Input>), CommandError> {
    let given = |bytes: Vec<u8>| (Stdin::Given(bytes.into()), None);
    Ok(match (from, detach) {
        (StdinArg::None, _) => (Stdin::None, None),
        (StdinArg::Text(text), _) => given(text.into_bytes()),
        (StdinArg::Open, true) => (Stdin::Open, None),
        (StdinArg::Own, true) => given(all(std::io::stdin().lock(), "standard input")?),
        (StdinArg::File(path), true) => {
            let name = path.display().to_string();
            let file = File::open(&path);
            given(all(
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
    use crate::args::{Cli, Command as Word};
    use crate::snapshot;

    fn plan(line: &[&str]) -> Result<Plan, CommandError> {
        let line = [&["headwater", "run"], line].concat();
        match Cli::try_parse_from(line).unwrap().command {
            Word::Run(args) => Plan::new(&args),
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
    fn in_a_session_the_limits_are_the_executions() {
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
    fn code_has_arguments_and_a_path_to_be_saved_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.py");
        std::fs::write(&path, "print(1)").unwrap();
        let path = path.to_str().unwrap();
        let told = |line: &[&str]| {
            let plan = plan(&[&["--stdin", "none", "--lang", "python"], line].concat()).unwrap();
            let Command::Code { code, file, args, .. } = plan.spec.command else { panic!() };
            assert_eq!(code, "print(1)", "{line:?}");
            (file, args)
        };
        let args = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told(&["print(1)"]), (None, args(&[])));
        assert_eq!(told(&["print(1)", "--", "a", "--b", "-"]), (None, args(&["a", "--b", "-"])));
        assert_eq!(told(&["print(1)", "--", "--", "a"]), (None, args(&["--", "a"])));
        assert_eq!(told(&["--file", path, "--", "-a", "-"]), (None, args(&["-a", "-"])));
        assert_eq!(told(&["--file", path, "a"]), (None, args(&["a"])));
        assert_eq!(told(&["--save", "src/x.py", "print(1)"]), (Some("src/x.py".into()), args(&[])));
    }

    #[test]
    fn input_is_given_with_the_request_or_streamed_or_left_open() {
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
    fn a_shell_line_that_was_taken_for_a_program_gets_a_hint() {
        let hint = |line: &[&str], code| plan(&[&["--stdin", "none"], line].concat()).unwrap().hint(code);
        assert!(hint(&["echo a | wc"], 127).unwrap().contains("--shell"));
        for (line, code) in [(&["echo a | wc"][..], 1), (&["nope"], 127), (&["nope", "a b"], 127)] {
            assert_eq!(hint(line, code), None, "{line:?} {code}");
        }
    }

    #[test]
    fn a_size_without_a_unit_that_is_too_small_gets_a_hint() {
        let error = plan(&["--stdin", "none", "--memory", "512", "true"]).unwrap_err();
        assert!(error.hints[0].contains("512Mi"), "{error:?}");
    }

    #[test]
    fn errors_and_hints_read_like_this() {
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
