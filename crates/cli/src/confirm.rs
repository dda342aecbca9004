//! Confirmation before data is deleted.

use std::io::{BufRead, IsTerminal};

use crate::error::{CommandError, ErrorKind};
use crate::output::print_prompt;

/// Returns if the user confirms at the terminal, or has passed `--yes`. Without a terminal it is an error.
pub fn confirm(what: &str, yes: bool) -> Result<(), CommandError> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(cannot_ask(what));
    }
    print_prompt(&format!("{what}. Continue? [y/N] "));
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| CommandError::internal(format!("cannot read the answer: {error}")))?;
    if is_yes(&answer) {
        return Ok(());
    }
    Err(declined())
}

fn cannot_ask(what: &str) -> CommandError {
    CommandError::usage(format!("{what}: not confirmed"))
        .hint("nothing was changed; use `--yes` to confirm without a terminal")
}

fn declined() -> CommandError {
    CommandError::new(ErrorKind::Refused, "not confirmed: nothing was changed")
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn errors_match_their_snapshot() {
        snapshot::assert_errors("confirm-errors", &[cannot_ask("end the session `work`"), declined()]);
    }

    #[test]
    fn only_y_and_yes_confirm() {
        assert!(is_yes("y\n") && is_yes(" YES \n"));
        for answer in ["", "\n", "n\n", "yess\n", "no y\n"] {
            assert!(!is_yes(answer), "{answer:?}");
        }
    }
}
