//! Names and numbers of signals.

/// Names by number, from 1, as on x86-64 and 64-bit ARM Linux.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
/// The highest number of a real-time signal.
const LAST: i32 = 64;

/// The number of a signal given as `TERM`, `SIGTERM`, `term` or `15`.
pub fn parse(text: &str) -> Result<i32, String> {
    let invalid =
        || format!("`{text}` is not a signal: write a name like `TERM` or a number from 1 to {LAST}");
    if let Ok(number) = text.parse::<i32>() {
        return if (1..=LAST).contains(&number) { Ok(number) } else { Err(invalid()) };
    }
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let at = NAMES.iter().position(|name| *name == bare).ok_or_else(invalid)?;
    i32::try_from(at + 1).map_err(|_| invalid())
}

/// The name of a signal: `SIGSEGV`, or `signal 40`.
pub fn name(number: i32) -> String {
    let named = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|n| NAMES.get(n));
    named.map_or_else(|| format!("signal {number}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_parsed_by_name_and_by_number() {
        for (text, number) in [("TERM", 15), ("SIGKILL", 9), ("hup", 1), ("9", 9), ("sigsys", 31), ("40", 40)]
        {
            assert_eq!(parse(text), Ok(number));
        }
        for bad in ["", "0", "65", "-9", "SIG", "NOPE", "15x"] {
            assert!(parse(bad).unwrap_err().contains("is not a signal"), "{bad}");
        }
    }

    #[test]
    fn every_name_of_a_signal_parses_to_its_number() {
        for number in 1..=31 {
            assert_eq!(parse(&name(number)), Ok(number));
        }
        assert_eq!(name(40), "signal 40");
    }
}
