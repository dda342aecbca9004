//! Commands that only read. A person need not be asked for them.

/// Programs that only read, whatever their arguments are.
const READERS: &[&str] = &[
    "basename",
    "cat",
    "cmp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "expr",
    "false",
    "file",
    "grep",
    "egrep",
    "fgrep",
    "head",
    "hostname",
    "id",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "pwd",
    "readlink",
    "realpath",
    "seq",
    "sha1sum",
    "sha256sum",
    "stat",
    "tac",
    "tail",
    "tr",
    "true",
    "uname",
    "wc",
    "which",
    "whoami",
    "xxd",
];
/// Subcommands of git that only read.
const GIT_READERS: &[&str] = &["status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "shortlog"];

/// Whether a simple command is known to only read.
pub(super) fn only_reads(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else { return false };
    // Only by name: a path could lead to a program of the workspace.
    match program.as_str() {
        "date" => !has(arguments, &["-s", "--set"]),
        "hostname" => arguments.is_empty(),
        "find" => !has(
            arguments,
            &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"],
        ),
        "rg" => !has(arguments, &["--pre", "--hostname-bin", "--search-zip", "-z"]),
        "sort" => !has(arguments, &["-o", "--output", "--compress-program"]),
        "uniq" => arguments.iter().filter(|argument| !argument.starts_with('-')).count() <= 1,
        "sed" => {
            matches!(arguments, [flag, script] | [flag, script, _] if flag == "-n" && prints_lines(script))
        }
        "git" => {
            let reads = arguments.first().is_some_and(|name| GIT_READERS.contains(&name.as_str()));
            reads && !has(arguments, &["--output", "--ext-diff", "--textconv", "-O"])
        }
        "xxd" => !has(arguments, &["-r"]) && arguments.len() <= 1,
        name => READERS.contains(&name),
    }
}

/// Whether an argument is one of these options, with or without a value attached.
fn has(arguments: &[String], options: &[&str]) -> bool {
    arguments.iter().any(|argument| {
        options.iter().any(|option| {
            if option.starts_with("--") {
                argument == option || argument.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
            } else if option.len() == 2 {
                // Short options can be joined: `-ro` is `-r -o`.
                argument.starts_with('-') && !argument.starts_with("--") && argument.contains(&option[1..])
            } else {
                argument == option
            }
        })
    })
}

/// Whether a script of sed is `Np` or `N,Mp`.
fn prints_lines(script: &str) -> bool {
    script.strip_suffix('p').is_some_and(|range| {
        let mut numbers = range.splitn(2, ',');
        numbers.all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
