//! Text of others inside Markdown of ours.

/// A code block: its fence is longer than any in the text.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// Text in a line of ours, as code.
pub(super) fn code_span(text: &str) -> String {
    let line = one_line(text);
    let ticks = "`".repeat(longest_run(&line) + 1);
    // A space is removed again at both ends; it separates ticks of the text from ours.
    if line.is_empty() { String::new() } else { format!("{ticks} {line} {ticks}") }
}

/// Text in a line of ours, in which nothing has a meaning in Markdown.
pub(super) fn plain_line(text: &str) -> String {
    let mut line = String::new();
    for ch in one_line(text).chars() {
        if ch.is_ascii_punctuation() {
            line.push('\\');
        }
        line.push(ch);
    }
    line
}

/// A text that is Markdown itself. Its fences are closed, its headings are below ours, and HTML in it is text.
pub(super) fn nested(text: &str) -> String {
    let (mut out, mut open) = (String::new(), None);
    for line in text.lines() {
        let here = fence_of(line);
        match (&open, here) {
            (None, Some(fence)) => open = Some(fence),
            (Some(begun), Some((mark, length, true))) if begun.0 == mark && length >= begun.1 => open = None,
            (None, None) => {
                out += &without_html(&lower_heading(line));
                out.push('\n');
                continue;
            }
            _ => {}
        }
        out += line;
        out.push('\n');
    }
    if let Some((mark, length, _)) = open {
        out.extend(std::iter::repeat_n(mark, length));
        out.push('\n');
    }
    out
}

/// A text as a quotation.
pub(super) fn quoted(text: &str) -> String {
    nested(text).lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for ch in text.chars() {
        run = if ch == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// The mark and length of a fence, and whether the line can close one.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = text.chars().take_while(|ch| *ch == mark).count();
    let rest = text.get(length..).unwrap_or_default().trim();
    let is_fence = length >= 3 && !(mark == '`' && rest.contains('`'));
    is_fence.then_some((mark, length, rest.is_empty()))
}

fn lower_heading(line: &str) -> String {
    let text = line.trim_start_matches(' ');
    let level = text.chars().take_while(|ch| *ch == '#').count();
    let rest = text.get(level..).unwrap_or_default();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if is_heading { format!("{}{rest}", "#".repeat((level + 2).min(6))) } else { line.to_owned() }
}

/// The line with each `<` that could begin HTML escaped, except in code spans of the line.
fn without_html(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['`', '<']) {
        let (before, after) = rest.split_at(at);
        out += before;
        if let Some(behind) = after.strip_prefix('<') {
            out += "\\<";
            rest = behind;
            continue;
        }
        let ticks = after.len() - after.trim_start_matches('`').len();
        let span = ticks + end_of_span(&after[ticks..], ticks);
        out += &after[..span];
        rest = &after[span..];
    }
    out + rest
}

/// The length of a code span after its opening ticks; 0 if nothing closes it.
fn end_of_span(text: &str, ticks: usize) -> usize {
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('`')) {
        let begin = at + next;
        let rest = &text[begin..];
        let run = rest.len() - rest.trim_start_matches('`').len();
        at = begin + run;
        if run == ticks {
            return at;
        }
    }
    0
}
