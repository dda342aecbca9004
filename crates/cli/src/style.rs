//! Colours, if the output is a terminal.

use std::io::IsTerminal;

/// Colours text, or leaves it unchanged.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    enabled: bool,
}

impl Style {
    /// The style of standard output.
    pub fn of_stdout() -> Self {
        Self { enabled: std::io::stdout().is_terminal() && is_allowed() }
    }

    /// The style of standard error.
    pub fn of_stderr() -> Self {
        Self { enabled: std::io::stderr().is_terminal() && is_allowed() }
    }

    /// No colours.
    #[cfg(test)]
    pub const fn plain() -> Self {
        Self { enabled: false }
    }

    /// Errors, and executions that failed.
    pub fn red(self, text: &str) -> String {
        self.paint("31;1", text)
    }

    /// Running executions, and checks that passed.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Warnings.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Hints and fixes.
    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// Table headings.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Our own notes among the output of a program.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.enabled { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Whether the environment allows colours; see <https://no-color.org>.
fn is_allowed() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
