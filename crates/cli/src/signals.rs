//! Names of signals.

/// By number, from 1; the numbers of Linux on the processors we build for.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
    "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
    "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
/// The last real-time signal.
const LAST: i32 = 64;

/// The number of a signal given as `TERM`, `SIGTERM`, `term` or `15`.
pub fn parse(text: &str) -> Result<i32, String> {
    let wrong = || format!("`{text}` is not a signal: write a name like `TERM` or a number from 1 to {LAST}");
    if let Ok(number) = text.parse::<i32>() {
        return if (1..=LAST).contains(&number) { Ok(number) } else { Err(wrong()) };
    }
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let at = NAMES.iter().position(|name| *name == bare).ok_or_else(wrong)?;
    i32::try_from(at + 1).map_err(|_| wrong())
}

/// The signal for people: `SIGSEGV`, or `signal 40`.
pub fn name(number: i32) -> String {
    let named = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|n| NAMES.get(n));
    named.map_or_else(|| format!("signal {number}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_understood_by_name_and_by_number() {
        for (text, number) in [("TERM", 15), ("SIGKILL", 9), ("hup", 1), ("9", 9), ("sigsys", 31), ("40", 40)]
        {
            assert_eq!(parse(text), Ok(number));
        }
        for bad in ["", "0", "65", "-9", "SIG", "NOPE", "15x"] {
            assert!(parse(bad).unwrap_err().contains("is not a signal"), "{bad}");
        }
    }

    #[test]
    fn every_number_has_a_name_that_leads_back_to_it() {
        for number in 1..=31 {
            assert_eq!(parse(&name(number)), Ok(number));
        }
        assert_eq!(name(40), "signal 40");
    }
}
