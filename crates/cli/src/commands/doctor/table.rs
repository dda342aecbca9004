//! The report as text.

use headwater_sandbox::doctor::{Check, Severity};
use rustix::termios::{isatty, tcgetwinsize};

use super::Report;
use crate::style::Style;

/// Columns, if standard output is not a terminal.
const WIDTH: usize = 110;
/// The least width of the text column, however narrow the terminal is.
const LEAST: usize = 30;

/// The checks, each with its detail wrapped and its fix below it, and the conclusion.
pub fn lines(report: &Report, style: Style) -> Vec<String> {
    let names = report.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let room = width().saturating_sub(names + 11).max(LEAST);
    let mut lines = Vec::new();
    for (number, check) in report.checks.iter().enumerate() {
        let again = repeated(&report.checks[..number], check);
        lines.extend(check_lines(again.as_ref().unwrap_or(check), names, room, style));
    }
    lines.push(String::new());
    lines.push(conclusion(report, style));
    lines
}

/// The check with a reference in place of its fix, if an earlier check has the same long fix.
fn repeated(earlier: &[Check], check: &Check) -> Option<Check> {
    let long = check.fix.as_ref().filter(|fix| fix.len() > LEAST);
    let first = earlier.iter().find(|other| long.is_some() && other.fix.as_ref() == long)?;
    Some(Check { fix: Some(format!("see `{}`", first.name)), ..check.clone() })
}

fn check_lines(check: &Check, names: usize, room: usize, style: Style) -> Vec<String> {
    let mark = match check.severity() {
        Severity::Fine => style.green("ok     "),
        Severity::Warning => style.yellow("warning"),
        Severity::Failure => style.red("FAILED "),
    };
    let below = " ".repeat(names + 11);
    let mut lines = Vec::new();
    for (number, part) in wrap(&check.detail, room).into_iter().enumerate() {
        lines.push(if number == 0 {
            format!("{mark}  {:names$}  {part}", check.name)
        } else {
            format!("{below}{part}")
        });
    }
    if let Some(fix) = &check.fix {
        for (number, part) in wrap(fix, room.saturating_sub(5)).into_iter().enumerate() {
            let label = if number == 0 { style.cyan("fix:") } else { "    ".to_owned() };
            lines.push(format!("{below}{label} {part}"));
        }
    }
    lines
}

fn conclusion(report: &Report, style: Style) -> String {
    let count = |severity| report.checks.iter().filter(|check| check.severity() == severity).count();
    if let Some(first) = report.checks.iter().find(|check| !check.ok) {
        let text =
            format!("code cannot be run safely on this host and is refused; fix `{}` first", first.name);
        return style.red(&text);
    }
    match count(Severity::Warning) {
        0 => style.green("all checks passed: code can be run safely"),
        1 => style.green("code can be run safely; 1 warning"),
        count => style.green(&format!("code can be run safely; {count} warnings")),
    }
}

fn width() -> usize {
    let stdout = rustix::stdio::stdout();
    let size = if isatty(stdout) { tcgetwinsize(stdout).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(WIDTH)
}

/// Wraps a text between words at `room` characters; a longer word stays whole.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn conclusions_match_their_snapshot() {
        let (fine, warning) = (Check::fine("a", "fine"), Check::warning("b", "poor", "do it"));
        let failure = Check::failure("c", "broken", "repair it");
        let reports = [
            vec![fine.clone()],
            vec![fine.clone(), warning.clone()],
            vec![fine, warning.clone(), warning],
            vec![failure],
        ];
        let texts = reports.map(|checks| lines(&Report::from(checks), Style::plain()).join("\n"));
        snapshot::assert("doctor-conclusions", &texts.join("\n\n"));
    }

    #[test]
    fn every_severity_has_a_label_and_the_fix_is_below() {
        let report = Report::from(vec![
            Check::fine("a", "fine"),
            Check::warning("bb", "c is used instead", "do d"),
            Check::failure("e", "not installed", "install it"),
        ]);
        let text = lines(&report, Style::plain()).join("\n");
        assert_eq!(
            text,
            "ok       a   fine\n\
             warning  bb  c is used instead\n             fix: do d\n\
             FAILED   e   not installed\n             fix: install it\n\n\
             code cannot be run safely on this host and is refused; fix `e` first"
        );
    }

    #[test]
    fn a_fix_is_shown_once() {
        let long = "a long fix that would only fill the screen if it was printed twice";
        let report = Report::from(["a", "b"].map(|name| Check::failure(name, "x", long)).to_vec());
        let text = lines(&report, Style::plain()).join("\n");
        assert_eq!(text.matches("a long fix").count(), 1, "{text}");
        assert!(text.contains("fix: see `a`"), "{text}");
    }

    #[test]
    fn long_texts_are_wrapped_between_words_and_long_words_stay_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert_eq!(wrap("", 6), [""]);
    }
}
