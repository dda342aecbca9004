//! Tests of the command-line arguments.

use clap::CommandFactory;

use super::*;
use crate::snapshot;

fn parse(line: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once(&"headwater").chain(line))
}

fn run(line: &[&str]) -> ProgramArgs {
    match parse(&[&["run"], line].concat()).unwrap().command {
        Command::Run(args) => args.program,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_arguments_are_consistent() {
    Cli::command().debug_assert();
}

/// Hides the values of environment variables, which differ between machines.
fn without_env_values(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| arg.hide_env_values(true)).mut_subcommands(without_env_values)
}

/// Collects the help of a command and of its subcommands.
fn commands(command: &mut clap::Command, path: &str, found: &mut Vec<(String, String)>) {
    let help = command.render_long_help().to_string();
    found.push((path.trim().replace(' ', "-"), help));
    for below in command.get_subcommands_mut().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name());
        commands(below, &path, found);
    }
}

#[test]
fn the_help_of_every_command_matches_its_snapshot() {
    let mut command = without_env_values(Cli::command()).term_width(100);
    command.build();
    let mut found = Vec::new();
    commands(&mut command, "help", &mut found);
    for (name, help) in &found {
        snapshot::assert(name, help);
    }
    let files = std::fs::read_dir(snapshot::folder()).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|file| file.starts_with("help"));
    assert_eq!(files.len(), found.len(), "a snapshot is left of a removed command: {files:?}");
}

#[test]
fn usage_errors_match_their_snapshot() {
    let lines: [&[&str]; 11] = [
        &["rum"],
        &["run", "--tymeout", "5s", "true"],
        &["run", "-x", "true"],
        &["run", "--lang", "python", "-1"],
        &["run", "--timeout", "soon", "true"],
        &["run", "--memory", "much", "true"],
        &["run", "--env", "=x", "env"],
        &["run", "--env", "SURELY_NOT_SET_ANYWHERE", "env"],
        &["kill", "exe_1", "--signal", "nope"],
        &["kill", "exe_1", "--tree"],
        &["logs"],
    ];
    let errors = lines.map(|line| parse(line).unwrap_err().to_string());
    snapshot::assert("usage-errors", &errors.join("\n"));
}

#[test]
fn flags_after_the_command_belong_to_the_command() {
    let args = run(&["--timeout", "10s", "ls", "--tty", "-l", "--", "x"]);
    assert_eq!(args.command, ["ls", "--tty", "-l", "--", "x"]);
    assert!(!args.tty);
    assert_eq!(args.timeout, Some(Duration::from_secs(10)));
    assert_eq!(run(&["--", "--odd"]).command, ["--odd"]);
}

#[test]
fn an_unknown_flag_before_the_program_is_an_error_that_names_the_nearest_flag() {
    for (flag, nearest) in [("--tymeout", "--timeout"), ("--memroy", "--memory"), ("--sesion", "--session")] {
        let error = parse(&["run", flag, "5s", "true"]).unwrap_err().to_string();
        assert!(error.contains(flag) && error.contains(nearest), "{error}");
    }
    assert!(parse(&["run", "-x", "true"]).is_err());
    assert!(parse(&["run", "--timeout", "5s", "--tty", "--no-such-flag"]).is_err());
    assert_eq!(run(&["--lang", "python", "--", "-1"]).command, ["-1"]);
    assert_eq!(run(&["--lang", "python", "print(1)", "--", "a"]).command, ["print(1)", "--", "a"]);
}

#[test]
fn limits_are_parsed_with_their_units() {
    let limits = run(&["--memory", "512Mi", "--cpus", "0.5", "--pids", "7", "--output-limit", "1MB", "true"])
        .limits
        .limits();
    assert_eq!((limits.memory_bytes, limits.cpus), (Some(512 << 20), Some(0.5)));
    assert_eq!((limits.pids, limits.output_bytes), (Some(7), Some(1_000_000)));
    assert!(parse(&["run", "--memory", "much", "true"]).unwrap_err().to_string().contains("512Mi"));
}

#[test]
fn every_kind_of_stdin_is_distinguished_from_a_file() {
    let stdin = |text| run(&["--stdin", text, "cat"]).stdin.unwrap();
    assert_eq!(stdin("none"), StdinArg::None);
    assert_eq!(stdin("open"), StdinArg::Open);
    assert_eq!(stdin("-"), StdinArg::Own);
    assert_eq!(stdin("text:a:b"), StdinArg::Text("a:b".into()));
    assert_eq!(stdin("./none"), StdinArg::File("./none".into()));
}

#[test]
fn a_variable_keeps_every_equals_sign_after_the_first() {
    let env = Variable::collect(&run(&["--env", "A=b=c", "-e", "A=d", "-e", "E=", "env"]).env);
    assert_eq!(env.into_iter().collect::<Vec<_>>(), [("A".into(), "d".into()), ("E".into(), String::new())]);
    for bad in ["=x", "SURELY_NOT_SET_ANYWHERE"] {
        assert!(parse(&["run", "--env", bad, "env"]).is_err(), "{bad}");
    }
}

#[test]
fn only_one_way_to_say_what_to_run_is_accepted_at_a_time() {
    assert!(parse(&["run", "--shell", "x", "y"]).is_err());
    assert!(parse(&["run", "--shell", "x", "--lang", "python"]).is_err());
    assert!(parse(&["run", "--shell", "x", "--file", "x.py"]).is_err());
    assert_eq!(run(&["--lang", "python", "-"]).command, ["-"]);
}

#[test]
fn a_signal_and_its_target_are_parsed() {
    let Command::Kill(args) = parse(&["kill", "exe_1", "--signal", "usr1", "--tree"]).unwrap().command else {
        panic!()
    };
    assert_eq!((args.signal, args.tree), (Some(10), true));
    assert!(parse(&["kill", "exe_1", "--tree"]).is_err());
    assert!(parse(&["kill", "exe_1", "--now", "--signal", "9"]).is_err());
    assert!(parse(&["kill"]).is_err());
}

#[test]
fn the_data_folder_can_be_given_before_and_after_the_command() {
    for line in [&["--data", "/d", "ps"][..], &["ps", "--data", "/d"], &["sessions", "list", "--data", "/d"]]
    {
        assert_eq!(parse(line).unwrap().data, Some("/d".into()));
    }
    assert_eq!(data_folder(Some("/d/./e".into())).unwrap(), PathBuf::from("/d/e"));
}
