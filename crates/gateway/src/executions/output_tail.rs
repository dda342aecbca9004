//! The end of an execution's output as text.

use headwater_contract::{ContractError, FollowOptions};
use headwater_protocol::{EventKind, Execution, Stream, Utf8Stream};

use crate::executions::recorder::is_missing;
use crate::state::Gateway;

/// The end of an output.
#[derive(Debug)]
pub(crate) struct OutputTail {
    pub(crate) text: String,
    /// Whether there was more output.
    pub(crate) truncated: bool,
}

impl Gateway {
    /// The last `most` bytes that the execution has printed to these streams; `None` if its log was removed.
    pub(crate) async fn output_tail(
        &self,
        execution: &Execution,
        streams: Vec<Stream>,
        most: usize,
    ) -> Result<Option<OutputTail>, ContractError> {
        let options = FollowOptions {
            until_closed: true,
            tail_bytes: Some(most as u64),
            tail_once: true,
            streams,
            no_wait: true,
            ..FollowOptions::default()
        };
        let mut follower = match self.worker.follow(execution.id, options).await {
            Ok(follower) => follower,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (mut text, mut decoder, mut truncated) = (String::new(), Utf8Stream::default(), false);
        while let Some(event) = follower.next().await? {
            match event.kind {
                EventKind::Output { bytes, .. } => text.push_str(&decoder.push(&bytes)),
                EventKind::Gap { .. } => truncated = true,
                _ => {}
            }
        }
        // A running program may still complete its last character.
        if execution.state.verdict().is_some() {
            text.push_str(&decoder.finish());
        }
        truncated |= text.len() > most;
        Ok(Some(OutputTail { text: text_tail(text, most), truncated }))
    }
}

/// The end of a text, at most this many bytes: the tail of a log is cut at records, which can be long, and
/// invalid UTF-8 becomes longer.
fn text_tail(mut text: String, most: usize) -> String {
    let excess = text.len().saturating_sub(most);
    let from = (excess..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.drain(..from);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_text_begins_with_a_whole_character() {
        let long = "é".repeat(1000);
        let cut = text_tail(format!("x{long}"), 100);
        assert!(cut.len() <= 100 && cut.len() > 96 && long.ends_with(&cut));
        assert_eq!(text_tail("short".into(), 100), "short");
    }
}
