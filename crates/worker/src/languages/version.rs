//! Gets the version of a tool of the host, with a timeout.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a tool may take to print its version.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often the tool is polled meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The maximum length of a version, in characters.
const MAX_CHARS: usize = 200;
/// The maximum number of bytes that are read of each output.
const MAX_BYTES: u64 = 16 << 10;

/// The first line that is not empty, if the tool ends in time.
pub(super) fn ask(program: &Path, args: &[String]) -> Option<String> {
    let mut child = Command::new(program)
        .args(args)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    if !ends_in_time(&mut child) {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(MAX_BYTES).read_to_end(&mut output);
    }
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(MAX_BYTES).read_to_end(&mut output);
    }
    let output = String::from_utf8_lossy(&output);
    let line = output.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect())
}

fn ends_in_time(child: &mut Child) -> bool {
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Err(_) => return false,
        }
    }
    false
}

/// Whether a version is at least another: compares the first dotted number in each.
pub(super) fn is_at_least(version: &str, least: &str) -> bool {
    let (version, least) = (numbers(version), numbers(least));
    !version.is_empty() && version >= least
}

fn numbers(text: &str) -> Vec<u32> {
    let from = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let rest = text.get(from..).unwrap_or_default();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let number = rest.get(..end).unwrap_or_default();
    number.split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_at_least("v22.18.0", "22.18") && is_at_least("v24.1.0", "22.18"));
        assert!(!is_at_least("v22.6.0", "22.18") && !is_at_least("v9.99", "22.18"));
        assert!(!is_at_least("no number", "1"));
    }

    #[test]
    fn the_first_line_that_says_something_is_the_version() {
        let args = ["-c".to_owned(), "echo; echo ' 1.2 '; echo 3 >&2".to_owned()];
        assert_eq!(ask(Path::new("/bin/sh"), &args).as_deref(), Some("1.2"));
        let args = ["-c".to_owned(), "echo 3 >&2; exit 1".to_owned()];
        assert_eq!(ask(Path::new("/bin/sh"), &args).as_deref(), Some("3"));
        assert_eq!(ask(Path::new("/no/such/program"), &[]), None);
    }
}
