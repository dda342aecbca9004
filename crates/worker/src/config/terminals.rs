//! The configuration of terminals: `[terminals]` in the file.

use std::time::Duration;

use headwater_protocol::units::{format_bytes, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

use super::or_never;

/// The configuration of terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalConfig {
    /// The idle time after which a terminal without viewers and input is ended; `None`: never.
    pub idle_timeout: Option<Duration>,
    /// The scrollback of one terminal, in bytes of text with its colours.
    pub buffer_bytes: usize,
    /// Terminals that a session may have open, by its programs and by callers together.
    pub of_session: u32,
    /// Executions with a terminal that all sessions of one owner may have open.
    pub of_owner: usize,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            idle_timeout: Some(Duration::from_mins(30)),
            buffer_bytes: 1 << 20,
            of_session: OF_SESSION,
            of_owner: OF_OWNER,
        }
    }
}

/// More than people and multiplexers use; the host's 3072 are enough for 48 sessions that take all of theirs.
const OF_SESSION: u32 = 64;
/// A sixth of the host's 3072.
const OF_OWNER: usize = 512;
/// The maximum of `buffer`: it is memory of the worker, not of the session.
const MAX_BUFFER: u64 = 64 << 20;

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileTerminals {
    idle_timeout: Option<String>,
    buffer: Option<String>,
    of_session: Option<u32>,
    of_owner: Option<usize>,
}

impl From<&TerminalConfig> for FileTerminals {
    fn from(config: &TerminalConfig) -> Self {
        Self {
            idle_timeout: Some(or_never(config.idle_timeout)),
            buffer: Some(format_bytes(config.buffer_bytes as u64)),
            of_session: Some(config.of_session),
            of_owner: Some(config.of_owner),
        }
    }
}

impl FileTerminals {
    pub(super) fn parse(self, now: TerminalConfig) -> Result<TerminalConfig, String> {
        let idle_timeout = match self.idle_timeout.as_deref() {
            None => now.idle_timeout,
            Some("never") => None,
            Some(text) => Some(parse_duration(text).map_err(|e| format!("terminals.idle_timeout: {e}"))?),
        };
        let buffer = self.buffer.map(|text| parse_bytes(&text)).transpose();
        let buffer = buffer.map_err(|error| format!("terminals.buffer: {error}"))?;
        if buffer.is_some_and(|bytes| bytes > MAX_BUFFER) {
            return Err(format!("terminals.buffer: at most {MAX_BUFFER} bytes"));
        }
        let bytes = buffer.and_then(|bytes| usize::try_from(bytes).ok());
        let of_session = self.of_session.unwrap_or(now.of_session);
        if of_session == 0 {
            return Err("terminals.of_session: must be at least 1".into());
        }
        let of_owner = self.of_owner.unwrap_or(now.of_owner);
        if of_owner == 0 {
            return Err("terminals.of_owner: must be at least 1".into());
        }
        let buffer_bytes = bytes.unwrap_or(now.buffer_bytes);
        Ok(TerminalConfig { idle_timeout, buffer_bytes, of_session, of_owner })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_configured_as_people_write() {
        let parse = |idle: Option<&str>, buffer: Option<&str>| {
            let file = FileTerminals {
                idle_timeout: idle.map(Into::into),
                buffer: buffer.map(Into::into),
                ..FileTerminals::default()
            };
            file.parse(TerminalConfig::default())
        };
        let default = TerminalConfig::default();
        assert_eq!(parse(None, None), Ok(default));
        let minute = Some(Duration::from_mins(1));
        assert_eq!(
            parse(Some("60s"), Some("2Mi")),
            Ok(TerminalConfig { idle_timeout: minute, buffer_bytes: 2 << 20, ..default })
        );
        assert_eq!(parse(Some("never"), None).map(|config| config.idle_timeout), Ok(None));
        assert!(parse(Some("soon"), None).is_err_and(|error| error.contains("terminals.idle_timeout")));
        assert!(parse(None, Some("1Gi")).is_err_and(|error| error.contains("terminals.buffer")));
    }
}
