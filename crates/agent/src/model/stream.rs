//! The answer of a call, as it arrives.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use reqwest::Response;
use tokio::time::timeout;

use super::decoding::Decoding;
use super::fault::Fault;
use super::key::Secrets;
use super::{ModelErrorKind, ModelEvent, ModelStream};

/// How long a call may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// Until the first event. A local model may have to be loaded, and then reads the whole prompt.
    pub(super) first: Duration,
    /// Between two pieces after that.
    pub(super) idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first: Duration::from_mins(10), idle: Duration::from_mins(5) }
    }
}

/// An answer that is being received.
#[derive(Debug)]
pub(super) struct Answer {
    response: Response,
    decoding: Decoding,
    timeouts: Timeouts,
    ready: VecDeque<ModelEvent>,
    /// What comes after the events that are ready.
    fault: Option<Fault>,
    has_begun: bool,
    is_over: bool,
}

impl Answer {
    pub(super) fn new(response: Response, decoding: Decoding, timeouts: Timeouts) -> Self {
        let (ready, fault) = (VecDeque::new(), None);
        Self { response, decoding, timeouts, ready, fault, has_begun: false, is_over: false }
    }

    /// The next event; none after the last one or a fault.
    pub(super) async fn next(&mut self) -> Option<Result<ModelEvent, Fault>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.has_begun = true;
                return Some(Ok(event));
            }
            if self.is_over {
                return self.fault.take().map(Err);
            }
            let mut events = Vec::new();
            let result = self.receive(&mut events).await;
            self.ready.extend(events);
            self.is_over = result.is_err() || self.decoding.is_finished();
            self.fault = result.err();
        }
    }

    async fn receive(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        let limit = if self.has_begun { self.timeouts.idle } else { self.timeouts.first };
        match timeout(limit, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => self.decoding.push(bytes, events),
            Ok(Ok(None)) => self.decoding.end(events),
            Ok(Err(error)) => {
                // The answer may be complete already, without the marker of its end.
                let broken = Fault::transport(ModelErrorKind::BrokenOff, &error);
                self.decoding.end(events).map_err(|_| broken)
            }
            Err(_) => Err(Fault::new(
                ModelErrorKind::BrokenOff,
                &format!("nothing came for {} s", limit.as_secs_f64()),
            )),
        }
    }

    /// The events, after the first one, which was taken already.
    pub(super) fn into_stream(self, first: ModelEvent, model: String, secrets: Secrets) -> ModelStream {
        let rest = stream::unfold(self, |mut answer| async move {
            let next = answer.next().await?;
            Some((next, answer))
        });
        let rest = rest.map(move |event| event.map_err(|fault| fault.into_error(&model, &secrets)));
        stream::once(async { Ok(first) }).chain(rest).boxed()
    }
}
