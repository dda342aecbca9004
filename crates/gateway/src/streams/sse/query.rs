//! The query parameters of an event stream.

use axum::http::HeaderMap;
use headwater_contract::FollowOptions;
use headwater_protocol::{Seq, Stream};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::auth::{AT_START, LAST_EVENT_ID};
use crate::error::ApiError;

/// Suits screens: the first chunk immediately, then one every this many milliseconds or bytes.
const SCREEN_BATCH_MS: u32 = 100;
const SCREEN_BATCH_BYTES: u32 = 4096;
/// The upper limits of batching; a client that wants more does not want a stream.
const MAX_BATCH_MS: u32 = 10_000;
const MAX_BATCH_BYTES: u32 = 1 << 20;

/// The event that ends a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Until {
    /// The program has ended.
    Exited,
    /// No writer is left.
    #[default]
    Closed,
}

/// The query string of an event stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventQuery {
    /// Events after this `seq`, which must not be after the last one; 0 or absent: all. The header
    /// `Last-Event-ID` takes precedence.
    pub(crate) after: Option<u64>,
    /// Start about this many bytes before the end of the output. The skipped part is reported as a gap.
    /// Ignored if the stream continues (`Last-Event-ID`).
    pub(crate) tail: Option<u64>,
    /// Output of these streams only: `stdout`, `stderr`, `output`, separated by commas. Other events are
    /// always sent.
    pub(crate) streams: Option<String>,
    /// The event that ends the stream: `closed` if absent.
    #[param(inline)]
    pub(crate) until: Option<Until>,
    /// Send output at most this often, in fewer and larger events: 100 if absent; 0 sends everything immediately.
    /// The first output after a pause of this length is sent at once.
    #[param(maximum = 10_000)]
    pub(crate) batch_ms: Option<u32>,
    /// Send held-back output early once this many bytes have accumulated: 4096 if absent.
    #[param(minimum = 1, maximum = 1_048_576)]
    pub(crate) batch_bytes: Option<u32>,
    /// Receive every byte: output that was not sent yet is not dropped, and the program waits for this reader
    /// as for the reader of a pipe. Requires write access to the session. The wait is limited by
    /// `lossless_hold` in the configuration.
    pub(crate) lossless: Option<bool>,
    /// A token or ticket, where no header can be set. The guard has read it.
    #[serde(rename = "token")]
    pub(crate) _token: Option<String>,
}

impl EventQuery {
    /// The options for following the log.
    pub(crate) fn into_options(self) -> Result<FollowOptions, ApiError> {
        let batch_ms = self.batch_ms.unwrap_or(SCREEN_BATCH_MS);
        if batch_ms > MAX_BATCH_MS {
            return Err(ApiError::invalid(format!("`batch_ms` is `{batch_ms}`; at most `{MAX_BATCH_MS}`")));
        }
        let batch_bytes = self.batch_bytes.unwrap_or(SCREEN_BATCH_BYTES);
        if !(1..=MAX_BATCH_BYTES).contains(&batch_bytes) {
            let bounds = format!("`batch_bytes` is `{batch_bytes}`; from `1` to `{MAX_BATCH_BYTES}`");
            return Err(ApiError::invalid(bounds));
        }
        Ok(FollowOptions {
            after: Seq(self.after.unwrap_or(0)),
            until_closed: self.until.unwrap_or_default() == Until::Closed,
            tail_bytes: self.tail,
            // A tail only sets where to begin; later output must not be skipped.
            tail_once: true,
            batch_ms,
            batch_bytes,
            streams: self.streams.as_deref().map(parse_streams).transpose()?.unwrap_or_default(),
            no_wait: false,
            lossless: self.lossless == Some(true),
        })
    }

