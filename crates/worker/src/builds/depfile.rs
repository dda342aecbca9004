//! Parses dependency files of compilers and linkers, in the format of make.

/// The prerequisites of the first rule.
pub(crate) fn files(text: &str) -> Vec<String> {
    let Some(at) = text.find(": ").or_else(|| text.find(":\n")) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let mut file = String::new();
    let mut letters = text.get(at + 1..).unwrap_or_default().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\n') => end(&mut file, &mut files),
                Some(escaped @ (' ' | '#' | '\\' | ':')) => file.push(escaped),
                Some(other) => file.extend(['\\', other]),
                None => {}
            },
            '$' if letters.peek() == Some(&'$') => {
                letters.next();
                file.push('$');
            }
            '\n' => break, // the other rules are for files that were removed
            letter if letter.is_whitespace() => end(&mut file, &mut files),
            letter => file.push(letter),
        }
    }
    end(&mut file, &mut files);
    files
}

fn end(file: &mut String, files: &mut Vec<String>) {
    if !file.is_empty() {
        files.push(std::mem::take(file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_first_rule_are_listed_whatever_their_names() {
        let text = "a.s: src/a.cpp /usr/include/x.h \\\n  b\\ c.h d$$.h \\\\e\\#.h\n\nb.h:\n";
        assert_eq!(files(text), ["src/a.cpp", "/usr/include/x.h", "b c.h", "d$.h", "\\e#.h"]);
        assert_eq!(files("a: \\\n /lib/x.o \\\n"), ["/lib/x.o"]);
        assert!(files("").is_empty() && files("a:").is_empty() && files("no rule").is_empty());
    }
}
