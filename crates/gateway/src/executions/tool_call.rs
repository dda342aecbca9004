//! The tool call that an execution belongs to. It is in the execution's metadata, by which feeds find it.

use std::collections::BTreeMap;

use headwater_protocol::{CONVERSATION_METADATA, TOOL_CALL_METADATA};
use serde_json::Value;

use crate::error::ApiError;
use crate::streams::feed::{TOOL_ARGS_KEY, TOOL_KEY};

/// The maximum length of an id that a caller chooses, in bytes.
const MAX_ID_BYTES: usize = 256;
/// The maximum size of arguments in the metadata, in bytes: the rest of its 64 KiB is the caller's.
const MAX_ARGS_BYTES: usize = 16 << 10;

/// The call in a request that is not one of a tool itself: a build, or a change of packages.
#[derive(Debug, Default)]
pub(crate) struct ToolCall {
    pub(crate) conversation_id: Option<String>,
    pub(crate) tool_call_id: Option<String>,
}

impl ToolCall {
    /// The metadata of the execution, with the name and the arguments that a card shows. Empty if the request has no
    /// conversation and no call.
    pub(crate) fn metadata(self, tool: &str, args: &Value) -> Result<BTreeMap<String, String>, ApiError> {
        let mut metadata = BTreeMap::new();
        add_id(&mut metadata, ("conversation_id", CONVERSATION_METADATA), self.conversation_id)?;
        add_id(&mut metadata, ("tool_call_id", TOOL_CALL_METADATA), self.tool_call_id)?;
        if !metadata.is_empty() {
            metadata.insert(TOOL_KEY.to_owned(), tool.to_owned());
            let args = args.to_string();
            // Without them, a card shows the command.
            if args.len() <= MAX_ARGS_BYTES {
                metadata.insert(TOOL_ARGS_KEY.to_owned(), args);
            }
        }
        Ok(metadata)
    }
}

/// Adds an id that the caller chose to the metadata.
pub(crate) fn add_id(
    metadata: &mut BTreeMap<String, String>,
    (field, key): (&str, &str),
    value: Option<String>,
) -> Result<(), ApiError> {
    let Some(value) = value else { return Ok(()) };
    metadata.insert(key.to_owned(), checked_id(field, value)?);
    Ok(())
}

/// Checks an id or a name that the caller chose.
pub(crate) fn checked_id(field: &str, value: String) -> Result<String, ApiError> {
    if value.is_empty() || value.len() > MAX_ID_BYTES || value.chars().any(char::is_control) {
        return Err(ApiError::invalid(format!(
            "`{field}` must have 1 to {MAX_ID_BYTES} bytes and no control characters"
        )));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_without_a_call_has_no_metadata_and_long_arguments_are_left_out() {
        let call = |conversation: Option<&str>, tool_call: Option<&str>, args: &Value| {
            let (conversation_id, tool_call_id) = (conversation.map(Into::into), tool_call.map(Into::into));
            ToolCall { conversation_id, tool_call_id }.metadata("build", args)
        };
        assert!(call(None, None, &json!({"kind": "cpp"})).unwrap().is_empty());
        let metadata = call(Some("talk"), Some("c"), &json!({"kind": "cpp"})).unwrap();
        let expected = [
            ("conversation_id", "talk"),
            ("tool_args", r#"{"kind":"cpp"}"#),
            ("tool_call_id", "c"),
            ("tool_name", "build"),
        ];
        assert!(metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(expected));
        let long = json!({"flags": "x".repeat(MAX_ARGS_BYTES)});
        assert!(!call(None, Some("c"), &long).unwrap().contains_key(TOOL_ARGS_KEY));
        let error = call(Some(""), None, &json!({})).unwrap_err();
        assert!(error.message.contains("`conversation_id`"), "{}", error.message);
        assert!(call(None, Some("a\nb"), &json!({})).is_err());
    }
}
