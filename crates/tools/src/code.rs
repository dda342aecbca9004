//! `code_execution`: its runtimes, its time limit, and how a call ends. The HTTP API and the agent share it.

mod end;

pub use end::{CodeEnd, EndCause};

/// The runtimes and their languages.
pub const RUNTIMES: [(&str, &str); 3] = [("terminal", "bash"), ("python", "python"), ("nodejs", "node")];

/// The default time limit of a call.
const DEFAULT_TIMEOUT_SECONDS: f64 = 60.0;
/// The longest time limit of a call: a day.
const MAX_TIMEOUT_SECONDS: f64 = 86_400.0;

/// The language of a runtime.
pub fn language_of(runtime: &str) -> Option<&'static str> {
    RUNTIMES.into_iter().find(|(name, _)| *name == runtime).map(|(_, language)| language)
}

/// The names of the runtimes, for a sentence.
pub fn runtime_names() -> String {
    RUNTIMES.map(|(name, _)| format!("`{name}`")).join(", ")
}

/// A time limit in milliseconds, from one in seconds.
pub fn timeout_ms(seconds: Option<f64>) -> Result<u64, String> {
    let seconds = seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    if !(seconds > 0.0 && seconds <= MAX_TIMEOUT_SECONDS) {
        return Err(format!(
            "`timeout` is `{seconds}`; it must be more than 0 and at most {MAX_TIMEOUT_SECONDS} seconds"
        ));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 1 to 86,400,000 by now
    let ms = (seconds * 1000.0).ceil() as u64;
    Ok(ms)
}
