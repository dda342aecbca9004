//! Parses diagnostics from the output of compilers: the lines of gcc and clang, and clang's machine-readable
//! lines (`-fdiagnostics-print-source-range-info -fdiagnostics-parseable-fixits`).

use super::{Diagnostic, Fix, MAX_DIAGNOSTICS, MAX_NOTES, Note, Range, Severity};

/// The longest line that is parsed.
const MAX_LINE_BYTES: usize = 16 << 10;

/// The diagnostics in a compiler's output. `name` converts the name of a file in it.
pub fn diagnostics_of_text(text: &str, name: &dyn Fn(&str) -> String) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for line in text.lines().filter(|line| line.len() <= MAX_LINE_BYTES) {
        if let Some(fix) = fix(line, name) {
            add_fix(&mut found, fix);
        } else if let Some((at, severity, message, option)) = head(line, name) {
            if severity == Severity::Note {
                if let Some(last) = found.last_mut().filter(|last| last.notes.len() < MAX_NOTES) {
                    last.notes.push(Note { at, message, fixes: Vec::new() });
                }
                continue;
            }
            if found.len() >= MAX_DIAGNOSTICS {
                break;
            }
            let (fixes, notes) = (Vec::new(), Vec::new());
            found.push(Diagnostic { at, severity, message, option, fixes, notes });
        }
    }
    found
}

/// Adds a fix to the last message: to its last note, if there is one.
fn add_fix(found: &mut [Diagnostic], fix: Fix) {
    let Some(last) = found.last_mut() else { return };
    let fixes = match last.notes.last_mut() {
        Some(note) => &mut note.fixes,
        None => &mut last.fixes,
    };
    if fixes.len() < MAX_NOTES {
        fixes.push(fix);
    }
}

/// `fix-it:"a.cpp":{3:9-3:9}:";"`.
fn fix(line: &str, name: &dyn Fn(&str) -> String) -> Option<Fix> {
    let (file, rest) = quoted(line.strip_prefix("fix-it:")?)?;
    let (range, rest) = braced(rest.strip_prefix(':')?)?;
    let (text, _) = quoted(rest.strip_prefix(':')?)?;
    Some(Fix { range: Range { file: Some(name(&file)), ..range }, text })
}

/// Parses a C string; returns it and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let inner = text.strip_prefix('"')?;
    let mut at = inner.bytes().enumerate();
    while let Some((n, byte)) = at.next() {
        match byte {
            b'"' => return Some((String::from_utf8_lossy(&bytes).into_owned(), inner.get(n + 1..)?)),
            b'\\' => match at.next()?.1 {
                b'n' => bytes.push(b'\n'),
                b't' => bytes.push(b'\t'),
                first @ b'0'..=b'7' => {
                    let digits = [first, at.next()?.1, at.next()?.1];
                    let octal = std::str::from_utf8(&digits).ok()?;
                    bytes.push(u8::from_str_radix(octal, 8).ok()?);
                }
                other => bytes.push(other),
            },
            other => bytes.push(other),
        }
    }
    None
}

/// Parses `{3:9-3:10}`; returns the range and the rest.
fn braced(text: &str) -> Option<(Range, &str)> {
    let (inner, rest) = text.strip_prefix('{')?.split_once('}')?;
    let (from, to) = inner.split_once('-')?;
    let pair = |text: &str| {
        let (line, column) = text.split_once(':')?;
        Some((line.parse().ok()?, column.parse().ok()?))
    };
    let ((line, column), (end_line, end_column)) = (pair(from)?, pair(to)?);
    Some((Range { file: None, line, column, end_line, end_column }, rest))
}

type Head = (Range, Severity, String, Option<String>);

/// `a.cpp:3:9: error: expected ';' [-Wx]`, with or without a column, with or without ranges.
fn head(line: &str, name: &dyn Fn(&str) -> String) -> Option<Head> {
    let (place, severity, message) = split(line)?;
    let (message, option) = without_option(message);
    let at = parse_location(place, name)?;
    Some((at, severity, message, option))
}

fn split(line: &str) -> Option<(&str, Severity, &str)> {
    let words = [
        (": fatal error: ", Severity::Error),
        (": error: ", Severity::Error),
        (": warning: ", Severity::Warning),
        (": note: ", Severity::Note),
    ];
    let first = words
        .into_iter()
        .filter_map(|(word, severity)| line.find(word).map(|at| (at, word, severity)))
        .min_by_key(|(at, ..)| *at);
    if let Some((at, word, severity)) = first {
        return Some((line.get(..at)?, severity, line.get(at + word.len()..)?));
    }
    // The linker prints no severity.
    let at = line.find(": undefined reference to ").or_else(|| line.find(": multiple definition of "))?;
    Some((line.get(..at)?, Severity::Error, line.get(at + 2..)?))
}

