//! Optional parts of requests that some endpoints refuse. They are left out after the first refusal.

use super::fault::Fault;
use super::{Api, ModelErrorKind};

/// What an endpoint does not accept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// Chat: `stream_options`, without which no usage is reported.
    pub(super) no_stream_options: bool,
    /// Chat: the bound of the answer has the newer name, `max_completion_tokens`.
    pub(super) completion_tokens: bool,
    /// Responses: reasoning, which models without reasoning refuse.
    pub(super) no_reasoning: bool,
}

impl Quirks {
    /// Learns from a refusal; returns whether the request is worth repeating.
    pub(super) fn learn(&mut self, api: Api, fault: &Fault) -> bool {
        if fault.kind != ModelErrorKind::Refused {
            return false;
        }
        let before = *self;
        match api {
            Api::Chat => {
                self.completion_tokens |= fault.mentions(&["max_completion_tokens"]);
                self.no_stream_options |= fault.mentions(&["stream_options"]);
            }
            Api::Responses => {
                self.no_reasoning |= fault.mentions(&["reasoning", "encrypted content", "summar"]);
            }
            Api::Messages => {}
        }
        *self != before
    }
}
