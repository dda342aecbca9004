//! Splits a shell script into simple commands, if that is possible without running it.
//!
//! Only scripts of plain words joined by `&&`, `||`, `;`, `|` and newlines are split. Anything that the shell
//! would expand, redirect or nest returns `None`: a rule must not match a command that the shell changes.

/// Characters whose meaning this parser does not know outside of quotes.
const SPECIAL: &[char] =
    &['$', '`', '(', ')', '{', '}', '<', '>', '*', '?', '[', ']', '~', '!', '#', '\\', '='];
/// The most nested `sh -c`.
const MAX_DEPTH: usize = 4;

/// The simple commands of an argv: the argv itself, or those of the script if it is one of a shell.
pub fn simple_commands(argv: &[String]) -> Option<Vec<Vec<String>>> {
    commands_of(argv, 0)
}

fn commands_of(argv: &[String], depth: usize) -> Option<Vec<Vec<String>>> {
    let [shell, flag, rest @ ..] = argv else { return Some(vec![argv.to_vec()]) };
    if !is_shell(shell) || !flag.starts_with('-') {
        return Some(vec![argv.to_vec()]);
    }
    // Further arguments become `$0` and so on: they change nothing in a script without expansions.
    if depth >= MAX_DEPTH || !matches!(flag.as_str(), "-c" | "-lc" | "-cl") {
        return None;
    }
    let mut all = Vec::new();
    for command in split(rest.first()?)? {
        all.extend(commands_of(&command, depth + 1)?);
    }
    Some(all)
}

/// Whether this program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash")
}

/// Splits a script of plain words.
fn split(script: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut chars = script.chars().peekable();
    let mut word: Option<String> = None;
    while let Some(ch) = chars.next() {
        match ch {
            '\'' => word.get_or_insert_default().push_str(&single_quoted(&mut chars)?),
            '"' => word.get_or_insert_default().push_str(&double_quoted(&mut chars)?),
            ' ' | '\t' => end_word(&mut commands, &mut word)?,
            '\n' | ';' | '|' | '&' => {
                end_word(&mut commands, &mut word)?;
                let doubled = matches!(ch, '|' | '&') && chars.next_if_eq(&ch).is_some();
                // A single `&` starts a background job, which is another thing than a list.
                if ch == '&' && !doubled {
                    return None;
                }
                // An empty command before an operator is an error of syntax; after `;` and newline it is the end.
                let is_empty = commands.last().is_none_or(Vec::is_empty);
                if is_empty && !matches!(ch, '\n' | ';') {
                    return None;
                }
                if !is_empty {
                    commands.push(Vec::new());
                }
            }
            _ if SPECIAL.contains(&ch) && !(ch == '=' && word.is_some() && !is_first(&commands)) => {
                return None;
            }
            _ => word.get_or_insert_default().push(ch),
        }
    }
    end_word(&mut commands, &mut word)?;
    commands.retain(|command| !command.is_empty());
    (!commands.is_empty()).then_some(commands)
}

/// Whether the word that is being read is the first of its command, where `A=b` is an assignment.
fn is_first(commands: &[Vec<String>]) -> bool {
    commands.last().is_none_or(Vec::is_empty)
}

fn end_word(commands: &mut [Vec<String>], word: &mut Option<String>) -> Option<()> {
    let Some(word) = word.take() else { return Some(()) };
    let command = commands.last_mut()?;
    if command.is_empty() && is_keyword(&word) {
        return None;
    }
    command.push(word);
    Some(())
}

/// Words that begin something else than a simple command, or run their arguments as a command.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "fi"
            | "for"
            | "while"
            | "until"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "select"
            | "function"
            | "time"
            | "coproc"
            | "eval"
            | "exec"
            | "source"
            | "."
            | "command"
            | "builtin"
            | "alias"
            | "export"
            | "trap"
            | "set"
    )
}

fn single_quoted(chars: &mut impl Iterator<Item = char>) -> Option<String> {
    let mut text = String::new();
    loop {
        match chars.next()? {
            '\'' => return Some(text),
            ch => text.push(ch),
        }
    }
}

fn double_quoted(chars: &mut impl Iterator<Item = char>) -> Option<String> {
    let mut text = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '$' | '`' | '\\' | '!' => return None,
            ch => text.push(ch),
        }
    }
}
