//! Finds the includes of a source without a preprocessor: every include in its text, whether or not it is active. One too
//! many only costs a copy; if an include cannot be determined, the whole workspace counts as included.

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// `#include "x"`, and other directives with such a name.
    pub(crate) quoted: Vec<String>,
    /// `#include <x>`.
    pub(crate) angled: Vec<String>,
    /// Whether a file is read whose name is not in the text.
    pub(crate) computed: bool,
    /// Whether the result contains the time of the build.
    pub(crate) timed: bool,
}

/// The most includes of one file.
const MAX_INCLUDES: usize = 10_000;

/// The longest name in `__has_include`: no path is longer.
const MAX_NAME_BYTES: usize = 4096;

/// Scans a file.
pub(crate) fn scan(source: &[u8]) -> Scanned {
    let mut found = Scanned::default();
    let joined = join_lines(source);
    for line in joined.split(|byte| *byte == b'\n') {
        scan_line(line, &mut found);
    }
    let has = |word: &[u8]| joined.windows(word.len()).any(|window| window == word);
    found.timed = has(b"__DATE__") || has(b"__TIME__") || has(b"__TIMESTAMP__");
    // Files that an assembler reads (`.incbin`) are not reported.
    found.computed |= has(b"asm");
    scan_has_include(&joined, &mut found);
    if found.quoted.len() + found.angled.len() > MAX_INCLUDES {
        found.computed = true;
        found.quoted.truncate(MAX_INCLUDES);
        found.angled.truncate(MAX_INCLUDES);
    }
    found
}

/// A backslash at the end of a line joins it with the next one.
fn join_lines(source: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(source.len());
    let mut rest = source;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        // Only after a backslash: a look-ahead from every blank would take quadratic time.
        match (byte == b'\\').then(|| trim_start_blanks(after).strip_prefix(b"\n")).flatten() {
            Some(next_line) => rest = next_line,
            None => joined.push(byte),
        }
    }
    joined
}

/// Without leading blanks; the end of a line is not a blank.
fn trim_start_blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    text.get(end..).unwrap_or_default()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

fn scan_line(line: &[u8], found: &mut Scanned) {
    let line = trim(line);
    let after = line.strip_prefix(b"#").or_else(|| line.strip_prefix(b"%:"));
    let after = after.or_else(|| line.strip_prefix(b"??="));
    let Some(directive) = after.map(trim) else {
        // C++ modules: an import is the result of another compilation.
        found.computed |= line.starts_with(b"import ") || line.starts_with(b"export import ");
        // A directive may follow a comment.
        found.computed |= line.starts_with(b"/*") && contains(line, b"include");
        found.computed |= contains(line, b"*/") && contains(line, b"#") && contains(line, b"include");
        return;
    };
    if directive.starts_with(b"/*") || directive.starts_with(b"//") {
        found.computed |= contains(directive, b"include");
        return;
    }
    for word in [b"include_next".as_slice(), b"include", b"import", b"embed"] {
        if let Some(rest) = directive.strip_prefix(word) {
            add(trim(rest), found);
            return;
        }
    }
    // `#pragma GCC dependency "x"` and `#line` read nothing. `asm` covers includes of an assembler.
}

/// `__has_include("x")` depends on the presence of a file. Under another name (`#define HAS __has_include`) the file name
/// is not beside it.
fn scan_has_include(text: &[u8], found: &mut Scanned) {
    let mut rest = text;
    for word in [b"__has_include".as_slice(), b"__has_embed"] {
        while let Some(at) = position(rest, word) {
            let after = rest.get(at + word.len()..).unwrap_or_default();
            let after = after.strip_prefix(b"_next").or_else(|| after.strip_prefix(b"__")).unwrap_or(after);
            if let Some(inner) = trim_start_blanks(after).strip_prefix(b"(") {
                let inner = trim_start_blanks(inner);
                // Not beyond the longest name: a missing end must not be searched for repeatedly.
                add(inner.get(..MAX_NAME_BYTES).unwrap_or(inner), found);
            } else {
                found.computed |= !is_only_tested(rest.get(..at).unwrap_or_default());
            }
            rest = after;
        }
        rest = text;
    }
}