fn without_option(message: &str) -> (String, Option<String>) {
    let option = message.strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
    match option {
        Some((message, option)) if option.starts_with('-') => {
            // clang prints the category after a comma, and gcc prints `-Werror=x`.
            let option = option.split(',').find(|part| *part != "-Werror").unwrap_or(option);
            (message.to_owned(), Some(option.replacen("-Werror=", "-W", 1)))
        }
        _ => (message.to_owned(), None),
    }
}

/// Parses `a.cpp:3:9`, `a.cpp:3` or `a.cpp:3:9:{3:1-3:9}{..}`; a program's name is not a location.
fn parse_location(place: &str, name: &dyn Fn(&str) -> String) -> Option<Range> {
    let (place, ranges) = match place.split_once(":{") {
        Some((place, ranges)) => (place, format!("{{{ranges}")),
        None => (place, String::new()),
    };
    let range = braced(&ranges).map(|(range, _)| range);
    let mut parts = place.rsplitn(3, ':');
    let (last, middle, first) = (parts.next()?, parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let (file, line, column) = match (number(middle), number(Some(last)), first) {
        (Some(line), Some(column), Some(file)) => (file, line, column),
        (None, Some(line), _) => (place.strip_suffix(&format!(":{last}"))?, line, 1),
        _ => {
            // `/usr/bin/ld: x.o: in function`, `a.cpp:(.text+0x9)`: a file at most, and no line.
            let file = place.split(":(").next().filter(|file| place.contains(":(") && !file.contains(": "));
            return Some(Range { file: file.map(name), ..Range::default() });
        }
    };
    if line == 0 || file.is_empty() {
        return None;
    }
    let point = Range { file: Some(name(file)), line, column, end_line: line, end_column: column + 1 };
    Some(match range {
        Some(range) if (range.line, range.column) <= (line, column) => Range { file: point.file, ..range },
        _ => point,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<Diagnostic> {
        diagnostics_of_text(text, &|file: &str| format!("/workspace/{file}"))
    }

    #[test]
    fn gccs_lines_become_diagnostics_with_their_notes() {
        let found = parse(
            "src/a.cpp: In function 'int main()':\n\
             src/a.cpp:3:9: warning: unused variable 'x' [-Wunused-variable]\n\
             \u{20}   3 |     int x;\n\
             src/a.cpp:4:5: error: 'foo' was not declared in this scope; did you mean 'for'?\n\
             src/a.h:1:1: note: declared here\n\
             src/b.cpp:7: error: old style\n\
             cc1plus: all warnings being treated as errors\n",
        );
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].option.as_deref(), Some("-Wunused-variable"));
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!((found[0].at.line, found[0].at.column), (3, 9));
        assert_eq!(found[0].at.file.as_deref(), Some("/workspace/src/a.cpp"));
        assert_eq!(found[1].notes[0].message, "declared here");
        assert_eq!(found[1].notes[0].at.file.as_deref(), Some("/workspace/src/a.h"));
        assert_eq!((found[2].at.line, found[2].at.column), (7, 1));
    }

    #[test]
    fn clangs_lines_for_programs_carry_ranges_and_fixes() {
        let found = parse(
            "a.cpp:3:12:{3:3-3:12}{3:15-3:16}: error: invalid operands [-Wfoo,-Wbar]\n\
             a.cpp:5:9: error: expected ';' after return statement\n\
             fix-it:\"a.cpp\":{5:9-5:9}:\";\"\n\
             fix-it:\"a \\\"b\\\".cpp\":{5:9-5:10}:\"\\n\\303\\251\"\n",
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].option.as_deref(), Some("-Wfoo"));
        assert_eq!((found[0].at.column, found[0].at.end_column), (3, 12));
        assert_eq!(found[1].fixes[0].text, ";");
        assert_eq!((found[1].fixes[0].range.column, found[1].fixes[0].range.end_column), (9, 9));
        assert_eq!(found[1].fixes[1].range.file.as_deref(), Some("/workspace/a \"b\".cpp"));
        assert_eq!(found[1].fixes[1].text, "\né");
    }

    #[test]
    fn the_linkers_lines_are_errors_without_a_line() {
        let found = parse(
            "/usr/bin/ld: .headwater-build/0.o: in function `main':\n\
             main.cpp:(.text+0x9): undefined reference to `foo()'\n\
             collect2: error: ld returned 1 exit status\n",
        );
        assert_eq!(found[0].message, "undefined reference to `foo()'");
        assert_eq!((found[0].at.file.as_deref(), found[0].at.line), (Some("/workspace/main.cpp"), 0));
        assert_eq!(found[1].at, Range::default());
    }

    #[test]
    fn unknown_lines_are_skipped() {
        for odd in [
            ":1:2: error: x",
            "a:0:0: error: x",
            "fix-it:\"a\":{}:\"\"",
            "fix-it:\"a",
            "fix-it:\"a\\",
            "99999999999999:99999999999:99999999999: error: y",
            ": error: ",
            "\u{0}",
        ] {
            let _ = parse(odd);
        }
        assert_eq!(parse(&"a:1:1: error: x\n".repeat(MAX_DIAGNOSTICS + 5)).len(), MAX_DIAGNOSTICS);
    }
}
