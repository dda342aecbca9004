//! A shell's marks about its prompts and commands, in operating system commands (OSC 133, OSC 633, OSC 7).
//!
//! Any program can print these. So a mark is accepted only with the terminal's secret, which the shell has
//! and its children do not.

/// Longer command lines are cut.
const MAX_COMMAND_LINE_BYTES: usize = 4096;

/// A mark of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// The shell waits for a command.
    Prompt,
    /// The shell runs a command: the command line, if it is known.
    Command(Option<String>),
    /// A command has ended: its exit code, if it is known.
    Ended(Option<i32>),
    /// The shell's current directory.
    Directory(String),
}

/// Finds marks in operating system commands.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    secret: String,
    /// The command line of the next command.
    line: Option<String>,
}

impl Marks {
    pub(crate) fn new(secret: &str) -> Self {
        Self { secret: secret.to_owned(), line: None }
    }

    /// The mark in the command `body` (without `ESC ]` and terminator), if it is one and has the secret.
    pub(crate) fn find(&mut self, body: &[u8]) -> Option<Mark> {
        let mut fields = body.split(|byte| *byte == b';');
        let number = fields.next()?;
        if self.secret.is_empty() || !(number == b"133" || number == b"633") {
            return None;
        }
        let fields: Vec<&[u8]> = fields.collect();
        let (kind, rest) = fields.split_first()?;
        let (secret, rest) = rest.split_last()?;
        if secret.strip_prefix(b"hw=")? != self.secret.as_bytes() {
            return None;
        }
        match *kind {
            b"A" => Some(Mark::Prompt),
            b"C" => Some(Mark::Command(self.line.take())),
            b"D" => Some(Mark::Ended(rest.first().and_then(|code| text(code).parse().ok()))),
            b"E" => {
                let mut line = unescape(&rest.join(&b';'));
                line.truncate(line.floor_char_boundary(MAX_COMMAND_LINE_BYTES));
                self.line = Some(line);
                None
            }
            b"P" => {
                let folder = rest.join(&b';');
                let folder = folder.strip_prefix(b"Cwd=")?;
                Some(Mark::Directory(unescape(folder)))
            }
            _ => None,
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Decodes `\xHH` to a byte and `\\` to a backslash.
fn unescape(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(1..3).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        let (value, used) = match (byte, after.first(), hex) {
            (b'\\', Some(b'\\'), _) => (b'\\', 1),
            (b'\\', Some(b'x'), Some(value)) => (value, 3),
            _ => (byte, 0),
        };
        out.push(value);
        rest = after.get(used..).unwrap_or_default();
    }
    text(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_only_with_the_secret() {
        let mut marks = Marks::new("s3");
        assert_eq!(marks.find(b"133;A;hw=s3"), Some(Mark::Prompt));
        for forged in
            ["133;A", "133;A;hw=", "133;A;hw=s4", "133;A;hw=s3x", "133;A;s3", "134;A;hw=s3", "", "133"]
        {
            assert_eq!(marks.find(forged.as_bytes()), None, "{forged}");
        }
        assert_eq!(Marks::new("").find(b"133;A;hw="), None);
    }

    #[test]
    fn commands_carry_their_line_and_ends_their_code() {
        let mut marks = Marks::new("s");
        assert_eq!(marks.find(br"633;E;echo a\x3b b \\ \x0a;c;hw=s"), None);
        assert_eq!(marks.find(b"133;C;hw=s"), Some(Mark::Command(Some("echo a; b \\ \n;c".into()))));
        assert_eq!(marks.find(b"133;C;hw=s"), Some(Mark::Command(None)));
        assert_eq!(marks.find(b"133;D;130;hw=s"), Some(Mark::Ended(Some(130))));
        assert_eq!(marks.find(b"133;D;hw=s"), Some(Mark::Ended(None)));
        assert_eq!(marks.find(br"633;P;Cwd=/a\x3bb;hw=s"), Some(Mark::Directory("/a;b".into())));
    }
}