/// Whether the next name is only tested for its definition: `#ifdef x`, `defined x`, `defined(x)`.
fn is_only_tested(before: &[u8]) -> bool {
    let before = trim_end_blanks(before);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    let inner = before.strip_suffix(b"(").map_or(before, trim_end_blanks);
    if let Some(rest) = inner.strip_suffix(b"defined") {
        return !rest.last().is_some_and(is_name);
    }
    let directives = [b"elifndef".as_slice(), b"elifdef", b"ifndef", b"ifdef"];
    let rest = directives.iter().find_map(|word| before.strip_suffix(*word));
    rest.is_some_and(|rest| trim_end_blanks(rest).ends_with(b"#"))
}

/// Without trailing blanks.
fn trim_end_blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or_default()
}

fn add(name: &[u8], found: &mut Scanned) {
    let closed = |open: u8, close: u8| {
        let inner = name.strip_prefix(&[open])?;
        let end = inner.iter().position(|byte| *byte == close)?;
        std::str::from_utf8(inner.get(..end)?).ok().map(str::to_owned)
    };
    if let Some(name) = closed(b'"', b'"') {
        found.quoted.push(name);
    } else if let Some(name) = closed(b'<', b'>') {
        found.angled.push(name);
    } else {
        found.computed = true;
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    position(text, word).is_some()
}

fn position(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Vec<String>, Vec<String>, bool) {
        let found = scan(text.as_bytes());
        (found.quoted, found.angled, found.computed)
    }

    #[test]
    fn includes_are_found_however_they_are_written() {
        let text = "#include <iostream>\n  #  include \"a.h\" // x\n#include_next \"b.h\"\n#if 0\n#include \"c.h\"\n#endif\n\
                    %:include \"d.h\"\n#inc\\\nlude \"e.h\"\n#if __has_include(\"f.h\") && __has_include( <g.h> )\n#endif\n#embed \"h.bin\"\n";
        let (quoted, angled, computed) = found(text);
        assert_eq!(quoted, ["a.h", "b.h", "c.h", "d.h", "e.h", "h.bin", "f.h"]);
        assert_eq!(angled, ["iostream", "g.h"]);
        assert!(!computed);
    }

    #[test]
    fn includes_with_a_computed_name_are_reported() {
        for text in [
            "#include HEADER\n",
            "#if __has_include(HEADER)\n#endif\n",
            "#define HAS __has_include\n#if HAS(\"a.h\")\n#endif\n",
            "#define HAS __has_embed\n",
            "#define HAS __has_include_next\n",
            "#if __has_include/**/(\"a.h\")\n#endif\n",
            "#define HAS undefined __has_include\n",
            "#define HAS ifdef __has_include\n",
            "#define X defined\n__has_include\n",
            "asm(\".incbin \\\"x\\\"\");\n",
            "__asm__ volatile(\"\");\n",
            "#/* x */include \"a.h\"\n",
            "/* x */ #include \"a.h\"\n",
            "/*\n*/ #include \"a.h\"\n",
            "import foo;\n",
            "#include \"a.h\n",
        ] {
            assert!(scan(text.as_bytes()).computed, "{text}");
        }
        for text in [
            "int main() { return 0; } // include nothing\n",
            "#ifdef __has_include\n# if __has_include (\"a.h\")\n# endif\n#endif\n",
            "#  ifndef\t__has_embed\n#endif\n",
            "#if defined(__has_include) && defined __has_embed && !defined ( __has_include_next )\n#endif\n",
            "#if 0\n#elifdef __has_include\n#elifndef __has_include\n#endif\n",
        ] {
            assert!(!scan(text.as_bytes()).computed, "{text}");
        }
    }

    /// Looked at again from each of them, these would be looked at for hours.
    #[test]
    fn long_rows_of_blanks_and_of_questions_without_an_end_are_gone_through_once() {
        let blanks = vec![b' '; 4 << 20];
        assert_eq!(join_lines(&blanks), blanks);
        let mut ended = b"a\\".to_vec();
        ended.extend(&blanks);
        assert_eq!(join_lines(&ended), ended);
        ended.extend(b"\nb");
        assert_eq!(join_lines(&ended), b"ab");
        assert!(scan(&b"__has_include(<".repeat(20_000)).computed);
    }

    #[test]
    fn the_time_of_the_build_is_noticed() {
        assert!(scan(b"const char* at = __DATE__;").timed);
        assert!(scan(b"__TIME\\\n__").timed);
        assert!(!scan(b"int time;").timed);
    }

    #[test]
    fn bytes_that_are_not_text_do_no_harm() {
        let _ = scan(&[0xff, b'#', 0, b'\\', b'\n', b'"']);
        let _ = scan(b"#include \"\xff\"");
        let _ = scan(b"\\");
    }
}
