//! How a tool call ended, as the source of a text.

use headwater_tools::code::EndCause;

use super::tool_calls::Source;

pub(crate) use headwater_tools::code::CodeEnd as Ending;

impl From<EndCause> for Source {
    fn from(cause: EndCause) -> Self {
        match cause {
            EndCause::Timeout => Self::Timeout,
            EndCause::Error => Self::Error,
        }
    }
}
