//! Colours, on a terminal only.

use rustix::termios::isatty;

/// Paints words, or leaves them as they are.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    on: bool,
}

impl Style {
    /// For what is written to standard output.
    pub fn of_stdout() -> Self {
        Self { on: isatty(rustix::stdio::stdout()) && wanted() }
    }

    /// For what is written to standard error.
    pub fn of_stderr() -> Self {
        Self { on: isatty(rustix::stdio::stderr()) && wanted() }
    }

    /// Never paints.
    #[cfg(test)]
    pub const fn plain() -> Self {
        Self { on: false }
    }

    /// Errors, and executions that ended badly.
    pub fn red(self, text: &str) -> String {
        self.paint("31;1", text)
    }

    /// What runs.
    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What could be better.
    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Hints.
    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// Headings.
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Notes of our own between a program's output.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// See <https://no-color.org>; a terminal that can do nothing says so.
fn wanted() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