    /// Takes the position from the header, if the request has one, and returns whether it has. `EventSource`
    /// reconnects to the URL that it began with, so its header takes precedence.
    pub(crate) fn resume(&mut self, headers: &HeaderMap) -> Result<bool, ApiError> {
        let Some(value) = headers.get(LAST_EVENT_ID) else {
            return Ok(false);
        };
        let text = value.to_str().unwrap_or_default().trim();
        if text.is_empty() || text == AT_START {
            return Ok(false);
        }
        let Ok(seq) = text.parse() else {
            let error = ApiError::invalid("the header `Last-Event-ID` is not a number");
            return Err(error.hint("send the `id` of the last event, or leave the header out"));
        };
        self.after = Some(seq);
        self.tail = None;
        Ok(true)
    }
}

/// Parses names of streams, separated by commas.
pub(crate) fn parse_streams(text: &str) -> Result<Vec<Stream>, ApiError> {
    let mut streams = Vec::new();
    for name in text.split(',').map(str::trim) {
        let Some(stream) = Stream::ALL.into_iter().find(|stream| stream.name() == name) else {
            let name: String = name.chars().take(32).collect();
            let error = ApiError::invalid(format!("`streams` has `{name}`, which is not a stream"));
            return Err(error.hint("use `stdout`, `stderr` and `output`, separated by commas"));
        };
        if !streams.contains(&stream) {
            streams.push(stream);
        }
    }
    Ok(streams)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<EventQuery, String> {
        let uri = format!("/x?{text}").parse().unwrap();
        axum::extract::Query::try_from_uri(&uri).map(|query| query.0).map_err(|error| error.body_text())
    }

    #[test]
    fn without_a_word_a_stream_is_batched_for_screens_and_lasts_until_closed() {
        let options = query("").unwrap().into_options().unwrap();
        assert_eq!((options.after, options.until_closed, options.tail_bytes), (Seq(0), true, None));
        assert_eq!((options.batch_ms, options.batch_bytes), (100, 4096));
        assert!(options.streams.is_empty() && !options.no_wait);
    }

    #[test]
    fn the_requested_options_are_followed() {
        let all =
            "after=7&tail=100&streams=stdout,stderr,stdout&until=exited&batch_ms=0&batch_bytes=1&token=x";
        let options = query(all).unwrap().into_options().unwrap();
        assert_eq!((options.after, options.until_closed, options.tail_bytes), (Seq(7), false, Some(100)));
        assert_eq!((options.batch_ms, options.batch_bytes), (0, 1));
        assert_eq!(options.streams, [Stream::Stdout, Stream::Stderr]);
        assert!(options.tail_once);
    }

    #[test]
    fn invalid_requests_are_refused() {
        for text in
            ["after=-1", "after=x", "tail=", "until=never", "batch_ms=1.5", "odd=1", "after=1&after=2"]
        {
            assert!(query(text).is_err(), "{text}");
        }
        for text in ["streams=", "streams=stdin", "streams=stdout;", "batch_ms=10001", "batch_bytes=0"] {
            assert!(query(text).unwrap().into_options().is_err(), "{text}");
        }
    }

    #[test]
    fn the_header_of_a_stream_that_goes_on_wins_and_nothing_is_skipped() {
        let mut headers = HeaderMap::new();
        let mut asked = query("after=3&tail=9").unwrap();
        assert!(!asked.resume(&headers).unwrap());
        assert_eq!((asked.after, asked.tail), (Some(3), Some(9)));
        headers.insert(LAST_EVENT_ID, "12".parse().unwrap());
        assert!(asked.resume(&headers).unwrap());
        assert_eq!((asked.after, asked.tail), (Some(12), None));
        let mut asked = query("after=3&tail=9").unwrap();
        headers.insert(LAST_EVENT_ID, AT_START.parse().unwrap());
        assert!(!asked.resume(&headers).unwrap(), "it has seen no event");
        assert_eq!((asked.after, asked.tail), (Some(3), Some(9)));
        headers.insert(LAST_EVENT_ID, "twelve".parse().unwrap());
        assert!(asked.resume(&headers).is_err());
    }
}
