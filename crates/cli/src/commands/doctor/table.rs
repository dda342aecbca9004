//! The report for people.

use headwater_sandbox::doctor::{Check, Severity};
use rustix::termios::{isatty, tcgetwinsize};

use super::Report;
use crate::style::Style;

/// Where no terminal says how wide it is.
const WIDTH: usize = 110;
/// Narrower than this the columns would be of no use.
const LEAST: usize = 30;

/// One line for each check, its detail folded, its fix below it, and the conclusion.
pub fn lines(report: &Report, style: Style) -> Vec<String> {
    let names = report.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    let room = width().saturating_sub(names + 11).max(LEAST);
    let mut lines = Vec::new();
    for (number, check) in report.checks.iter().enumerate() {
        let again = again(&report.checks[..number], check);
        lines.extend(check_lines(again.as_ref().unwrap_or(check), names, room, style));
    }
    lines.push(String::new());
    lines.push(conclusion(report, style));
    lines
}

/// The same check with a short fix, if an earlier one has told the long one already.
fn again(earlier: &[Check], check: &Check) -> Option<Check> {
    let long = check.fix.as_ref().filter(|fix| fix.len() > LEAST);
    let told = earlier.iter().find(|other| long.is_some() && other.fix.as_ref() == long)?;
    Some(Check { fix: Some(format!("as for `{}`", told.name)), ..check.clone() })
}

fn check_lines(check: &Check, names: usize, room: usize, style: Style) -> Vec<String> {
    let mark = match check.severity() {
        Severity::Fine => style.green("ok     "),
        Severity::Warning => style.yellow("warning"),
        Severity::Failure => style.red("FAILED "),
    };
    let below = " ".repeat(names + 11);
    let mut lines = Vec::new();
    for (number, part) in fold(&check.detail, room).into_iter().enumerate() {
        lines.push(if number == 0 {
            format!("{mark}  {:names$}  {part}", check.name)
        } else {
            format!("{below}{part}")
        });
    }
    if let Some(fix) = &check.fix {
        for (number, part) in fold(fix, room.saturating_sub(5)).into_iter().enumerate() {
            let word = if number == 0 { style.cyan("fix:") } else { "    ".to_owned() };
            lines.push(format!("{below}{word} {part}"));
        }
    }
    lines
}

fn conclusion(report: &Report, style: Style) -> String {
    let count = |severity| report.checks.iter().filter(|check| check.severity() == severity).count();
    if let Some(first) = report.checks.iter().find(|check| !check.ok) {
        let text = format!("code cannot be run safely here and is refused; begin with `{}`", first.name);
        return style.red(&text);
    }
    match count(Severity::Warning) {
        0 => style.green("all is well: code can be run safely"),
        1 => style.green("code can be run safely; one thing could be better"),
        some => style.green(&format!("code can be run safely; {some} things could be better")),
    }
}

fn width() -> usize {
    let stdout = rustix::stdio::stdout();
    let size = if isatty(stdout) { tcgetwinsize(stdout).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(WIDTH)
}

/// Breaks a text between words into lines of at most so many characters; a longer word stays whole.
fn fold(text: &str, room: usize) -> Vec<String> {
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
    fn the_conclusion_reads_like_this() {
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
    fn every_severity_has_its_mark_and_the_fix_stands_below() {
        let report = Report::from(vec![
            Check::fine("a", "fine"),
            Check::warning("bb", "c stands in", "do d"),
            Check::failure("e", "not there", "install it"),
        ]);
        let text = lines(&report, Style::plain()).join("\n");
        assert_eq!(
            text,
            "ok       a   fine\n\
             warning  bb  c stands in\n             fix: do d\n\
             FAILED   e   not there\n             fix: install it\n\n\
             code cannot be run safely here and is refused; begin with `e`"
        );
    }

    #[test]
    fn a_fix_is_shown_once() {
        let long = "a long fix that would only fill the screen if it was told twice";
        let report = Report::from(["a", "b"].map(|name| Check::failure(name, "x", long)).to_vec());
        let text = lines(&report, Style::plain()).join("\n");
        assert_eq!(text.matches("a long fix").count(), 1, "{text}");
        assert!(text.contains("fix: as for `a`"), "{text}");
    }

    #[test]
    fn long_texts_are_folded_between_words_and_long_words_stay_whole() {
        assert_eq!(fold("one two three", 7), ["one two", "three"]);
        assert_eq!(fold("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
        assert_eq!(fold("", 6), [""]);
    }
}
