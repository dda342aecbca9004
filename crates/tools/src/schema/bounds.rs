//! Defaults and bounds of arguments. Times are in milliseconds.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

/// How long `exec_command` waits for the end of a command.
pub(super) const EXEC_YIELD_MS: u64 = 10_000;
/// Shorter waits only cost calls; longer ones exceed the patience of clients.
pub(super) const YIELD_MS: RangeInclusive<u64> = 250..=30_000;
/// How long `write_stdin` waits after it wrote something.
pub(super) const WRITE_YIELD_MS: u64 = 250;
/// The same for a call that writes nothing: a poll.
pub(super) const POLL_YIELD_MS: RangeInclusive<u64> = 5_000..=300_000;
/// The size of a result, in tokens of four bytes.
pub(super) const OUTPUT_TOKENS: u64 = 10_000;
/// The time limit of `shell` and `shell_command`.
pub(super) const SHELL_TIMEOUT_MS: u64 = 30_000;
/// How long `wait` waits: less than the 300 s after which common clients give a call up.
pub(super) const WAIT_MS: u64 = 240_000;
/// The longest wait: an hour, for clients with a longer limit.
pub(super) const MAX_WAIT_MS: u64 = 3_600_000;
/// The most executions of one `wait`: as many as one agent can have.
pub(super) const MAX_WAITED: usize = 64;
/// The bytes of one `read_output`: the default of other results, four bytes a token.
pub(super) const READ_BYTES: u64 = 40_000;
/// The time limit of `run_code`.
pub(super) const RUN_TIMEOUT_MS: u64 = 60_000;
/// The most matches of `grep_files`.
pub(super) const MAX_MATCHES: u32 = 2000;

pub(super) const fn exec_yield_ms() -> u64 {
    EXEC_YIELD_MS
}

pub(super) const fn output_tokens() -> u64 {
    OUTPUT_TOKENS
}

pub(super) const fn shell_timeout_ms() -> u64 {
    SHELL_TIMEOUT_MS
}

pub(super) const fn run_timeout_ms() -> u64 {
    RUN_TIMEOUT_MS
}

pub(super) const fn wait_ms() -> u64 {
    WAIT_MS
}

pub(super) const fn read_bytes() -> u64 {
    READ_BYTES
}

pub(super) const fn yes() -> bool {
    true
}

/// A default of a count that begins with 1.
pub(super) const fn count<const N: u32>() -> NonZeroU32 {
    const { assert!(N > 0) };
    NonZeroU32::MIN.saturating_add(N - 1)
}

/// Moves a value into its bounds.
pub(super) fn clamp(value: u64, bounds: &RangeInclusive<u64>) -> u64 {
    value.clamp(*bounds.start(), *bounds.end())
}
